"""Repair a node's zone that differs from the panel's zone, without touching the rows of other zones.

A repair is a segment of version 3. It doesn't change the position: `first` and `last` are the node's position. Its only
mark has the zone's name and id, and its operations contain everything that the zone consists of at this position:

- a zone that is served: DELETE_PREFIX of its records, PUT of each record, PUT of its rows in the main file, including
  those of its metadata and its sealed DNSSEC keys;
- a zone that must not exist (no serial in the mark): only DELETE_PREFIX of its records.

A node treats these operations as the wanted state, not as a list of steps. It compares and writes only the differences,
and removes foreign rows: other names that lead to this zone, and other metadata and DNSSEC keys of its name. Records of
a served zone are changed at once, up to LONGEST_CHANGE rows. The zone's rows in the main file are added after its
records, and deleted before them.

Afterwards the zone's digest (`zone_digests`) is that of the rows in the repair, and the file's digest has changed by
the difference from the zone's previous digest. If the previous digest was unknown, the file's digest stays unchanged,
because it is a sum over what we wrote and never included foreign rows. For the same reason the digest of the main file
changes only as much as the zone's digests of metadata and keys (`attached`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.codec import keys
from replication.codec.dnssec import zone_of
from replication.codec.domains import decode_domain
from replication.codec.schema import ATTACHED, ATTACHED_TABLES, Dbi, Schema, schema_for
from replication.dns import rdata
from replication.errors import BadBytes, BadName, BadSegment, Busy, Gap, WrongEpoch
from replication.store.attached import column_of, digests_of, index_rows, put_digests
from replication.store.file_row import ROW_KEY, Database, FileRow, common_position
from replication.store.key_opener import KeyOpener
from replication.store.lock_time import Stopwatch
from replication.store.own_commits import note_commit
from replication.store.zone_digests import Running, put_digest, running_digest
from replication.wire.operations import DIGEST_MODULUS, Op, OpKind, Puts, ZoneMark, row_digest
from replication.wire.position import Position
from replication.wire.segment import Segment, SegmentHeader, seal

# Up to this many differences of a zone are written in one transaction. Beyond that, memory and lock time are limited.
LONGEST_CHANGE = 5_000
# At most this many differences are described.
MAX_DIFFERENCES = 20
# Rows are compared in read transactions of at most this many rows.
_ROWS_AT_ONCE = 20_000

_OURS = frozenset((keys.MAX_ZONE_ID, keys.GUARD_ZONE_ID))
_NOUNS = {Dbi.METADATA: "metadata", Dbi.KEYDATA: "a DNSSEC key"}
# The number of operations on the main file in every repair of a served zone.
_OPS_OF_ZONE = 2


@dataclass(frozen=True, slots=True)
class Repaired:
    """The differences that a repair found and fixed.

    `differences` describes the first ones. `keys` are keys of changed records, at most LONGEST_CHANGE.
    """

    mark: ZoneMark
    differences: tuple[str, ...] = ()
    rows: int = 0
    longest_hold_ms: float = 0.0
    keys: tuple[bytes, ...] = ()


def repair_header(
    *, schema: Schema, cluster: UUID, position: Position, time_ns: int, digests: tuple[bytes, bytes]
) -> SegmentHeader:
    """Return the header of a repair. `position` is the node's position, which the repair doesn't change."""
    return SegmentHeader(
        schema=schema.number,
        cluster=cluster,
        epoch=position.epoch,
        first=position.sequence,
        last=position.sequence,
        time_ns=time_ns,
        digest_main=digests[0],
        digest_records=digests[1],
    )


def seal_repair(
    header: SegmentHeader,
    *,
    mark: ZoneMark,
    records: Iterable[tuple[bytes, bytes]],
    attached: Iterable[tuple[Dbi, bytes, bytes]] = (),
    key: Ed25519PrivateKey,
) -> bytes:
    """Encode and sign a repair. `records` are the keys and bodies of all the zone's rows.

    `attached` are the rows of the zone's metadata and sealed keys (`Store.attached_rows`). All other metadata and keys
    of the zone are removed. If `mark` has no serial, the repair removes the zone.
    """
    ops = [Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, keys.zone_prefix(mark.zone_id))]
    if mark.serial is not None:
        ops += [Op(OpKind.PUT, Dbi.RECORDS, record_key, body) for record_key, body in records]
        zone_rows = schema_for(header.schema).zone_rows(mark.zone_id, mark.name)
        ops += [Op(OpKind.PUT, *row) for row in (*zone_rows, *attached)]
    return seal(header, marks=[mark], ops=ops, key=key, is_repair=True)


@dataclass(slots=True)
class _Difference:
    """A row that differs from the expected one. `body` is the expected body, or None if the row must be deleted."""

    key: bytes
    body: bytes | None
    text: str


class RepairWriter:
    """The writer of one repair into a store. Use each object once."""

    def __init__(self, segment: Segment, schema: Schema, main: Database, records: Database, opener: KeyOpener) -> None:
        if not segment.is_repair:
            raise BadSegment(reason="it does not repair a zone")
        self._segment, self._schema, self._main, self._records = segment, schema, main, records
        self._mark = next(segment.marks())
        if self._mark.zone_id in _OURS:
            raise BadSegment(reason="it touches the zone that tells the position")
        self._prefix = keys.zone_prefix(self._mark.zone_id)
        self._opener = opener
        self._row = self._row_at_position()
        self._attached = self._expected_attached()
        self._digest = 0
        self._differences: list[str] = []
        self._keys: list[bytes] = []
        self._rows = 0
        self._stopwatch = Stopwatch()

    def run(self, release_pages: Callable[[], None]) -> Repaired:
        """Repair the zone and return the differences that were found.

        A served zone gets its records before its rows in the main tables. A zone that is no longer served is removed
        from the main tables first. So the zone is never visible without its records.
        """
        is_served = self._mark.serial is not None
        if not is_served:
            self._mend_main()
        self._mend_records(release_pages)
        if is_served:
            self._mend_main()
        hold = self._stopwatch.longest.total * 1000
        return Repaired(self._mark, tuple(self._differences), self._rows, hold, tuple(self._keys))

    def _expected_attached(self) -> dict[tuple[Dbi, bytes], bytes]:
        """Return the bodies of the zone's expected metadata and keys, keyed by table and row key.

        Raise BadSegment if the rows don't fit the zone or each other, and UnknownSealingKey or BadBytes if a key can't
        be decrypted.
        """
        if self._segment.main_op_count <= _OPS_OF_ZONE:
            return {}
        objects: dict[tuple[Dbi, bytes], bytes] = {}
        indexed: set[tuple[Dbi, bytes, bytes]] = set()
        for op in self._segment.ops():
            if op.dbi not in ATTACHED_TABLES:
                continue
            if op.kind is not OpKind.PUT:
                raise BadSegment(reason="a repair does more than to clear its zone and to put rows")
            if op.dbi in ATTACHED:
                objects[op.dbi, op.key] = self._opener.open_body(op.dbi, op.key, op.body)
                if zone_of(op.body) != self._mark.name:
                    raise BadSegment(reason=f"a repair of zone {self._mark.zone_id} brings what is another zone's")
            else:
                indexed.add((op.dbi, op.key, op.body))
        if self._mark.serial is None or indexed != {self._index_of(dbi, key) for dbi, key in objects}:
            raise BadSegment(reason=f"a repair of zone {self._mark.zone_id} leads to other objects than it brings")
        return objects

    def _index_of(self, dbi: Dbi, key: bytes) -> tuple[Dbi, bytes, bytes]:
        """Return the index row that maps the zone's name to the object with this key."""
        return Dbi(dbi + 1), *self._schema.index_row(self._mark.name, self._row_id(key))

    def _row_id(self, key: bytes) -> int:
        return keys.decode_row_id(key, big_endian=self._schema.has_header)

    def _row_at_position(self) -> FileRow:
        """Return the position row of the records file.

        Raise Gap unless both files are complete at the segment's position, or WrongEpoch if the log's history differs.
        """
        main, records = self._main.row(), self._records.row()
        at = common_position(main, records)
        if at is None or records is None:
            raise Gap(have=at, got=self._segment.first)
        if at.epoch != self._segment.epoch:
            raise WrongEpoch(ours=at.epoch, theirs=self._segment.epoch)
        if at != self._segment.after:
            raise Gap(have=at, got=self._segment.first)
        return records

    def _mend_records(self, release_pages: Callable[[], None]) -> None:
        batch: list[_Difference] = []
        for difference in self._record_differences(release_pages):
            batch.append(difference)
            if len(batch) == LONGEST_CHANGE:
                self._write_records(batch, is_last=False)
                batch = []
                release_pages()
        self._write_records(batch, is_last=True)

    def _record_differences(self, release_pages: Callable[[], None]) -> Iterator[_Difference]:
        """Yield the rows that differ from the expected ones, and sum up the digests of all expected rows.

        Raise BadSegment if the expected keys are unsorted.
        """
        stored = self._stored_rows(release_pages)
        have = next(stored, None)
        before = b""
        for key, body in self._expected_rows():
            if key <= before:
                raise BadSegment(reason=f"the key {key.hex()} is not in order")
            before = key
            self._digest += row_digest(Dbi.RECORDS, key, body)
            while have is not None and have[0] < key:
                yield _Difference(have[0], None, f"{self._spoken(have[0])} was there, though nobody published it")
                have = next(stored, None)
            if have is None or have[0] != key:
                yield _Difference(key, body, f"{self._spoken(key)} was missing")
                continue
            if have[1] != body:
                yield _Difference(key, body, f"{self._spoken(key)} was not what the panel wrote")
            have = next(stored, None)
        while have is not None:
            yield _Difference(have[0], None, f"{self._spoken(have[0])} was there, though nobody published it")
            have = next(stored, None)

    def _expected_rows(self) -> Iterator[tuple[bytes, bytes]]:
        for run in self._segment.runs():
            if run.dbi is not Dbi.RECORDS:
                continue
            if isinstance(run, Puts):
                for key, _ in run.rows:
                    if key[:4] != self._prefix or len(key) < 8:
                        raise BadSegment(reason=f"a repair of zone {self._mark.zone_id} puts the row {key.hex()}")
                yield from run.rows
            elif run != Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, self._prefix):
                raise BadSegment(reason="a repair does more than to clear its zone and to put rows")

    def _stored_rows(self, release_pages: Callable[[], None]) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the keys and bodies of the zone's rows. A body is None if the value is unreadable.

        Rows are read in many short transactions, so that rows before the yielded row can be written.
        """
        start = self._prefix
        while True:
            page: list[tuple[bytes, bytes | None]] = []
            with self._records.env.begin() as txn, txn.cursor(db=self._records.tables[Dbi.RECORDS]) as cursor:
                found = cursor.set_range(start)
                while found and (key := cursor.key()).startswith(self._prefix) and len(page) < _ROWS_AT_ONCE:
                    page.append((key, self._body_of(cursor.value())))
                    found = cursor.next()
            yield from page
            release_pages()
            if len(page) < _ROWS_AT_ONCE:
                return
            start = page[-1][0] + b"\0"

    def _body_of(self, value: bytes) -> bytes | None:
        try:
            return None if self._schema.is_deleted(value) else self._schema.unwrap(value)
        except BadBytes:
            return None

    def _write_records(self, batch: Sequence[_Difference], *, is_last: bool) -> None:
        """Write these differences, and with the last ones the digests. Raise Busy if another process wrote rows."""
        table = self._records.tables[Dbi.RECORDS]
        put = [(one.key, self._wrap(one.body)) for one in batch if one.body is not None]
        with self._records.writing(self._stopwatch) as txn:
            if self._records.row(txn) != self._row:
                raise Busy(what=self._records.path)
            for difference in batch:
                if difference.body is None:
                    txn.delete(difference.key, db=table)
            with txn.cursor(db=table) as cursor:
                cursor.putmulti(put)
            if bool(batch) | (is_last and self._write_digests(txn)):
                note_commit(txn, self._records)
        self._note([difference.text for difference in batch])
        self._keys += [difference.key for difference in batch[: LONGEST_CHANGE - len(self._keys)]]

    def _write_digests(self, txn: Any) -> bool:
        """Write the zone's digest and the file's changed digest. Return True if something was written."""
        before = running_digest(txn, self._records, self._mark.zone_id)
        after = None if self._mark.serial is None else Running(self._digest)
        if (before and before.encode()) == (after and after.encode()):
            return False
        put_digest(txn, self._records, self._mark.zone_id, after)
        if before is None or before.is_known:
            moved = (after.total if after else 0) - (before.total if before else 0)
            row = replace(self._row, digest=(self._row.digest + moved) % DIGEST_MODULUS)
            txn.put(ROW_KEY, row.encode(), db=self._records.own)
            self._row = row
        return True

    def _mend_main(self) -> None:
        """Repair the zone's object, index row, metadata and keys, or delete them if the zone must not exist.

        Remove all other rows of the zone's name or id.
        """
        with self._main.env.begin() as txn:
            left = self._left_objects(txn)
        with self._main.writing(self._stopwatch) as txn:
            differences = self._remove_foreign(txn, left)
            if self._mark.serial is not None:
                for dbi, key, body in self._schema.zone_rows(self._mark.zone_id, self._mark.name):
                    if self._puts_main(txn, dbi, key, body):
                        differences.append("its entry in the list of zones was missing or altered")
            differences += self._put_attached(txn)
            if self._write_attached_digests(txn) or differences:
                note_commit(txn, self._main)
        self._note(differences)

    def _remove_foreign(self, txn: Any, left: Mapping[tuple[Dbi, str], set[int]]) -> list[str]:
        """Delete foreign rows of the zone or its names, and a zone that must not exist. Return their descriptions."""
        differences = []
        key = self._schema.row_id_key(self._mark.zone_id)
        value = txn.get(key, db=self._main.tables[Dbi.DOMAINS])
        names = self._names(txn)
        if value is not None and self._mark.serial is None:
            txn.delete(key, db=self._main.tables[Dbi.DOMAINS])
            differences.append(f"{self._mark.name} was there, though nobody published it")
        for name in sorted(names):
            is_ours = self._mark.serial is not None and name == self._mark.name
            if not is_ours and self._delete_index(txn, Dbi.DOMAINS_INDEX, name, self._mark.zone_id):
                differences.append(f"{name} led to it")
            for dbi in ATTACHED:
                differences += self._remove_foreign_objects(
                    txn, dbi, name, left.get((dbi, name), set()), is_ours=is_ours
                )
        return differences

    def _name_in(self, value: bytes | None) -> Iterator[str]:
        """Yield the name in a stored zone object, unless the object is missing or unreadable."""
        if value is not None:
            try:
                yield decode_domain(self._schema.unwrap(value)).name
            except (BadBytes, BadName):
                return

    def _remove_foreign_objects(self, txn: Any, dbi: Dbi, name: str, left: set[int], *, is_ours: bool) -> list[str]:
        """Delete a name's foreign metadata or keys, and index rows to objects of other names. Return descriptions."""
        differences = []
        index, prefix = Dbi(dbi + 1), self._schema.index_prefix(name)
        led_to = {row.row_id for row in index_rows(txn, self._main, self._schema, index, prefix)}
        for row_id in led_to | left:
            key = self._schema.row_id_key(row_id)
            if is_ours and (dbi, key) in self._attached:
                continue
            self._delete_index(txn, index, name, row_id)
            if self._zone_of(txn, dbi, key) in (name, None):
                txn.delete(key, db=self._main.tables[dbi])
            differences.append(f"{_NOUNS[dbi]} had been added")
        return differences

    def _names(self, txn: Any) -> set[str]:
        """Return the zone's name and the name in its stored object."""
        value = txn.get(self._schema.row_id_key(self._mark.zone_id), db=self._main.tables[Dbi.DOMAINS])
        return {self._mark.name, *self._name_in(value)}

    def _left_objects(self, txn: Any) -> dict[tuple[Dbi, str], set[int]]:
        """Return the ids of objects with the zone's names, including objects without an index row.

        The search reads a whole table. It is therefore done only if a table can have objects without an index row, and
        before the write lock is taken.
        """
        names, tables = self._names(txn), self._main.tables
        found: dict[tuple[Dbi, str], set[int]] = {}
        for dbi in ATTACHED:
            if txn.stat(tables[dbi])["entries"] == txn.stat(tables[dbi + 1])["entries"]:
                continue
            with txn.cursor(db=tables[dbi]) as cursor:
                for key, value in cursor:
                    if (name := self._name_of_object(value)) in names:
                        found.setdefault((dbi, str(name)), set()).add(self._row_id(key))
        return found

    def _zone_of(self, txn: Any, dbi: Dbi, key: bytes) -> str | None:
        """Return the zone name in an object, or None if the object is missing or unreadable."""
        value = txn.get(key, db=self._main.tables[dbi])
        return None if value is None else self._name_of_object(value)

    def _name_of_object(self, value: bytes) -> str | None:
        try:
            return zone_of(self._schema.unwrap(value))
        except (BadBytes, BadName):
            return None

    def _put_attached(self, txn: Any) -> list[str]:
        """Put missing or altered metadata and keys, each before its index row. Return their descriptions."""
        differences = []
        for (dbi, key), body in self._attached.items():
            is_put = self._puts_main(txn, dbi, key, body)
            if self._puts_main(txn, *self._index_of(dbi, key)) or is_put:
                differences.append(f"{_NOUNS[dbi]} was missing or altered")
        return differences

    def _write_attached_digests(self, txn: Any) -> bool:
        """Write the digests of metadata, keys and the main file, if they changed. Return True if anything changed."""
        prefix = self._schema.index_prefix(self._mark.name)
        before, sums = digests_of(txn, self._main, prefix), [0, 0]
        for (dbi, key), body in self._attached.items():
            sums[column_of(dbi)] += row_digest(dbi, key, body) + row_digest(*self._index_of(dbi, key))
        after = sums[0] % DIGEST_MODULUS, sums[1] % DIGEST_MODULUS
        row = self._main.row(txn)
        if before == after or row is None:
            return False
        put_digests(txn, self._main, prefix, after)
        moved = sum(after) - sum(before)
        txn.put(ROW_KEY, replace(row, digest=(row.digest + moved) % DIGEST_MODULUS).encode(), db=self._main.own)
        return True

    def _delete_index(self, txn: Any, index: Dbi, name: str, row_id: int) -> bool:
        key, body = self._schema.index_row(name, row_id)
        return bool(txn.delete(key, b"" if self._schema.has_header else body, db=self._main.tables[index]))

    def _puts_main(self, txn: Any, dbi: Dbi, key: bytes, body: bytes) -> bool:
        """Put one row of the main file. Return False if the same row already exists."""
        table = self._main.tables[dbi]
        if self._schema.dbi(dbi).dupsort:
            with txn.cursor(db=table) as cursor:  # a put of an existing row would still be a commit
                exists = cursor.set_key_dup(key, body)
            return not exists and bool(txn.put(key, body, db=table))
        value = txn.get(key, db=table)
        if value is not None and self._body_of(value) == body:
            return False
        txn.put(key, self._wrap(body), db=table)
        return True

    def _wrap(self, body: bytes) -> bytes:
        return self._schema.wrap(body, self._segment.time_ns, self._segment.last)

    def _spoken(self, key: bytes) -> str:
        """Describe a record key by its name and type."""
        try:
            _, relative, type = keys.decode_record_key(key)
            name = keys.name_from_relative_key(relative, self._mark.name)
        except (BadBytes, BadName):
            return f"a row with the key {key.hex()}"
        return f"{name} {rdata.type_to_text(type)}" if type else f"the empty name {name}"

    def _note(self, differences: Sequence[str]) -> None:
        self._rows += len(differences)
        self._differences += dict.fromkeys(differences[: MAX_DIFFERENCES - len(self._differences)])
