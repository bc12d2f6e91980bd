"""The two LMDB files of one PowerDNS, written in place while it serves from them.

`<path>` is the main file (zones), `<path>-0` the records file. No transaction spans both. Beside PowerDNS's
tables each file has one of ours, `dnspanel`, whose only row is written in the same transaction as the data:

    offset  size  row `position`
    0       1     version, 1
    1       16    epoch
    17      8     applied: this file is complete up to here
    25      8     reached: rows of later sequences, up to here, may already be in this file
    33      16    digest of the rows that are in this file now (of a segment of new zones, once it is complete)
    49      8     main required: what `applied` of the main file has to be for this one's to count

How a segment is applied, and why a crash anywhere is harmless:

1. Transactions follow the segment's order: rows of new zones (unseen), the main file, rows of removed zones.
2. A transaction of the main file that ends its operations sets its `applied`; a segment without such
   operations does not touch the main file at all, so an ordinary edit costs one synced commit.
3. The last commit of a segment is always in the records file: it sets `applied` there, and with it the
   answer of the position zone. A crash before it leaves `applied` where it was, and the segment is applied
   again from the start; a put or a delete done twice is done once.
4. `applied` of the records file counts only while the main file is not behind `main required`. If someone
   put back an older main file, the position is that file's, and what follows is replayed onto both.
5. Digests follow the rows really found: each change subtracts the row that was there and adds the new one.
   So they stay true through crashes and replays, and a row altered by another hand shows up when the result
   is compared with the segment's digest, before the commit that would make it the position. While `reached`
   lies beyond the segment (a replay) the file is ahead of it and is compared when it no longer is.

Rows depend on the segments alone (the header of schemas 5 and 6 takes its time and transaction id from the
segment), so two stores with the same history hold the same keys and values.
"""

import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import lmdb

from replication import mapped
from replication.applying import (
    POSITION_ZONE,
    POSITION_ZONE_ID,
    Application,
    Watch,
    own_rows,
)
from replication.codec import keys
from replication.codec.domains import ZoneObject, decode_domain
from replication.codec.schema import SETTINGS_DBI, Dbi, File, Schema, schema_for
from replication.errors import BadBytes, BadSegment, DiskFull, Gap, MapFull, WrongCluster, WrongEpoch
from replication.file_row import Database, combined_position
from replication.position import Position
from replication.segment import Kind, Op, Segment, digest_bytes, row_digest, rows_digest

OWN_DBI = b"dnspanel"
MAX_READERS = 1024  # the first opener sizes the table for PowerDNS too, which would stop at 126
MAX_DBS = 128
RECORDS_MAP_SIZE = 16000 << 20  # PowerDNS before 4.9.6 maps the records file with this, whatever it is told
HOLD_SECONDS = 0.05
LMDB_VERSION = ".".join(map(str, lmdb.version()))

# What LMDB says when the disk takes no more; a write that was cut short is an "Input/output error".
_DISK_WORDS = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG))

# Resident pages of mapped files above this are let go after a commit.
_RESIDENT_FILE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Applied:
    """What `apply` did. `already` means the store had it all before; then the other numbers are 0."""

    position: Position
    already: bool = False
    rows: int = 0
    commits: int = 0
    longest_hold_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class FileUse:
    """How full one file is, and how many transactions ago its oldest reader began (None: nobody reads)."""

    path: str
    used_bytes: int
    map_bytes: int
    oldest_reader_lag: int | None


class Store:
    """The two files, open. One process may open them once; threads may share the store."""

    def __init__(self, main: Database, records: Database, schema: Schema, cluster: UUID) -> None:
        self.schema, self.cluster = schema, cluster
        self._main, self._records = main, records
        self._has_duplicates = [schema.dbi(dbi).dupsort for dbi in Dbi]
        self._ranges = mapped.ranges_of((main.path, records.path))
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], schema: int, map_size: int, *, cluster: UUID, create: bool = True,
        sync: bool = True,
    ) -> Self:  # fmt: skip
        """The store at `path`, its files created if need be so that PowerDNS accepts them.

        `map_size` (bytes) must not be above PowerDNS's `lmdb-map-size`. Raises FileNotFoundError without
        `create`, BadBytes for files of another schema or cluster, and RuntimeError for an LMDB library of
        another format than PowerDNS's.
        """
        if lmdb.version()[:2] != (0, 9):
            raise RuntimeError(f"PowerDNS needs LMDB 0.9, this Python has {lmdb.version()}")
        if not create and not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        kind = schema_for(schema)
        main_path = os.path.realpath(path)
        main = _open_file(main_path, File.MAIN, kind, map_size, sync=sync, cluster=cluster)
        records = _open_file(main_path + "-0", File.SHARD, kind, min(map_size, RECORDS_MAP_SIZE), sync=sync)
        store = cls(main, records, kind, cluster)
        store._write_own_zone()
        return store

    def close(self) -> None:
        self._ranges = []  # what lies there next is not ours to let go
        self._main.env.close()
        self._records.env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def position(self) -> Position | None:
        """Up to where both files are complete; None for a store that never got a segment."""
        return combined_position(self._main.row(), self._records.row())

    def digests(self) -> tuple[bytes, bytes]:
        """The digests of the main file and of the records file as they are now."""
        rows = (self._main.row(), self._records.row())
        return digest_bytes(rows[0].digest if rows[0] else 0), digest_bytes(rows[1].digest if rows[1] else 0)

    def use(self) -> tuple[FileUse, FileUse]:
        """How full the main file and the records file are."""
        return _use(self._main), _use(self._records)

    def zone(self, zone_id: int) -> ZoneObject | None:
        """The zone of this id, or None."""
        with self._main.env.begin() as txn:
            value = txn.get(self.schema.row_id_key(zone_id), db=self._main.tables[Dbi.DOMAINS])
        return None if value is None else decode_domain(self.schema.unwrap(value))

    def zone_id(self, name: str) -> int | None:
        """The id of the zone of this name, or None."""
        start, _ = self.schema.index_row(name, 0)
        with self._main.env.begin() as txn, txn.cursor(db=self._main.tables[Dbi.DOMAINS_INDEX]) as cursor:
            if not self.schema.has_header:
                value = txn.get(start, db=self._main.tables[Dbi.DOMAINS_INDEX])
                return None if value is None else int.from_bytes(value, "little")
            if cursor.set_range(start) and cursor.key().startswith(start[:-4]):
                return int.from_bytes(cursor.key()[-4:], "big")
        return None

    def rows(self, zone_id: int) -> "ZoneRows":
        """The record rows of one zone, as `compile` reads them."""
        return ZoneRows(self._records, self.schema, zone_id)

    def zone_digest(self, zone_id: int) -> bytes:
        """The digest of one zone's record rows, computed from the rows themselves."""
        return digest_bytes(rows_digest(Dbi.RECORDS, self.rows(zone_id).raw()))

    def digest_delta(self, ops: Sequence[Op]) -> tuple[bytes, bytes]:
        """The digests (main, records) after these operations, which name each key once. Writes nothing."""
        with self._main.env.begin() as main, self._records.env.begin() as records:
            # Lists by Dbi, because this runs once per row of a bulk import.
            places = [
                (records, self._records) if self.schema.dbi(dbi).file is File.SHARD else (main, self._main)
                for dbi in Dbi
            ]
            totals = [0] * len(Dbi)
            cleared = [op for op in ops if op.kind is Kind.DELETE_PREFIX]
            for op in cleared:
                totals[op.dbi] -= self._sum_below(*places[op.dbi], op)
            puts: list[list[tuple[bytes, bytes]]] = [[] for _ in Dbi]
            for op in ops:
                if op.kind is Kind.DELETE_PREFIX:
                    continue
                if not (cleared and _is_covered(op, cleared)):
                    totals[op.dbi] -= self._digest_of_old(*places[op.dbi], op)
                if op.kind is Kind.PUT:
                    puts[op.dbi].append((op.key, op.body))
            for dbi, rows in zip(Dbi, puts, strict=True):
                totals[dbi] += rows_digest(dbi, rows)
            before = [row.digest if row else 0 for row in (self._main.row(main), self._records.row(records))]
        changed = totals.pop(Dbi.RECORDS)
        return digest_bytes(before[0] + sum(totals)), digest_bytes(before[1] + changed)

    def apply(
        self,
        segment: Segment,
        *,
        hold_seconds: float = HOLD_SECONDS,
        watch: Watch | None = None,
    ) -> Applied:
        """Make the store what the panel had at `segment.after`, as the module's docstring lays out.

        A segment whose sequences are all applied already changes nothing and says so. `watch` sees the
        keys of records that are put or deleted. Raises Gap, WrongEpoch, Diverged, BadSegment, MapFull, DiskFull,
        or Busy when another process writes our rows; whatever was committed before that is repeated by the next
        attempt.
        """
        with self._lock:
            main, records = self._main.row(), self._records.row()
            if segment.cluster != self.cluster:
                raise WrongCluster(ours=self.cluster, theirs=segment.cluster)
            if records is not None and records.epoch != segment.epoch:
                raise WrongEpoch(ours=records.epoch, theirs=segment.epoch)
            at = combined_position(main, records)
            if at is not None and at.sequence >= segment.last:
                return Applied(at, already=True)
            if segment.schema != self.schema.number:
                raise BadSegment(reason=f"it is for schema {segment.schema}, this store has {self.schema.number}")
            if (at.sequence if at else 0) < segment.first - 1:
                raise Gap(have=at, got=segment.first)
            application = Application(segment, self.schema, self._main, self._records, hold_seconds)
            with self._lmdb_errors():
                try:
                    application.run(watch, self.release_pages)
                finally:
                    application.abort()
        hold = application.longest_hold * 1000
        return Applied(segment.after, False, application.rows, application.commits, hold)

    def copy(self, path: str | os.PathLike[str]) -> None:
        """Write a compact copy of both files to `path` and `<path>-0`.

        The main file first: a copy whose records are ahead of its zones counts as being at the older place.
        """
        self._main.env.copy(os.fspath(path), compact=True)
        self._records.env.copy(os.fspath(path) + "-0", compact=True)

    def clear_dead_readers(self) -> None:
        """Forget readers whose process was killed; each would keep old pages from being used again."""
        self._main.env.reader_check()
        self._records.env.reader_check()

    def release_pages(self) -> None:
        """Keep the resident memory of this process small, whatever was read or written."""
        if mapped.file_bytes_resident() > _RESIDENT_FILE_BYTES:
            mapped.release(self._ranges)

    def _write_own_zone(self) -> None:
        """The zone that tells the position, and the row that guards the end of the key space."""
        with self._records.env.begin(write=True) as txn:
            table = self._records.tables[Dbi.RECORDS]
            for key, body in own_rows():
                if txn.get(key, db=table) is None:
                    txn.put(key, self.schema.wrap(body, 0, 0), db=table)
        with self._main.env.begin(write=True) as txn:
            for dbi, key, body in self.schema.zone_rows(POSITION_ZONE_ID, POSITION_ZONE):
                if txn.get(key, db=self._main.tables[dbi]) is None:
                    txn.put(key, self.schema.wrap(body, 0, 0), db=self._main.tables[dbi])

    def _digest_of_old(self, txn: Any, database: Database, op: Op) -> int:
        """The digest of the row that this operation would replace or delete; 0 if there is none."""
        table = database.tables[op.dbi]
        if self._has_duplicates[op.dbi]:
            with txn.cursor(db=table) as cursor:
                return row_digest(op.dbi, op.key, op.body) if cursor.set_key_dup(op.key, op.body) else 0
        value = txn.get(op.key, db=table)
        return 0 if value is None else row_digest(op.dbi, op.key, self.schema.unwrap(value))

    def _sum_below(self, txn: Any, database: Database, op: Op) -> int:
        total = 0
        with txn.cursor(db=database.tables[op.dbi]) as cursor:
            found = cursor.set_range(op.key)
            while found and (key := cursor.key()).startswith(op.key):
                total += row_digest(op.dbi, key, self.schema.unwrap(cursor.value()))
                found = cursor.next()
        return total

    @contextmanager
    def _lmdb_errors(self) -> Iterator[None]:
        """What LMDB says when a file or the disk cannot go on, as our errors."""
        try:
            yield
        except lmdb.MapFullError as exc:
            fullest = max(self._main, self._records, key=lambda database: _use(database).used_bytes)
            raise MapFull(path=fullest.path, map_size=fullest.map_size) from exc
        except (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.PanicError) as exc:
            raise BadBytes(what=self._main.path, reason=f"the file is damaged ({exc})") from exc
        except lmdb.Error as exc:
            if not any(words in str(exc) for words in _DISK_WORDS):
                raise
            raise DiskFull(path=self._main.path, reason=str(exc)) from exc


class ZoneRows:
    """The record rows of one zone. Each call sees the last commit."""

    def __init__(self, records: Database, schema: Schema, zone_id: int) -> None:
        self._env, self._table = records.env, records.tables[Dbi.RECORDS]
        self._schema, self._zone_id = schema, zone_id
        self._prefix = keys.zone_prefix(zone_id)

    def get(self, rel: bytes, type: int) -> bytes | None:
        """The body of one row, or None."""
        with self._env.begin() as txn:
            value = txn.get(keys.record_key(self._zone_id, rel, type), db=self._table)
        return None if value is None else self._schema.unwrap(value)

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        """Types and bodies of all rows of one name, by type."""
        start = self._prefix + rel + b"\0"
        return [(int.from_bytes(key[-2:], "big"), body) for key, body in self._scan(start, start)]

    def below(self, rel: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Relative key, type and body of every row strictly below a name, in key order."""
        prefix = self._prefix if rel == keys.APEX else self._prefix + rel
        for key, body in self._scan(prefix + b"\x01", prefix):
            yield key[4:-3], int.from_bytes(key[-2:], "big"), body

    def raw(self) -> Iterator[tuple[bytes, bytes]]:
        """Whole keys and bodies of the zone, in key order."""
        return self._scan(self._prefix, self._prefix)

    def _scan(self, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._env.begin() as txn, txn.cursor(db=self._table) as cursor:
            found = cursor.set_range(start)
            while found and (key := cursor.key()).startswith(prefix):
                yield key, self._schema.unwrap(cursor.value())
                found = cursor.next()


def _is_covered(op: Op, cleared: list[Op]) -> bool:
    """True if a prefix that is deleted first covers this operation's key."""
    return any(op.dbi is prefix.dbi and op.key.startswith(prefix.key) for prefix in cleared)


def _open_file(
    path: str, file: File, schema: Schema, map_size: int, *, sync: bool, cluster: UUID | None = None
) -> Database:
    """One file with all its tables. The settings come before any table, as PowerDNS needs them first."""
    env = lmdb.open(
        path, subdir=False, lock=True, mode=0o600, map_size=map_size, max_dbs=MAX_DBS,
        max_readers=MAX_READERS, readahead=False, sync=sync, metasync=sync,
    )  # fmt: skip
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
        return Database(path, map_size, env, env.open_db(OWN_DBI), tables)
    except BaseException:
        env.close()
        raise


def _write_settings(env: Any, path: str, schema: Schema, cluster: UUID) -> None:
    """PowerDNS's own settings, in a commit of their own before the records file exists.

    A main file without them looks like one of a much older release, and PowerDNS would rebuild it.
    """
    settings = env.open_db(SETTINGS_DBI)
    with env.begin(write=True) as txn:
        for key, body in schema.pdns_rows(cluster):
            wanted, found = schema.wrap(body, 0, 0), txn.get(key, db=settings)
            if found is None or key == b"uuid":  # PowerDNS draws its own when it was here first; it reads it nowhere
                txn.put(key, wanted, db=settings)
            elif found[-len(body) :] != body or len(found) != len(wanted):
                raise BadBytes(what=path, reason=f"its {key.decode()} is {found.hex()}, this node needs {body.hex()}")


def _use(database: Database) -> FileUse:
    state = database.env.info()
    used = (state["last_pgno"] + 1) * database.env.stat()["psize"]
    # A line of the reader table: process, thread, and the transaction it reads or `-`.
    lines = (line.split() for line in database.env.readers().splitlines()[1:])
    reading = [int(fields[-1]) for fields in lines if len(fields) == 3 and fields[-1].isdigit()]
    return FileUse(database.path, used, state["map_size"], state["last_txnid"] - min(reading) if reading else None)
