"""Test an archive: restore it into a scratch database, check that database, and drop it."""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote, urlencode

import psycopg
from cryptography.fernet import InvalidToken
from django.conf import settings

from dnspanel.accounts.secret_places import secret_places
from dnspanel.accounts.secrets.master_keys import decrypt, own_keys
from dnspanel.backup import backup_contents
from dnspanel.backup.backup_archive import DUMP, Manifest, read_archive, refuse_another_key
from dnspanel.backup.backup_contents import Finding
from dnspanel.backup.errors import ProgramFailed
from dnspanel.backup.programs import Target, panel_database
from dnspanel.backup.restore_archive import refuse_other_age, replace_database
from dnspanel.publish.files.full_zone import full_batch
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import snapshot
from dnspanel.texts import gettext
from replication.codec.schema import schema_for

# The maximum number of undecryptable secrets to name.
_MOST_NAMES = 5
_SEGMENT_SCHEMAS = "SELECT DISTINCT schema FROM publish_segment WHERE epoch = %s ORDER BY schema"


def drill(*, file: IO[bytes], now: datetime) -> Iterator[Finding]:
    """Restore the archive into a scratch database and yield the result of each check.

    The scratch database is always dropped at the end. Raise BackupError if the archive cannot be restored at all.
    """
    with tempfile.TemporaryDirectory(prefix="drill-") as directory:
        dump = Path(directory) / DUMP
        manifest = read_archive(file, dump)
        yield Finding("the archive is complete", "")
        refuse_another_key(manifest, own_keys())
        refuse_other_age(manifest)
        with _scratch_database(panel_database()) as scratch:
            replace_database(target=scratch, dump=dump)
            yield Finding("the dump can be restored", "")
            with psycopg.connect(**scratch.parameters, autocommit=True) as conn:  # type: ignore[arg-type]
                yield _compare_counts(conn, manifest)
            _migrate(scratch)
            yield Finding("this panel's migrations succeed", "")
            with psycopg.connect(**scratch.parameters, autocommit=True) as conn:  # type: ignore[arg-type]
                yield from backup_contents.consistency(conn)
                yield _keys(conn)
                yield from _digests(conn, now)


def _compare_counts(conn: backup_contents.Connection, manifest: Manifest) -> Finding:
    found = backup_contents.counts(conn)
    wrong = [
        f"{what}: {found.get(what)} instead of {count}"
        for what, count in manifest.counts.items()
        if found.get(what) != count
    ]
    return Finding(f"the numbers of rows match the archive ({manifest.counts['zones']} zones)", "; ".join(wrong))


def _keys(conn: backup_contents.Connection) -> Finding:
    """Check that the panel's master keys decrypt every secret in the database."""
    number, dead = 0, []
    with conn.cursor() as cursor:
        for place in secret_places():
            for key, value in (row for rows in place.batches(cursor) for row in rows):
                for token in place.tokens(value):
                    number += 1
                    try:
                        decrypt(token)
                    except InvalidToken:
                        dead.append(f"{place} {key}")
    names = ", ".join(dead[:_MOST_NAMES]) + (" …" if len(dead) > _MOST_NAMES else "")
    return Finding(f"PANEL_MASTER_KEY decrypts all secrets ({number})", f"not {names}" if dead else "")


def _digests(conn: backup_contents.Connection, now: datetime) -> Iterator[Finding]:
    """Check that the restored zones compile to the digests in the restored segments, for each schema."""
    with snapshot(conn):
        head = publication_log.read_head(conn)
        if head is None:
            return
        for (schema,) in conn.execute(_SEGMENT_SCHEMAS, (head.position.epoch,)).fetchall():
            encoded = publication_log.read_encoded(conn, schema, head.position.epoch)
            batch = full_batch(conn, head, encoded.sequence, schema_for(schema), now)
            what = f"its zones compile to what schema {schema} serves at change {encoded.sequence}"
            yield Finding(what, "" if batch.digests == encoded.digests else "the digests differ")


@contextmanager
def _scratch_database(panel: Target) -> Iterator[Target]:
    """Create a database on the panel's database server, and drop it afterwards.

    Raise ProgramFailed if the panel's database user isn't allowed to create databases.
    """
    scratch = panel.with_name(f"{panel.name[:40]}_drill_{secrets.token_hex(4)}")
    name = psycopg.sql.Identifier(scratch.name)
    with psycopg.connect(**panel.parameters, autocommit=True) as conn:  # type: ignore[arg-type]
        try:
            conn.execute(psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))
        except psycopg.errors.InsufficientPrivilege as exc:
            raise ProgramFailed(
                "CREATE DATABASE",
                gettext("{exc} The panel’s PostgreSQL role needs CREATEDB for a restore drill.").format(exc=exc),
            ) from exc
        try:
            yield scratch
        finally:
            conn.execute(psycopg.sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def _migrate(scratch: Target) -> None:
    """Migrate the scratch database in another process (Django uses one in each). Raise ProgramFailed if that fails."""
    environment = {**os.environ, "PANEL_DATABASE": url_of(scratch)}
    done = subprocess.run(
        [sys.executable, "-m", "django", "migrate", "--no-input", "--verbosity=0"],
        env=environment | {"DJANGO_SETTINGS_MODULE": "dnspanel.settings"},
        cwd=settings.BASE_DIR,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise ProgramFailed("migrate", " ".join(lines))


def url_of(target: Target) -> str:
    """Return the database's URL in the format of PANEL_DATABASE."""
    rest = {**target.parameters}
    host, port, name = rest.pop("host", ""), rest.pop("port", ""), rest.pop("dbname")
    who = ":".join(quote(rest.pop(key), safe="") for key in ("user", "password") if key in rest)
    where = f"[{host}]" if ":" in host else quote(host, safe="")
    query = f"?{urlencode(rest)}" if rest else ""
    return f"postgresql://{who + '@' if who else ''}{where}{':' + port if port else ''}/{quote(name, safe='')}{query}"
