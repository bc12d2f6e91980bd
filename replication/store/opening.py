"""Open a store's LMDB environments, as PowerDNS needs them or read-only, and translate LMDB's errors."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import lmdb

from replication.codec.schema import SETTINGS_DBI, Dbi, File, Schema
from replication.errors import BadBytes, BadSnapshot, Damaged, DiskFull, MapFull
from replication.store.attached import ATTACHED_DBI
from replication.store.file_row import Database
from replication.store.zone_digests import ZONES_DBI

OWN_DBI = b"dnspanel"
MAX_READERS = 1024  # the first opener sizes the table for all; PowerDNS would choose 126
MAX_DBS = 128

# LMDB's messages for a full or failing disk. A write that was cut short is an "Input/output error".
_DISK_ERRORS = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG))

# LMDB's errors for unreadable files.
DAMAGE = (
    lmdb.InvalidError,
    lmdb.CorruptedError,
    lmdb.PageNotFoundError,
    lmdb.PanicError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
)


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file's fill level, and the age of its oldest reader in transactions, or None if it has no readers."""

    path: str
    used_bytes: int
    map_bytes: int
    oldest_reader_lag: int | None


def open_file(
    path: str, file: File, schema: Schema, map_size: int, *, sync: bool, cluster: UUID | None = None
) -> Database:
    """Open a file with all its tables.

    If `cluster` is given, write PowerDNS's settings first, because PowerDNS needs them before any table. Raise BadBytes
    if the file's schema or number of shards differs.
    """
    env = lmdb.open(
        path,
        subdir=False,
        lock=True,
        mode=0o600,
        map_size=map_size,
        max_dbs=MAX_DBS,
        max_readers=MAX_READERS,
        readahead=False,
        sync=sync,
        metasync=sync,
    )
    try:
        env.reader_check()
        if cluster is not None:
            _write_settings(env, path, schema, cluster)
        tables: list[Any] = [None] * len(Dbi)
        for dbi in schema.all_dbis:
            spec = schema.dbi(dbi)
            if spec.file is file:
                tables[dbi] = env.open_db(
                    spec.name, integerkey=spec.integerkey, dupsort=spec.dupsort, dupfixed=spec.dupfixed
                )
        zones = env.open_db(ZONES_DBI) if file is File.SHARD else None
        attached = env.open_db(ATTACHED_DBI) if file is File.MAIN else None
        return Database(path, map_size, env, env.open_db(OWN_DBI), tables, zones, attached)
    except BaseException:
        env.close()
        raise


@contextmanager
def open_copy(path: str | os.PathLike[str], schema: Schema) -> Iterator[tuple[Database, Database]]:
    """Open both files of a copy, read-only and without locks. The caller must make sure that nothing writes to it.

    Raise BadSnapshot if the files are not a copy of a store.
    """
    opened: list[Database] = []
    main = os.path.realpath(path)
    try:
        for file, name in ((File.MAIN, main), (File.SHARD, main + "-0")):
            env = lmdb.open(name, subdir=False, readonly=True, lock=False, max_dbs=MAX_DBS)
            opened.append(Database(name, 0, env, None, [None] * len(Dbi)))
            for dbi in schema.all_dbis:
                spec = schema.dbi(dbi)
                if spec.file is file:
                    opened[-1].tables[dbi] = env.open_db(spec.name, create=False)
            opened[-1] = replace(opened[-1], own=env.open_db(OWN_DBI, create=False))
        with suppress(lmdb.NotFoundError):  # copies from older panels lack this table
            opened[0] = replace(opened[0], attached=opened[0].env.open_db(ATTACHED_DBI, create=False))
        yield opened[0], opened[1]
    except (*DAMAGE, lmdb.NotFoundError) as exc:
        raise BadSnapshot(reason=str(exc)) from exc
    finally:
        for database in opened:
            database.env.close()


def _write_settings(env: Any, path: str, schema: Schema, cluster: UUID) -> None:
    """Write PowerDNS's settings before the records file exists. Raise BadBytes if the file's schema or shards differ.

    PowerDNS treats a main file without settings like one of a much older release, and rebuilds it.
    """
    settings = env.open_db(SETTINGS_DBI)
    with env.begin(write=True) as txn:
        for key, body in schema.pdns_rows(cluster):
            expected, found = schema.wrap(body, 0, 0), txn.get(key, db=settings)
            if found == expected:
                continue
            if found is None or key == b"uuid":  # PowerDNS makes its own if it was first, and never reads it
                txn.put(key, expected, db=settings)
            elif found[-len(body) :] != body or len(found) != len(expected):
                raise BadBytes(what=path, reason=f"its {key.decode()} is {found.hex()}, this node needs {body.hex()}")


@contextmanager
def lmdb_errors(main: Database, records: Database) -> Iterator[None]:
    """Translate LMDB's errors about a file or the disk into MapFull, Damaged or DiskFull."""
    try:
        yield
    except lmdb.MapFullError as exc:
        fullest = max(main, records, key=lambda database: file_use(database).used_bytes)
        raise MapFull(path=fullest.path, map_size=fullest.map_size) from exc
    except DAMAGE as exc:
        raise Damaged(what=main.path, reason=str(exc)) from exc
    except lmdb.Error as exc:
        if not any(text in str(exc) for text in _DISK_ERRORS):
            raise
        raise DiskFull(path=main.path, reason=str(exc)) from exc


def is_damage(error: BaseException) -> bool:
    """Return True if this error can be caused by a damaged file."""
    return isinstance(error, (Damaged, lmdb.Error))


def file_use(database: Database) -> FileUse:
    state = database.env.info()
    used = (state["last_pgno"] + 1) * database.env.stat()["psize"]
    # A line of the reader table: process, thread, and the transaction that it reads, or `-`.
    lines = (line.split() for line in database.env.readers().splitlines()[1:])
    reading = [int(fields[-1]) for fields in lines if len(fields) == 3 and fields[-1].isdigit()]
    return FileUse(database.path, used, state["map_size"], state["last_txnid"] - min(reading) if reading else None)
