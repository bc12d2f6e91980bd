"""How a segment becomes rows: short write transactions over the two files of a store, in an order that a
crash cannot spoil. `store` explains that order and owns the files; nothing here opens LMDB.
"""

import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from replication.codec import keys, values
from replication.codec.schema import ATTACHED_TABLES, Dbi, Schema
from replication.dns import names, rdtypes
from replication.errors import BadSegment, Busy, Diverged
from replication.store.attached import AttachedChanges
from replication.store.file_row import ROW_KEY, Database, FileRow
from replication.store.key_opener import KeyOpener
from replication.store.own_commits import note_commit
from replication.store.writing import WRITE_SHARE, put_before, rows_behind
from replication.store.zone_digests import Changes, digests_by_zone
from replication.wire.operations import DIGEST_MODULUS, Op, OpKind, Puts, ascend, digest_bytes, row_digest, rows_digest
from replication.wire.position import Position
from replication.wire.segment import Segment

POSITION_ZONE = "position.dnspanel.invalid."
POSITION_ZONE_ID = keys.MAX_ZONE_ID
# The change set of a served zone goes into one transaction up to this many rows.
ZONE_ROWS_IN_ONE = 10_000

# Changed pages wait in memory until the commit, and LMDB keeps that memory for the next transaction.
_ROWS_PER_TRANSACTION = 1_500
# So many rows of a batch touch as many pages as one row elsewhere.
_BATCH_ROWS_PER_ROW = 8
# Each row may touch a page elsewhere, and the kernel maps what lies around it: up to 64 KiB.
_ROWS_PER_RELEASE = 128
# Fewer rows are put one by one.
_SMALLEST_BATCH = 32
# Metadata and keys are seen at once, like the rows of a zone: parameters of NSEC3 may be several rows.
_ATTACHED_GROUP = b"attached"

Watch = Callable[[Sequence[bytes]], None]


def own_rows() -> Iterator[tuple[bytes, bytes]]:
    """Keys and bodies of our own records: the position zone, and the guard behind all zones.

    Without the guard, PowerDNS's search for an NSEC owner runs off the end of the last zone.
    """
    apex = names.to_wire(POSITION_ZONE)
    soa = apex + apex + struct.pack(">IIIII", 1, 3600, 600, 604800, 0)
    yield _own_key(rdtypes.SOA), values.encode_records([values.StoredRecord(soa, 0)])
    yield _own_key(rdtypes.TXT), _txt("no position")
    yield keys.record_key(keys.GUARD_ZONE_ID, keys.APEX, rdtypes.TXT), _txt("end of zones")


def position_row(position: Position) -> tuple[bytes, bytes]:
    """Key and body of the record that the position zone answers."""
    return _own_key(rdtypes.TXT), _txt(str(position))


def _own_key(type: int) -> bytes:
    return keys.record_key(POSITION_ZONE_ID, keys.APEX, type)


def _txt(text: str) -> bytes:
    content = bytes((len(text),)) + text.encode("ascii")
    return values.encode_records([values.StoredRecord(content, 0)])


class Application:
    """One segment on its way into a store. Use once: `run`, or `abort` after an exception."""

    def __init__(
        self,
        segment: Segment,
        schema: Schema,
        main: Database,
        records: Database,
        hold_seconds: float,
        opener: KeyOpener,
    ) -> None:
        self._segment = segment
        self.leaves_attached = False
        self._main = _Writer(
            main, segment, schema, segment.main_op_count, hold_seconds, is_hidden=lambda _: True, opener=opener
        )
        self._records = _Writer(
            records,
            segment,
            schema,
            segment.record_op_count,
            hold_seconds,
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
    def longest_hold(self) -> float:
        return max(self._main.longest_hold, self._records.longest_hold)

    def run(
        self, watch: Watch | None, release_pages: Callable[[], None], before_late: Callable[[], None] = lambda: None
    ) -> None:
        """Write every operation, compare both digests, and commit the position last.

        `before_late` is called where operations on records follow a change of keys or metadata, which is committed.
        """
        self._main.release_pages = self._records.release_pages = release_pages
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
            self._records.put_own(*position_row(self._segment.after))
            self._records.complete(self._segment.digest_records, main_required=required)


def record_keys(run: Op | Puts) -> Sequence[bytes]:
    """The keys of single rows that a run of operations names."""
    if isinstance(run, Puts):
        return [key for key, _ in run.rows]
    return () if run.kind is OpKind.DELETE_PREFIX else (run.key,)


def _is_known(main: Database, schema: Schema, zone_id: int) -> bool:
    with main.env.begin() as txn:
        return txn.get(schema.row_id_key(zone_id), db=main.tables[Dbi.DOMAINS]) is not None


class _Writer:
    """Writes one file, in transactions that each hold its lock for a bounded time."""

    def __init__(
        self,
        database: Database,
        segment: Segment,
        schema: Schema,
        ops: int,
        hold_seconds: float,
        *,
        is_hidden: Callable[[int], bool],
        opener: KeyOpener,
        new_rows_digest: int | None = None,
    ) -> None:
        self._database, self._segment, self._schema = database, segment, schema
        self._opener = opener
        self._is_hidden = is_hidden
        self._write_seconds = hold_seconds * WRITE_SHARE
        self._row = database.row()
        self._digest = self._row.digest if self._row else 0
        # Rows of new zones count all at once, when the file is complete: nobody has to hash each of them.
        self._only_new_rows = new_rows_digest is not None
        is_complete = self._row is not None and self._row.applied >= segment.last
        self._digest_at_end = 0 if new_rows_digest is None or is_complete else new_rows_digest
        # Nothing of this segment can be in the file yet: this is no replay.
        self._is_first_time = self._row is None or self._row.begun < segment.first
        self._txn: Any = None
        self._began = 0.0
        self._rows_in_txn = self._rows_of_zone = 0
        self._zone = b""
        self._has_duplicates = [schema.dbi(dbi).dupsort for dbi in schema.all_dbis]
        self._zones = Changes(database)
        self._attached = AttachedChanges(database, schema)
        self.ops_left = ops
        self.rows = self.commits = 0
        self.longest_hold = 0.0
        self.release_pages: Callable[[], None] = lambda: None

    def write(self, op: Op) -> None:
        """Do one operation, in a new transaction if the one at hand has lasted long enough."""
        self._enter(op.dbi, op.key)
        if op.kind is OpKind.PUT:
            self._put(op.dbi, op.key, op.body)
        elif self._only_new_rows:
            raise BadSegment(reason="a segment of new zones deletes a row")
        elif op.kind is OpKind.DELETE:
            self._delete(op)
        else:
            self._delete_prefix(op)
        self.ops_left -= 1

    def write_puts(self, puts: Puts) -> None:
        """As `write`, for many rows; all at once where nothing can lie between them yet."""
        is_small = len(puts.rows) < _SMALLEST_BATCH or puts.dbi in ATTACHED_TABLES
        if is_small or not (self._put_batch(puts) or self._put_between(puts)):
            for key, body in puts.rows:
                self._enter(puts.dbi, key)
                self._put(puts.dbi, key, body)
        self.ops_left -= len(puts.rows)

    def _enter(self, dbi: Dbi, key: bytes) -> None:
        """Begin with the operation on this key: here, where another zone begins, the transaction may end."""
        if dbi is Dbi.RECORDS:
            _refuse_own_rows(key)
        group = _ATTACHED_GROUP if dbi in ATTACHED_TABLES else key[:4]
        if group != self._zone:
            self._zone, self._rows_of_zone = group, 0
            if self._is_long():
                self.commit_part()

    def _put_batch(self, puts: Puts) -> bool:
        """Put rows of new zones with one call of LMDB; False, and nothing is done, where that is not certain.

        It can if the keys ascend, no row lies from the first to the last of them, and nobody sees the last
        zone yet: then the transaction may end behind it, as it may before the first.
        """
        (dbi, rows), spec = puts, self._schema.dbi(puts.dbi)
        step = -1 if spec.integerkey else 1  # little-endian integers compare from their ends
        compared = [key[::step] for key, _ in rows]
        first, last = rows[0][0], rows[-1][0]
        if spec.dupsort or not ascend(compared) or (dbi is Dbi.RECORDS and _has_own_row(compared)):
            return False
        if not self._is_hidden(int.from_bytes(last[:4], "big")):
            return False
        if first[:4] != self._zone and self._is_long():
            self.commit_part()
        digests = {} if self._only_new_rows else digests_by_zone(dbi, rows)  # before the lock is taken
        with self._open().cursor(db=self._database.tables[dbi]) as cursor:
            behind = rows_behind(cursor, first)
            if behind and behind[0][0][::step] <= compared[-1]:
                return False
            header = self._schema.wrap(b"", self._segment.time_ns, self._segment.last)
            put_before(cursor, ((key, header + body) for key, body in rows) if header else rows, behind)
        if self._only_new_rows:
            self._zones.add_unhashed(compared)
        for key, digest in digests.items():
            self._add(dbi, key, digest)
        self._zone, self._rows_of_zone = last[:4], 0
        self.rows += len(rows)
        self._rows_in_txn += len(rows) // _BATCH_ROWS_PER_ROW
        if self._is_long():
            self.commit_part()
        return True

    def _put_between(self, puts: Puts) -> bool:
        """Put rows of the main file that belong between others with one call; False, and nothing is done, if one is
        there already: then each has to be compared."""
        (dbi, rows), table = puts, self._database.tables[puts.dbi]
        if dbi is Dbi.RECORDS or not self._is_first_time:
            return False
        header = self._schema.wrap(b"", self._segment.time_ns, self._segment.last)
        items = [(key, header + body) for key, body in rows] if header and not self._has_duplicates[dbi] else rows
        digest = rows_digest(dbi, rows)
        part = self._database.env.begin(parent=self._open(), write=True)
        with part.cursor(db=table) as cursor:
            _, added = cursor.putmulti(
                items, dupdata=not self._has_duplicates[dbi], overwrite=self._has_duplicates[dbi]
            )
        if added != len(rows):
            part.abort()
            return False
        part.commit()
        self._digest += digest
        self.rows += len(rows)
        self._rows_in_txn += len(rows)
        return True

    def put_own(self, key: bytes, body: bytes) -> None:
        """Write a record that belongs to no digest."""
        value = self._schema.wrap(body, self._segment.time_ns, self._segment.last)
        self._open().put(key, value, db=self._database.tables[Dbi.RECORDS])

    def check_digest(self, expected: bytes) -> None:
        """Raise Diverged unless the file now holds what the panel had, or is still ahead of the segment."""
        ahead = self._row is not None and self._row.begun > self._segment.last
        found = digest_bytes(self._digest + self._digest_at_end)
        if not ahead and found != expected:
            raise Diverged(expected=expected, found=found, what=self._database.path)

    def commit_part(self) -> None:
        """Commit rows that do not complete the segment in this file."""
        if self._txn is not None:
            self._commit(self._new_row())

    def complete(self, expected: bytes, *, main_required: int | None = None) -> None:
        """Commit the last rows together with the position."""
        self.check_digest(expected)
        self._open()
        self._digest, self._digest_at_end = self._digest + self._digest_at_end, 0
        row = replace(self._new_row(), applied=self._segment.last)
        self._commit(row if main_required is None else replace(row, main_required=main_required))

    def abort(self) -> None:
        if self._txn is not None:
            self._txn.abort()
            self._txn = None
            self._zones.clear()
            self._attached.clear()

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
        return replace(self._row, begun=max(self._row.begun, last), digest=digest)

    def _commit(self, row: FileRow) -> None:
        self._txn.put(ROW_KEY, row.encode(), db=self._database.own)
        self._zones.write(self._txn)
        self._attached.write(self._txn)
        note_commit(self._txn, self._database)
        ending, self._txn = self._txn, None
        ending.commit()
        self._row = row
        self.commits += 1
        self.longest_hold = max(self.longest_hold, time.monotonic() - self._began)
        self.release_pages()

    def _is_long(self) -> bool:
        return self._txn is not None and (
            self._rows_in_txn >= _ROWS_PER_TRANSACTION or time.monotonic() - self._began > self._write_seconds
        )

    def _count_row(self) -> bool:
        """Note one more row; True if the transaction was ended here, inside a zone.

        Only a zone that nobody can see yet or any more is cut by time; one that is served only beyond
        ZONE_ROWS_IN_ONE, so that an ordinary change of a zone is seen as one.
        """
        self.rows += 1
        self._rows_in_txn += 1
        self._rows_of_zone += 1
        if not self.rows % _ROWS_PER_RELEASE:
            self.release_pages()
        if self._rows_of_zone < ZONE_ROWS_IN_ONE:
            if self._rows_in_txn & 63 or not self._is_long():
                return False
            if self._zone is _ATTACHED_GROUP or not self._is_hidden(int.from_bytes(self._zone, "big")):
                return False
        elif not self._is_long():
            return False
        self.commit_part()
        return True

    def _put(self, dbi: Dbi, key: bytes, body: bytes) -> None:
        txn, table = self._open(), self._database.tables[dbi]
        if self._has_duplicates[dbi]:
            if txn.put(key, body, db=table, dupdata=False):
                self._add(dbi, key, row_digest(dbi, key, body))
                self._count_row()
            return
        body = self._opener.opened(dbi, key, body)
        value = self._schema.wrap(body, self._segment.time_ns, self._segment.last)
        if not txn.put(key, value, db=table, overwrite=False):
            old = txn.get(key, db=table)
            if old == value:
                return
            if self._only_new_rows:
                raise BadSegment(reason=f"the row {key.hex()} of a new zone is there with another value")
            before = self._schema.unwrap(old)
            self._add(dbi, key, -row_digest(dbi, key, before), before)
            txn.put(key, value, db=table)
        if self._only_new_rows:
            self._zones.add_unhashed((key,))
        else:
            self._add(dbi, key, row_digest(dbi, key, body), body)
        self._count_row()

    def _add(self, dbi: Dbi, key: bytes, digest: int, body: bytes = b"") -> None:
        """The digest of the file has changed by so much, and with it that of the record's zone.

        Of an object that is attached to a zone, `body` has the zone's name.
        """
        self._digest += digest
        if dbi is Dbi.RECORDS:
            self._zones.add(key, digest)
        elif dbi in ATTACHED_TABLES:
            self._attached.add(dbi, key, body, digest)

    def _delete(self, op: Op) -> None:
        txn, table = self._open(), self._database.tables[op.dbi]
        if self._has_duplicates[op.dbi]:
            if txn.delete(op.key, op.body, db=table):
                self._add(op.dbi, op.key, -row_digest(op.dbi, op.key, op.body))
                self._count_row()
            return
        old = txn.pop(op.key, db=table)
        if old is not None:
            before = self._schema.unwrap(old)
            self._add(op.dbi, op.key, -row_digest(op.dbi, op.key, before), before)
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
                    before = self._schema.unwrap(cursor.value())
                    self._add(op.dbi, key, -row_digest(op.dbi, key, before), before)
                    found = cursor.delete()
                    if more := self._count_row():
                        break
        if op.dbi is Dbi.RECORDS and len(op.key) == 4:
            self._zones.remove(op.key)


_OWN_ROWS = keys.zone_prefix(POSITION_ZONE_ID)


def _refuse_own_rows(key: bytes) -> None:
    """A segment may not touch the position zone or the guard, nor a prefix that spans zones."""
    if len(key) < 4 or key >= _OWN_ROWS:
        raise BadSegment(reason=f"an operation on the key {key.hex()}")


def _has_own_row(ascending: Sequence[bytes]) -> bool:
    """True if `_refuse_own_rows` refuses one of these keys."""
    return min(map(len, ascending)) < 4 or ascending[-1] >= _OWN_ROWS
