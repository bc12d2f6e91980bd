"""Write an archive with everything in the panel that cannot be recreated from other data. Verbs.

The archive contains the database without sessions, one-time codes and counters (`backup_contents.LEFT_OUT`). Segments,
snapshots and the panel's own LMDB can be created from the database again. Live statistics are left out, because the
panel keeps them only for an hour. PANEL_MASTER_KEY and PANEL_SECRET_KEY must be stored separately.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any, LiteralString

import psycopg

from dnspanel import __version__
from dnspanel.accounts.secrets.master_keys import own_keys
from dnspanel.backup import backup_contents
from dnspanel.backup.backup_archive import DUMP, Manifest, digest_of, write_archive
from dnspanel.backup.models import Backup
from dnspanel.backup.programs import Target, panel_database, run


def back_up_to_file(*, path: Path, now: datetime) -> Manifest:
    """Write an archive to `path`, sync it to disk, and return its manifest.

    An older file at `path` is replaced only after success. Raise ProgramFailed if pg_dump fails, or OSError.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with _private(partial) as file:
            manifest = back_up(file=file, beside=path.parent, name=path.name, now=now)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def back_up(*, file: IO[bytes], beside: Path | None, name: str = "", now: datetime) -> Manifest:
    """Write the archive to `file`, which can be a pipe, and record the time of the backup. Return the manifest.

    The dump is first written to a private directory in `beside`, or in the system's temporary directory if `beside` is
    None. The panel stays usable during the backup.
    """
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=beside) as directory:
        dump = Path(directory) / DUMP
        manifest = dump_database(target=panel_database(), dump=dump, now=now)
        write_archive(file, manifest, dump, made_at=now)
    Backup.objects.create(
        at=now,
        epoch=manifest.epoch,
        sequence=manifest.sequence,
        size=manifest.size,
        file=name,
        seconds=time.monotonic() - started,
    )
    return manifest


def dump_database(*, target: Target, dump: Path, now: datetime) -> Manifest:
    """Write the dump, and return a manifest from the same database snapshot."""
    with psycopg.connect(**target.parameters, autocommit=True) as conn:  # type: ignore[arg-type]
        conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        exported = _row(conn, "SELECT pg_export_snapshot()")[0]
        without = [f"--exclude-table-data=public.{table}" for table in backup_contents.LEFT_OUT]
        told = ["--format=custom", "--no-password", f"--snapshot={exported}", f"--file={dump}", *without]
        run("pg_dump", told, target)
        size, sha256 = digest_of(dump)
        cluster, epoch, sequence = _row(conn, "SELECT cluster, epoch, sequence FROM zones_loghead")
        key = conn.execute("SELECT fingerprint FROM accounts_masterkey").fetchone()
        return Manifest(
            made_at=now.isoformat(),
            panel=__version__,
            postgresql=str(_row(conn, "SHOW server_version")[0]),
            cluster=str(cluster),
            epoch=str(epoch),
            sequence=sequence,
            master_key=key[0] if key else next(iter(own_keys())),
            migrations=backup_contents.migrations(conn),
            counts=backup_contents.counts(conn),
            size=size,
            sha256=sha256,
        )


def _row(conn: backup_contents.Connection, sql: LiteralString) -> tuple[Any, ...]:
    row = conn.execute(sql).fetchone()
    assert row is not None
    return row


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that only this user can read."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
