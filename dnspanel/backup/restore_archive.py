"""Restore an archive into the panel's database, and put publishing on hold. Verbs.

The database is replaced in one transaction, so a failed replacement changes nothing. The hold ends when someone has
chosen the content to keep: the panel's or the nodes'.
"""

import logging
import subprocess
import tempfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import IO

import psycopg
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from dnspanel.accounts.secrets.master_keys import own_keys
from dnspanel.backup import backup_contents
from dnspanel.backup.backup_archive import DUMP, Manifest, read_archive, refuse_another_key
from dnspanel.backup.errors import BadArchive, DatabaseInUse, DatabaseNotEmpty
from dnspanel.backup.programs import Target, panel_database, refuse_failure, run, start
from dnspanel.texts import gettext
from dnspanel.zones.log.publish_hold import hold
from replication.message_texts import format_text

_OTHERS = """
    SELECT coalesce(nullif(application_name, ''), usename), count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
    GROUP BY 1 ORDER BY 1"""

_TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"

logger = logging.getLogger(__name__)


def restore(*, file: IO[bytes], replace: bool, now: datetime) -> Manifest:
    """Restore the database from the archive, migrate it, and hold publishing. Return the archive's manifest.

    1. Check the whole archive, and that this panel can use it.
    2. Stop if other clients are connected, or if the database has data and `replace` is False.
    3. Replace the database in one transaction. This also sets the hold, and removes sessions and one-time codes.
    4. Migrate.

    Raise BackupError if one of the steps 1 to 3 fails. Nothing is changed until step 3 is complete.
    """
    with tempfile.TemporaryDirectory(prefix="restore-") as directory:
        dump = Path(directory) / DUMP
        manifest = read_archive(file, dump)
        refuse_another_key(manifest, own_keys())
        refuse_other_age(manifest)
        target = panel_database()
        connection.close()
        _refuse_database(target, replace=replace)
        reason = _reason(manifest)
        after = backup_contents.forget_left_out() + _hold_sql(reason, now)
        replace_database(target=target, dump=dump, after=after)
    call_command("migrate", interactive=False, verbosity=0)
    hold(reason=reason, now=now)
    logger.warning("restored made_at=%s sequence=%s", manifest.made_at, manifest.sequence)
    return manifest


def refuse_other_age(manifest: Manifest) -> None:
    """Raise BadArchive if the archive comes from a newer panel, or from a panel that is too old to be migrated."""
    on_disk = MigrationLoader(None).disk_migrations
    known = {*on_disk, *(each for migration in on_disk.values() for each in migration.replaces)}
    apps = {app for app, _ in known}
    made_with = {(app, name) for app, names in manifest.migrations.items() if app in apps for name in names}
    if newer := sorted(made_with - known):
        raise BadArchive(
            gettext("the archive comes from a newer panel ({panel}; {newer}).").format(
                panel=manifest.panel, newer=".".join(newer[0])
            )
        )
    for key, migration in on_disk.items():
        if (
            key not in made_with
            and made_with.intersection(migration.replaces)
            and not made_with >= {*migration.replaces}
        ):
            raise BadArchive(
                gettext(
                    "the archive comes from a panel that is too old ({panel}). Upgrade that panel step by step, then "
                    "create a new backup."
                ).format(panel=manifest.panel)
            )


def replace_database(*, target: Target, dump: Path, after: str = "") -> None:
    """Replace the database with the content of the dump in one transaction. Run the SQL in `after` at its end.

    If this fails, raise ProgramFailed and leave the database unchanged.
    """
    with tempfile.NamedTemporaryFile(prefix="restore-list-") as listed:
        listed.write(_contents(dump, target))
        listed.flush()
        arguments = ["--exit-on-error", "--no-owner", "--no-privileges", f"--use-list={listed.name}", "--file=-"]
        with (
            start(
                "psql",
                ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"],
                target,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            ) as psql,
            start(
                "pg_restore", [*arguments, str(dump)], target, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            ) as reader,
        ):
            _pour(reader, psql, after)
            refuse_failure("psql", psql.wait(), psql.stderr.read() if psql.stderr else b"")


def _pour(reader: "subprocess.Popen[bytes]", psql: "subprocess.Popen[bytes]", after: str) -> None:
    """Send the dump, then the SQL `after`, to psql in one transaction. It commits only if the whole dump was read."""
    assert reader.stdout is not None
    assert psql.stdin is not None
    try:
        with closing(psql.stdin) as script:
            script.write(b"BEGIN; SET client_min_messages = warning;\n")
            script.write(b"DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;\n")
            while piece := reader.stdout.read(1 << 16):
                script.write(piece)
            refuse_failure("pg_restore", reader.wait(), reader.stderr.read() if reader.stderr else b"")
            script.write(f"\nSET search_path = public;\n{after}\nCOMMIT;\n".encode())
    except BrokenPipeError:
        reader.kill()  # psql has ended, and its error says why


def _contents(dump: Path, target: Target) -> bytes:
    """Return pg_restore's list of objects without the schema `public` itself, which already exists."""
    with tempfile.TemporaryFile() as listed:
        run("pg_restore", ["--list", str(dump)], target, stdout=listed)
        listed.seek(0)
        return b"".join(line for line in listed if b" SCHEMA - public " not in line and b"SCHEMA public " not in line)


def _refuse_database(target: Target, *, replace: bool) -> None:
    with psycopg.connect(**target.parameters) as conn:  # type: ignore[arg-type]
        others = conn.execute(_OTHERS).fetchall()
        if others:
            raise DatabaseInUse(", ".join(f"{name} ({number} connections)" for name, number in others))
        tables = int((conn.execute(_TABLES).fetchone() or (0,))[0])
        if tables and not replace:
            raise DatabaseNotEmpty(tables)


def _hold_sql(reason: str, now: datetime) -> str:
    """Return SQL that sets the hold in the restore's transaction, so that no process sees a database without it."""
    quoted = [psycopg.sql.Literal(value).as_string(None) for value in (format_text(reason), now.isoformat())]
    return f"UPDATE zones_loghead SET held_reason = {quoted[0]}, held_since = {quoted[1]};"


def _reason(manifest: Manifest) -> str:
    made_at = datetime.fromisoformat(manifest.made_at)
    return gettext("The database was restored from the {made_at} UTC backup (change {sequence}).").format(
        made_at=f"{made_at:%Y-%m-%d %H:%M}", sequence=manifest.sequence
    )
