"""Write a segment's rows to a store's two files: in short transactions, in an order that survives a crash.

`store` explains that order and owns the files. This module doesn't open LMDB files.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from operator import itemgetter
from typing import Any

from replication.codec import keys, values
from replication.codec.schema import ATTACHED_TABLES, Dbi, Schema
from replication.dns import names, rdtypes
from replication.errors import BadSegment, Busy, Diverged
from replication.store.file_row import ROW_KEY, Database, FileRow
from replication.store.key_opener import KeyOpener
from replication.store.lock_time import Hold, Stopwatch
from replication.store.own_commits import note_commit
from replication.store.prepared_write import NotAlone, Placed, Plan, Waiting
from replication.store.writing import Row
from replication.wire.operations import DIGEST_MODULUS, Op, OpKind, Puts, digest_bytes
from replication.wire.position import Position
from replication.wire.segment import Segment

POSITION_ZONE = "position.dnspanel.invalid."
POSITION_ZONE_ID = keys.MAX_ZONE_ID
# Up to this many changed rows of a served zone are written in one transaction.
ZONE_ROWS_IN_ONE = 10_000

# The rows of a transaction. Each row can change a page, which is in memory until the commit writes it. LMDB needs
# about 5 ms for this many rows, and writes at most 6 MiB. They are counted, not timed, so that all runs do the same.
_ROWS_PER_TRANSACTION = 1_500
_BYTES_PER_TRANSACTION = 1 << 20
# This many rows of a batch change as many pages as one single row.
_BATCH_ROWS_PER_ROW = 8
# Smaller batches are written row by row.
_SMALLEST_BATCH = 32
# The number of keys to delete that are read at once.
_KEYS_AT_ONCE = 1_000
# Metadata and keys become visible at once, like a zone's rows, because NSEC3 parameters can have several rows.
_ATTACHED_GROUP = b"attached"

Watch = Callable[[Sequence[bytes]], None]


def own_rows() -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and bodies of our own records: the position zone's records, and the guard record after all zones.

    Without the guard, PowerDNS's search for an NSEC owner would run past the end of the last zone.
    """
    apex = names.to_wire(POSITION_ZONE)
    soa = apex + apex + struct.pack(">IIIII", 1, 3600, 600, 604800, 0)
    yield _own_key(rdtypes.SOA), values.encode_records([values.StoredRecord(soa, 0)])
    yield _own_key(rdtypes.TXT), _txt("no position")
    yield keys.record_key(keys.GUARD_ZONE_ID, keys.APEX, rdtypes.TXT), _txt("end of zones")


def position_row(position: Position) -> tuple[bytes, bytes]:
    """Return the key and body of the record in which the position zone stores `position`."""
    return _own_key(rdtypes.TXT), _txt(str(position))


def _own_key(type: int) -> bytes:
    return keys.record_key(POSITION_ZONE_ID, keys.APEX, type)


def _txt(text: str) -> bytes:
    content = bytes((len(text),)) + text.encode("ascii")
    return values.encode_records([values.StoredRecord(content, 0)])


class Application:
    """The application of one segment to a store. Call `run` only once."""

    def __init__(self, segment: Segment, schema: Schema, main: Database, records: Database, opener: KeyOpener) -> None:
        self._segment, self._schema = segment, schema
        self.leaves_attached = False
        self._main = _Writer(main, segment, schema, segment.main_op_count, is_hidden=lambda _: True, opener=opener)
        self._records = _Writer(
            records,
            segment,
            schema,
            segment.record_op_count,
            is_hidden=lambda zone_id: not _is_known(main, schema, zone_id),
            opener=opener,
            new_rows_digest=segment.new_rows_digest,
        )

    @property
    def rows(self) -> int:
        return self._main.rows + self._records.rows

    @property
    def commits(self) -> int:
        return self._main.commits + self._records.commits

    @property
    def longest(self) -> Hold:
        """The longest time that either file was locked."""
        return self._main.longest.or_hold(self._records.longest)

    def run(
        self, watch: Watch | None, release_pages: Callable[[], None], before_late: Callable[[], None] = lambda: None
    ) -> None:
        """Write all operations, compare both digests, and commit the position last.

        `before_late` is called when operations on records must wait for a committed change of keys or metadata.
        """
        for writer in (self._main, self._records):
            writer.release_pages_by(release_pages)
        current = self._records
        for run in self._segment.runs():
            writer = self._records if run.dbi is Dbi.RECORDS else self._main
            if writer is not current:
                self._leave(current)
                if current is self._main and self.leaves_attached:
                    before_late()
                    self.leaves_attached = False
                current = writer
            self.leaves_attached |= run.dbi in ATTACHED_TABLES
            if isinstance(run, Puts):
                writer.write_puts(run)
            else:
                writer.write(run)
            if watch is not None and run.dbi is Dbi.RECORDS:
                watch(record_keys(run))
        self._leave(current, last=True)

    def _leave(self, writer: "_Writer", *, last: bool = False) -> None:
        """Commit the writer's rows. After the file's last operation, first compare its digest with the segment's.

        With `last`, also check the main file's digest, and commit the position in the records file.
        """
        if writer is self._main and not writer.ops_left:
            writer.complete(self._segment.digest_main)
        elif not last:
            writer.commit_part(None if writer.ops_left else self._segment.digest_records)
        if last:
            self._main.check_digest(self._segment.digest_main)
            required = self._segment.last if self._segment.main_op_count else None
            key, body = position_row(self._segment.after)
            own = key, self._schema.wrap(body, self._segment.time_ns, self._segment.last)
            self._records.complete(self._segment.digest_records, own=own, main_required=required)


def record_keys(run: Op | Puts) -> Sequence[bytes]:
    """Return the keys of the rows in a run of operations. For a deletion by prefix, return no keys."""
    if isinstance(run, Puts):
        return [key for key, _ in run.rows]
    return () if run.kind is OpKind.DELETE_PREFIX else (run.key,)


def _is_known(main: Database, schema: Schema, zone_id: int) -> bool:
    with main.env.begin() as txn:
        return txn.get(schema.row_id_key(zone_id), db=main.tables[Dbi.DOMAINS]) is not None


class _Writer:
    """A writer for one file. Each of its transactions locks the file for a limited time."""

    def __init__(  # noqa: PLR0913  # a segment, and the file that takes it
        self,
        database: Database,
        segment: Segment,
        schema: Schema,
        ops: int,
        *,
        is_hidden: Callable[[int], bool],
        opener: KeyOpener,
        new_rows_digest: int | None = None,
    ) -> None:
        self._database, self._segment, self._schema = database, segment, schema
        self._is_hidden = is_hidden
        self._row = database.row()
        self._digest = self._row.digest if self._row else 0
        self._only_new_rows = new_rows_digest is not None
        is_complete = self._row is not None and self._row.applied >= segment.last
        self._digest_at_end = 0 if new_rows_digest is None or is_complete else new_rows_digest
        self._waiting = Waiting(
            database,
            schema,
            opener,
            time_ns=segment.time_ns,
            last=segment.last,
            only_new_rows=self._only_new_rows,
            is_first_time=self._row is None or self._row.begun < segment.first,
        )
        self._rows_waiting = self._rows_of_zone = 0
        self._zone = b""
        self._may_cut: bool | None = None  # inside this zone; None: not known yet
        self.ops_left = ops
        self.rows = self.commits = 0
        self._stopwatch = Stopwatch()

    @property
    def longest(self) -> Hold:
        return self._stopwatch.longest

    def release_pages_by(self, release_pages: Callable[[], None]) -> None:
        """Set a function that releases mapped pages. It is called from time to time while rows are read or written."""
        self._release_pages = self._waiting.release_pages = release_pages

    def write(self, op: Op) -> None:
        """Write one operation. If enough rows wait, commit them: before a new zone, or after a row of a zone.

        A zone is only split as described in `_add`. Raise BadSegment if a segment of new zones deletes a row.
        """
        self._enter(op.dbi, op.key)
        if op.kind is not OpKind.PUT and self._only_new_rows:
            raise BadSegment(reason="a segment of new zones deletes a row")
        if op.kind is OpKind.DELETE_PREFIX:
            self._delete_prefix(op)
        else:
            self._add(op)
        self.ops_left -= 1

    def write_puts(self, puts: Puts) -> None:
        """Write many rows as in `write`, but all at once if the result can't be wrong (`_add_run`)."""
        is_small = len(puts.rows) < _SMALLEST_BATCH or puts.dbi in ATTACHED_TABLES
        if is_small or not self._add_run(puts):
            for key, body in puts.rows:
                self._enter(puts.dbi, key)
                self._add(Op(OpKind.PUT, puts.dbi, key, body))
        self.ops_left -= len(puts.rows)

    def check_digest(self, expected: bytes) -> None:
        """Raise Diverged unless the file's digest equals the panel's, or the file is ahead of the segment."""
        self._check(self._digest, expected)

    def commit_part(self, expected: bytes | None = None) -> None:
        """Commit rows that do not complete the segment in this file. If `expected` is given, check the digest first."""
        if self._waiting:
            self._commit(expected, lambda row: row)
        elif expected is not None:
            self.check_digest(expected)

    def complete(self, expected: bytes, *, own: Row | None = None, main_required: int | None = None) -> None:
        """Commit the last rows together with the position, plus a record `own` that is not part of any digest.

        Raise Diverged before the commit if the file's digest isn't `expected`.
        """

        def complete_row(row: FileRow) -> FileRow:
            required = row.main_required if main_required is None else main_required
            digest = (row.digest + self._digest_at_end) % DIGEST_MODULUS
            return replace(row, applied=self._segment.last, digest=digest, main_required=required)

        self._commit(expected, complete_row, own)
        self._digest_at_end = 0

    def _enter(self, dbi: Dbi, key: bytes) -> None:
        """Begin the operation on this key. A new zone can start a new transaction. Raise BadSegment for an own row."""
        if dbi is Dbi.RECORDS:
            _refuse_own_rows(key)
        group = _ATTACHED_GROUP if dbi in ATTACHED_TABLES else key[:4]
        if group != self._zone:
            self._zone, self._rows_of_zone, self._may_cut = group, 0, None
            if self._is_long():
                self.commit_part()

    def _add_run(self, puts: Puts) -> bool:
        """Put the rows all at once and return True. If the result could be wrong, put no rows and return False.

        Records are put at once only while PowerDNS can't find the last zone yet. Then the transaction can end after
        these rows, and also before the first zone. Records that are not in ascending order are never put at once.
        """
        rows, is_of_records = puts.rows, puts.dbi is Dbi.RECORDS
        first, last = rows[0][0], rows[-1][0]
        if is_of_records and (_has_own_row(rows) or not self._is_hidden(int.from_bytes(last[:4], "big"))):
            return False
        if first[:4] != self._zone and self._is_long():
            self.commit_part()
        placed = self._waiting.add_run(puts)
        if placed is None:
            return False
        self._zone, self._rows_of_zone, self._may_cut = last[:4], 0, None
        self._rows_waiting += len(rows) // _BATCH_ROWS_PER_ROW if placed is Placed.TOGETHER else len(rows)
        if self._is_long():
            self.commit_part()
        return True

    def _add(self, op: Op) -> None:
        """Put or delete one row. The transaction can end after it, even inside a zone.

        A zone that PowerDNS can't find (yet, or any longer) can be split at any row. A served zone is split only beyond
        ZONE_ROWS_IN_ONE rows, which keeps an ordinary change of a zone in one transaction.
        """
        self._waiting.add(op)
        self._rows_waiting += 1
        self._rows_of_zone += 1
        if self._is_long() and (self._rows_of_zone >= ZONE_ROWS_IN_ONE or self._may_be_cut()):
            self.commit_part()

    def _may_be_cut(self) -> bool:
        if self._may_cut is None:
            self._may_cut = self._zone is not _ATTACHED_GROUP and self._is_hidden(int.from_bytes(self._zone, "big"))
        return self._may_cut

    def _delete_prefix(self, op: Op) -> None:
        if self._schema.dbi(op.dbi).dupsort:
            raise BadSegment(reason="a prefix of a table with duplicates cannot be deleted")
        found = self._waiting.keys_below(op.dbi, op.key)
        start: bytes | None = op.key
        while found or start is not None:
            for key in found:
                self._add(Op(OpKind.DELETE, op.dbi, key))
            found = [] if start is None else self._keys_from(op.dbi, start, op.key)
            start = found[-1] + b"\0" if len(found) == _KEYS_AT_ONCE else None
            self._release_pages()
        if op.dbi is Dbi.RECORDS and len(op.key) == 4:
            self._waiting.remove_zone(op.key)

    def _keys_from(self, dbi: Dbi, start: bytes, prefix: bytes) -> list[bytes]:
        """Return the keys, starting at `start`, that begin with `prefix`: at most _KEYS_AT_ONCE."""
        with self._database.env.begin() as txn, txn.cursor(db=self._database.tables[dbi]) as cursor:
            if not cursor.set_range(start):
                return []
            some = islice(cursor.iternext(values=False), _KEYS_AT_ONCE)
            return list(takewhile(lambda key: key.startswith(prefix), some))

    def _is_long(self) -> bool:
        return self._rows_waiting >= _ROWS_PER_TRANSACTION or self._waiting.bytes >= _BYTES_PER_TRANSACTION

    def _check(self, digest: int, expected: bytes) -> None:
        ahead = self._row is not None and self._row.begun > self._segment.last
        found = digest_bytes(digest + self._digest_at_end)
        if not ahead and found != expected:
            raise Diverged(expected=expected, found=found, what=self._database.path)

    def _new_row(self, digest: int) -> FileRow:
        last = self._segment.last
        if self._row is None:
            return FileRow(self._segment.epoch, 0, last, digest % DIGEST_MODULUS)
        return replace(self._row, begun=max(self._row.begun, last), digest=digest % DIGEST_MODULUS)

    def _commit(self, expected: bytes | None, rewritten: Callable[[FileRow], FileRow], own: Row | None = None) -> None:
        """Write the waiting rows and the file's state row.

        Raise Busy if another process wrote the state row, or Diverged if the digest differs from `expected`.
        """
        with self._database.env.begin() as reading:
            plan, number = self._plan(reading, expected), reading.id()
        try:
            with self._database.writing(self._stopwatch) as txn:
                if txn.id() != number + 1:  # another process has committed in between
                    plan = self._plan(txn, expected)
                row = rewritten(self._new_row(self._digest + plan.digest))
                plan.write(txn, self._release_pages)
                if own is not None:
                    txn.put(*own, db=self._database.tables[Dbi.RECORDS])
                txn.put(ROW_KEY, row.encode(), db=self._database.own)
                note_commit(txn, self._database)
        except NotAlone:
            self._waiting.put_one_by_one()
            self._commit(expected, rewritten, own)
            return
        self._row, self._digest = row, row.digest
        self._waiting.clear()
        self._rows_waiting = 0
        self._may_cut = None
        self.rows += plan.rows
        self.commits += 1
        self._release_pages()

    def _plan(self, txn: Any, expected: bytes | None) -> Plan:
        if self._database.row(txn) != self._row:
            raise Busy(what=self._database.path)
        plan = self._waiting.plan(txn)
        if expected is not None:
            try:
                self._check(self._digest + plan.digest, expected)
            except Diverged:
                if not self._waiting.put_one_by_one():
                    raise
                return self._plan(txn, expected)
        return plan


_OWN_ROWS = keys.zone_prefix(POSITION_ZONE_ID)


def _refuse_own_rows(key: bytes) -> None:
    """Raise BadSegment for keys of the position zone and the guard, and for a prefix that spans zones."""
    if len(key) < 4 or key >= _OWN_ROWS:
        raise BadSegment(reason=f"an operation on the key {key.hex()}")


def _has_own_row(ascending: Sequence[Row]) -> bool:
    """Return True if `_refuse_own_rows` rejects one of these keys."""
    return ascending[-1][0] >= _OWN_ROWS or min(map(len, map(itemgetter(0), ascending))) < 4
