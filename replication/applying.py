"""How a segment becomes rows: short write transactions over the two files of a store, in an order that a
crash cannot spoil. `store` explains that order and owns the files; nothing here opens LMDB.
"""

import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from replication import names, rdtypes
from replication.codec import keys, values
from replication.codec.schema import Dbi, Schema
from replication.errors import BadBytes, BadSegment, Busy, Diverged
from replication.position import Position
from replication.segment import DIGEST_MODULUS, Kind, Op, Segment, digest_bytes, row_digest

POSITION_ZONE = "position.dnspanel.invalid."
POSITION_ZONE_ID = keys.MAX_ZONE_ID
# The change set of a served zone goes into one transaction up to this many rows.
ZONE_ROWS_IN_ONE = 10_000

# Writing stops at this part of the time a transaction may take; the rest is for the zone at hand and the sync.
_WRITE_SHARE = 0.3
# Changed pages wait in memory until the commit, and LMDB keeps that memory for the next transaction.
_ROWS_PER_TRANSACTION = 2_000

_ROW_KEY = b"position"
_ROW = struct.Struct(">B16sQQ16sQ")
_ROW_VERSION = 1


@dataclass(frozen=True, slots=True)
class FileRow:
    """The `position` row of one file; the layout is in `store`."""

    epoch: UUID
    applied: int
    reached: int
    digest: int
    main_required: int = 0

    def encode(self) -> bytes:
        digest = digest_bytes(self.digest)
        return _ROW.pack(_ROW_VERSION, self.epoch.bytes, self.applied, self.reached, digest, self.main_required)


def decode_file_row(value: bytes | None) -> FileRow | None:
    """The inverse of `FileRow.encode`; raises BadBytes."""
    if value is None:
        return None
    if len(value) != _ROW.size or value[0] != _ROW_VERSION:
        raise BadBytes(what="position row", reason=f"{value.hex()} is not of version {_ROW_VERSION}")
    _, epoch, applied, reached, digest, required = _ROW.unpack(value)
    return FileRow(UUID(bytes=epoch), applied, reached, int.from_bytes(digest, "big"), required)


def combined_position(main: FileRow | None, records: FileRow | None) -> Position | None:
    """The lower of the two positions, where the main file counts as far as the records file needs it."""
    if records is None:
        return None
    reached = main.applied if main is not None and main.epoch == records.epoch else 0
    if reached >= records.main_required:
        return Position(records.epoch, records.applied)
    return Position(records.epoch, min(reached, records.applied))


@dataclass(frozen=True, slots=True)
class Database:
    """One open LMDB file with the handles of its tables (py-lmdb's objects have no types)."""

    path: str
    map_size: int
    env: Any
    own: Any
    tables: list[Any]  # by Dbi; None where the table is in the other file

    def row(self, txn: Any = None) -> FileRow | None:
        """The `position` row, in `txn` or as of now."""
        if txn is not None:
            return decode_file_row(txn.get(_ROW_KEY, db=self.own))
        with self.env.begin() as reading:
            return decode_file_row(reading.get(_ROW_KEY, db=self.own))


def own_rows() -> Iterator[tuple[bytes, bytes]]:
    """Keys and bodies of our own records: the position zone, and the guard behind all zones.

    Without the guard, PowerDNS's search for an NSEC owner runs off the end of the last zone.
    """
    apex = names.to_wire(POSITION_ZONE)
    soa = apex + apex + struct.pack(">IIIII", 1, 3600, 600, 604800, 0)
    yield _own_key(rdtypes.SOA), values.encode_records([values.StoredRecord(soa, 0)])
    yield _own_key(rdtypes.TXT), _txt("no position")
    yield keys.record_key(keys.GUARD_ZONE_ID, keys.APEX, rdtypes.TXT), _txt("end of zones")


def _own_key(type: int) -> bytes:
    return keys.record_key(POSITION_ZONE_ID, keys.APEX, type)


def _txt(text: str) -> bytes:
    content = bytes((len(text),)) + text.encode("ascii")
    return values.encode_records([values.StoredRecord(content, 0)])


class Application:
    """One segment on its way into a store. Use once: `run`, or `abort` after an exception."""

    def __init__(
        self, segment: Segment, schema: Schema, main: Database, records: Database, hold_seconds: float
    ) -> None:
        self._segment = segment
        self._main = _Writer(main, segment, schema, segment.main_op_count, hold_seconds, is_hidden=lambda _: True)
        self._records = _Writer(
            records, segment, schema, segment.record_op_count, hold_seconds,
            is_hidden=lambda zone_id: not _is_known(main, schema, zone_id),
        )  # fmt: skip

    @property
    def rows(self) -> int:
        return self._main.rows + self._records.rows

    @property
    def commits(self) -> int:
        return self._main.commits + self._records.commits

    @property
    def longest_hold(self) -> float:
        return max(self._main.longest_hold, self._records.longest_hold)

    def run(self, watch: Callable[[Op], None] | None, after_commit: Callable[[], None]) -> None:
        """Write every operation, compare both digests, and commit the position last."""
        self._main.after_commit = self._records.after_commit = after_commit
        current = self._records
        for op in self._segment.ops():
            writer = self._records if op.dbi is Dbi.RECORDS else self._main
            if writer is not current:
                self._leave(current)
                current = writer
            writer.write(op)
            if watch is not None:
                watch(op)
        self._leave(current, last=True)

    def abort(self) -> None:
        """Forget the transaction that is open, if any. What was committed is true, only not complete."""
        self._main.abort()
        self._records.abort()

    def _leave(self, writer: "_Writer", last: bool = False) -> None:
        """Commit what `writer` has; at the end of its operations only if the digest is the segment's."""
        if writer is self._main and not writer.ops_left:
            writer.complete(self._segment.digest_main)
        elif not last:
            if not writer.ops_left:
                writer.check_digest(self._segment.digest_records)
            writer.commit_part()
        if last:
            self._main.check_digest(self._segment.digest_main)
            required = self._segment.last if self._segment.main_op_count else None
            self._records.put_own(_own_key(rdtypes.TXT), _txt(str(self._segment.after)))
            self._records.complete(self._segment.digest_records, main_required=required)


def _is_known(main: Database, schema: Schema, zone_id: int) -> bool:
    with main.env.begin() as txn:
        return txn.get(schema.row_id_key(zone_id), db=main.tables[Dbi.DOMAINS]) is not None


class _Writer:
    """Writes one file, in transactions that each hold its lock for a bounded time."""

    def __init__(
        self, database: Database, segment: Segment, schema: Schema, ops: int, hold_seconds: float,
        *, is_hidden: Callable[[int], bool],
    ) -> None:  # fmt: skip
        self._database, self._segment, self._schema = database, segment, schema
        self._is_hidden = is_hidden
        self._write_seconds = hold_seconds * _WRITE_SHARE
        self._row = database.row()
        self._digest = self._row.digest if self._row else 0
        self._txn: Any = None
        self._began = 0.0
        self._rows_in_txn = self._rows_of_zone = 0
        self._zone = b""
        self._has_duplicates = [schema.dbi(dbi).dupsort for dbi in schema.all_dbis]
        self.ops_left = ops
        self.rows = self.commits = 0
        self.longest_hold = 0.0
        self.after_commit: Callable[[], None] = lambda: None

    def write(self, op: Op) -> None:
        """Do one operation, in a new transaction if the one at hand has lasted long enough."""
        self._refuse_own_rows(op)
        if op.key[:4] != self._zone:
            self._zone, self._rows_of_zone = op.key[:4], 0
            if self._is_long():
                self.commit_part()
        if op.kind is Kind.PUT:
            self._put(op)
        elif op.kind is Kind.DELETE:
            self._delete(op)
        else:
            self._delete_prefix(op)
        self.ops_left -= 1

    def put_own(self, key: bytes, body: bytes) -> None:
        """Write a record that belongs to no digest."""
        value = self._schema.wrap(body, self._segment.time_ns, self._segment.last)
        self._open().put(key, value, db=self._database.tables[Dbi.RECORDS])

    def check_digest(self, expected: bytes) -> None:
        """Raise Diverged unless the file now holds what the panel had, or is still ahead of the segment."""
        ahead = self._row is not None and self._row.reached > self._segment.last
        if not ahead and digest_bytes(self._digest) != expected:
            raise Diverged(expected=expected, found=digest_bytes(self._digest), what=self._database.path)

    def commit_part(self) -> None:
        """Commit rows that do not complete the segment in this file."""
        if self._txn is not None:
            self._commit(self._new_row())

    def complete(self, expected: bytes, *, main_required: int | None = None) -> None:
        """Commit the last rows together with the position."""
        self.check_digest(expected)
        self._open()
        row = replace(self._new_row(), applied=self._segment.last)
        self._commit(row if main_required is None else replace(row, main_required=main_required))

    def abort(self) -> None:
        if self._txn is not None:
            self._txn.abort()
            self._txn = None

    def _open(self) -> Any:
        """The transaction at hand. Raises Busy if another process wrote our row since."""
        if self._txn is None:
            self._txn = self._database.env.begin(write=True)
            self._began = time.monotonic()
            self._rows_in_txn = 0
            if self._database.row(self._txn) != self._row:
                raise Busy(what=self._database.path)
        return self._txn

    def _new_row(self) -> FileRow:
        last, digest = self._segment.last, self._digest % DIGEST_MODULUS
        if self._row is None:
            return FileRow(self._segment.epoch, 0, last, digest)
        return replace(self._row, reached=max(self._row.reached, last), digest=digest)

    def _commit(self, row: FileRow) -> None:
        self._txn.put(_ROW_KEY, row.encode(), db=self._database.own)
        ending, self._txn = self._txn, None
        ending.commit()
        self._row = row
        self.commits += 1
        self.longest_hold = max(self.longest_hold, time.monotonic() - self._began)
        self.after_commit()

    def _is_long(self) -> bool:
        return self._txn is not None and (
            self._rows_in_txn >= _ROWS_PER_TRANSACTION or time.monotonic() - self._began > self._write_seconds
        )

    def _count_row(self) -> bool:
        """Note one more row; True if the transaction was ended here, inside a zone.

        Only a zone that nobody can see yet or any more is cut by time; one that is served only beyond
        ZONE_ROWS_IN_ONE, so that an ordinary change of a zone is seen whole or not at all.
        """
        self.rows += 1
        self._rows_in_txn += 1
        self._rows_of_zone += 1
        if self._rows_of_zone < ZONE_ROWS_IN_ONE:
            if self._rows_in_txn & 63 or not self._is_long():
                return False
            if not self._is_hidden(int.from_bytes(self._zone, "big")):
                return False
        elif not self._is_long():
            return False
        self.commit_part()
        return True

    def _put(self, op: Op) -> None:
        txn, table = self._open(), self._database.tables[op.dbi]
        if self._has_duplicates[op.dbi]:
            if txn.put(op.key, op.body, db=table, dupdata=False):
                self._digest += row_digest(op.dbi, op.key, op.body)
                self._count_row()
            return
        old = txn.get(op.key, db=table)
        value = self._schema.wrap(op.body, self._segment.time_ns, self._segment.last)
        if old == value:
            return
        if old is not None:
            self._digest -= row_digest(op.dbi, op.key, self._schema.unwrap(old))
        txn.put(op.key, value, db=table)
        self._digest += row_digest(op.dbi, op.key, op.body)
        self._count_row()

    def _delete(self, op: Op) -> None:
        txn, table = self._open(), self._database.tables[op.dbi]
        if self._has_duplicates[op.dbi]:
            if txn.delete(op.key, op.body, db=table):
                self._digest -= row_digest(op.dbi, op.key, op.body)
                self._count_row()
            return
        old = txn.pop(op.key, db=table)
        if old is not None:
            self._digest -= row_digest(op.dbi, op.key, self._schema.unwrap(old))
            self._count_row()

    def _delete_prefix(self, op: Op) -> None:
        if self._has_duplicates[op.dbi]:
            raise BadSegment(reason="a prefix of a table with duplicates cannot be deleted")
        table = self._database.tables[op.dbi]
        more = True
        while more:
            more = False
            with self._open().cursor(db=table) as cursor:
                found = cursor.set_range(op.key)
                while found and (key := cursor.key()).startswith(op.key):
                    self._digest -= row_digest(op.dbi, key, self._schema.unwrap(cursor.value()))
                    found = cursor.delete()
                    if more := self._count_row():
                        break

    def _refuse_own_rows(self, op: Op) -> None:
        """A segment may not touch the position zone or the guard, nor a prefix that spans zones."""
        if op.dbi is Dbi.RECORDS and (len(op.key) < 4 or op.key[:4] >= keys.zone_prefix(POSITION_ZONE_ID)):
            raise BadSegment(reason=f"an operation on the key {op.key.hex()}")
