"""Install a snapshot into a store, while PowerDNS keeps serving the store.

Snapshot and store are read in parallel, table by table, and only differences are put or deleted. This is done in short
transactions and in the order of a segment (`segment.arrange`): records of the snapshot's zones, then the main file,
then records of zones that the snapshot does not have. Therefore a zone that exists before and after the installation
exists all the time, and its changes become visible at once (up to ZONE_ROWS_IN_ONE rows). A node that has nearly
everything writes nearly nothing. If a table is empty, its rows are appended thousands at a time.

From the first transaction to the last, both files have a row `installing` (16 bytes: the snapshot's id) next to the row
`position`. A store with such a row has no position and accepts no segment. After a crash the merge starts again and
skips what is already done. The last transaction of each file writes the position, with the digests from the snapshot's
signed manifest, and removes the row. The records file comes last, as always. The next check of the rows computes the
digests of zones (`zone_digests`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from replication.codec import keys
from replication.codec.schema import Dbi, Schema
from replication.errors import BadBytes, Busy
from replication.store.applying import POSITION_ZONE_ID, ZONE_ROWS_IN_ONE, position_row
from replication.store.file_row import INSTALLING_KEY, Database, FileRow
from replication.store.key_opener import KeyOpener
from replication.store.lock_time import Hold
from replication.store.writing import Row, RowChange, Writer
from replication.store.zone_digests import mark_complete, mark_unknown
from replication.wire.position import Position

# This many rows of a table are compared at a time, or put in one transaction if none of them exists yet.
_WINDOW = 8_000
_WINDOW_BYTES = 2 << 20
_PIECE = 1_000
_OWN_ROWS = keys.zone_prefix(POSITION_ZONE_ID)
_OBJECTS = (Dbi.METADATA, Dbi.KEYDATA, Dbi.TSIG, Dbi.DOMAINS)

PutAll = Callable[[Sequence[Row]], bool]


@dataclass(frozen=True, slots=True)
class Source:
    """A snapshot's two files, open for reading, and their position and digests. `name` is the snapshot's id."""

    name: str
    position: Position
    digest_main: bytes
    digest_records: bytes
    time_ns: int
    main: Database
    records: Database


@dataclass(frozen=True, slots=True)
class Target:
    """The store to which a snapshot is written: its schema, its two files, and the decrypter of DNSSEC keys."""

    schema: Schema
    main: Database
    records: Database
    opener: KeyOpener


class Installation:
    """The installation of one snapshot into a store. Call `run` once."""

    def __init__(
        self,
        source: Source,
        target: Target,
        hold_seconds: float,
        release_pages: Callable[[], None],
        before_removal: Callable[[], None],
    ) -> None:
        self._opener = target.opener
        self._source, self._schema = source, target.schema
        self._release_pages, self._before_removal = release_pages, before_removal
        self._main = Writer(target.main, target.schema, hold_seconds, release_pages)
        self._records = Writer(target.records, target.schema, hold_seconds, release_pages)
        self._removed: list[bytes] = []  # prefixes of zones that the snapshot does not have

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

    def run(self) -> None:
        """Make the store equal to the snapshot. Raise Busy if another process wrote to the store in the meantime.

        If a DNSSEC key can't be decrypted, raise UnknownSealingKey or BadBytes before anything is written.
        """
        self._refuse_unknown_keys()
        name = bytes.fromhex(self._source.name)
        for writer in (self._main, self._records):
            with writer.transaction() as txn:
                txn.put(INSTALLING_KEY, name, db=writer.database.own)
        self._merge_records()
        self._mark_digests_unknown()
        for dbi in _OBJECTS:
            self._merge_objects(dbi)
        self._take_attached_digests()
        if self._removed:
            self._before_removal()
        self._records.delete_below(Dbi.RECORDS, self._removed)
        self._refuse_other_counts()
        self._finish()

    def _refuse_unknown_keys(self) -> None:
        if self._opener.is_active:
            for _ in self._rows(Dbi.KEYDATA, of_snapshot=True).windows():
                self._release_pages()

    def _take_attached_digests(self) -> None:
        """Copy the digests of metadata and keys from the snapshot. Sealed and clear keys have the same digest."""
        with self._main.transaction() as txn:
            txn.drop(self._main.database.attached, delete=False)
        source, last = self._source.main, b"\0"
        while source.attached is not None:
            with source.env.begin() as txn, txn.cursor(db=source.attached) as cursor:
                rows = list(islice(cursor.iternext(), _WINDOW)) if cursor.set_range(last) else []
            if not rows:
                return
            with self._main.transaction() as txn, txn.cursor(db=self._main.database.attached) as cursor:
                cursor.putmulti(rows)
            last = rows[-1][0] + b"\0"

    def _merge_records(self) -> None:
        """Merge the records of the snapshot's zones, and collect the zones that the snapshot lacks.

        Records of the collected zones are kept as long as these zones are served.
        """
        differences = _differences(self._rows(Dbi.RECORDS, of_snapshot=True), self._rows(Dbi.RECORDS), self._append)
        for prefix, of_zone in groupby(differences, key=lambda change: change.key[:4]):
            if len(prefix) == 4 and not _has_zone(self._source.main, self._schema, prefix):
                self._removed.append(prefix)
                continue
            while part := list(islice(of_zone, ZONE_ROWS_IN_ONE)):
                self._records.add(Dbi.RECORDS, part)
        self._records.flush()

    def _append(self, rows: Sequence[Row]) -> bool:
        """Put these new records and return True, or return False if that would make a part of a zone visible."""
        if any(_has_zone(self._main.database, self._schema, row[0][:4]) for row in (rows[0], rows[-1])):
            return False
        self._records.put_all(Dbi.RECORDS, rows)
        return True

    def _mark_digests_unknown(self) -> None:
        """Mark the digests of the snapshot's zones as not computed yet, and remove all other zone digests."""
        with self._records.transaction() as txn:
            txn.drop(self._records.database.zones, delete=False)
        for rows in self._rows(Dbi.DOMAINS, of_snapshot=True).windows():
            zone_ids = [keys.decode_row_id(key, big_endian=self._schema.has_header) for key, _ in rows]
            with self._records.transaction() as txn:
                mark_unknown(txn, self._records.database, [id_ for id_ in zone_ids if id_ < POSITION_ZONE_ID])
        with self._records.transaction() as txn:
            mark_complete(txn, self._records.database)

    def _merge_objects(self, dbi: Dbi) -> None:
        """Merge a table of objects and its index. An object exists as long as an index row leads to it."""
        for change in self._differences(dbi):
            if change.value is not None:
                self._main.add(dbi, [change])
        self._main.flush()
        index = Dbi(dbi + 1)
        for _, of_name in groupby(self._differences(index), key=self._name_of):
            self._main.add(index, list(of_name))
        self._main.flush()
        for change in self._differences(dbi):
            self._main.add(dbi, [change])
        self._main.flush()

    def _differences(self, dbi: Dbi) -> Iterator[RowChange]:
        def put_all(rows: Sequence[Row]) -> bool:
            self._main.put_all(dbi, rows)
            return True

        return _differences(self._rows(dbi, of_snapshot=True), self._rows(dbi), put_all)

    def _name_of(self, change: RowChange) -> bytes:
        """Return the name in an index key. Changes with the same name share a transaction."""
        return change.key[:-4] if self._schema.has_header else change.key

    def _refuse_other_counts(self) -> None:
        """Raise Busy unless every table has the same number of rows as in the snapshot."""
        for dbi in self._schema.all_dbis:
            if self._rows(dbi).count() != self._rows(dbi, of_snapshot=True).count():
                raise Busy(what=self._file(dbi).path)

    def _finish(self) -> None:
        """Write the position to both files, which makes it valid with the second commit."""
        source, sequence = self._source, self._source.position.sequence
        digest_main, digest_records = (int.from_bytes(d, "big") for d in (source.digest_main, source.digest_records))
        with self._main.transaction() as txn:
            row = FileRow(source.position.epoch, sequence, sequence, digest_main)
            self._main.put_row(txn, row)
        key, body = position_row(source.position)
        with self._records.transaction() as txn:
            value = self._schema.wrap(body, source.time_ns, sequence)
            txn.put(key, value, db=self._records.database.tables[Dbi.RECORDS])
            self._records.put_row(txn, FileRow(source.position.epoch, sequence, sequence, digest_records, sequence))

    def _rows(self, dbi: Dbi, *, of_snapshot: bool = False) -> "_Rows":
        opener = self._opener if of_snapshot and dbi is Dbi.KEYDATA else None
        return _Rows(self._file(dbi, of_snapshot=of_snapshot), dbi, self._schema, self._release_pages, opener)

    def _file(self, dbi: Dbi, *, of_snapshot: bool = False) -> Database:
        if dbi is Dbi.RECORDS:
            return self._source.records if of_snapshot else self._records.database
        return self._source.main if of_snapshot else self._main.database


def _has_zone(main: Database, schema: Schema, prefix: bytes) -> bool:
    with main.env.begin() as txn:
        key = schema.row_id_key(int.from_bytes(prefix, "big"))
        return txn.get(key, db=main.tables[Dbi.DOMAINS]) is not None


def _differences(target: "_Rows", found: "_Rows", put_all: PutAll) -> Iterator[RowChange]:
    """Yield the changes that make the rows of `found` equal to those of `target`, in key order.

    If `found` has no rows in a window, the window's rows are offered to `put_all`, and yielded only if `put_all`
    declines them. No transaction is open while a change is yielded.
    """
    behind: bytes | None = None
    while True:
        new, _ = target.read(behind)
        until = new[-1][0] if new else None
        old, is_cut = found.read(behind, until)
        if is_cut:
            until = old[-1][0]
            new = target.up_to(new, until)
        found.release_pages()
        if new != old and (old or not put_all(new)):
            yield from target.changes(new, old)
        if until is None:
            return
        behind = until


class _Rows:
    """A table's rows, read in windows.

    Each window is read in a separate transaction, because no read transaction must stay open for long. Our own rows,
    which are after all zones in the table of records, are left out. If an opener is given, DNSSEC keys are returned
    decrypted, as they must be written.
    """

    def __init__(
        self,
        database: Database,
        dbi: Dbi,
        schema: Schema,
        release_pages: Callable[[], None] = lambda: None,
        opener: KeyOpener | None = None,
    ) -> None:
        self.release_pages = release_pages
        self._opener = opener
        self._database, self._table, self._schema = database, database.tables[dbi], schema
        spec = schema.dbi(dbi)
        self._has_duplicates = spec.dupsort
        self._step = -1 if spec.integerkey else 1  # little-endian integers are compared from their ends
        self._end = _OWN_ROWS if dbi is Dbi.RECORDS else None

    def read(self, behind: bytes | None, until: bytes | None = None) -> tuple[list[Row], bool]:
        """Return a window's rows, and True if the window was cut.

        The window has the keys after `behind` up to and including `until`. If one of these is None, the window has no
        bound on that side. Rows with the same key are in the same window. Consecutive windows contain all rows.
        """
        with self._database.env.begin() as txn, txn.cursor(db=self._table) as cursor:
            found = cursor.first() if behind is None else cursor.set_range(behind)
            if found and cursor.key() == behind:
                found = cursor.next_nodup()
            rows = _some(cursor) if found else []
            if self._has_duplicates and rows and cursor.set_key(last := rows[-1][0]):
                rows = [row for row in rows if row[0] != last]
                rows += [(last, value) for value in cursor.iternext_dup()]
            is_last = not rows or not (cursor.set_key(rows[-1][0]) and cursor.next_nodup())
        bounds = [bound for bound in (until, self._end) if bound is not None]
        if self._opener is not None:
            rows = [(key, self._opener.opened_value(Dbi.KEYDATA, key, value)) for key, value in rows]
        kept = self.up_to(rows, min(bounds, key=self._order)) if bounds else rows
        return kept, not is_last and len(kept) == len(rows)

    def windows(self) -> Iterator[list[Row]]:
        behind: bytes | None = None
        while rows := self.read(behind)[0]:
            yield rows
            behind = rows[-1][0]

    def up_to(self, rows: list[Row], until: bytes) -> list[Row]:
        """Return the rows with keys up to and including `until`."""
        last = self._order(until)
        if rows and self._order(rows[-1][0]) <= last:
            return rows
        return [row for row in rows if self._order(row[0]) <= last]

    def count(self) -> int:
        """Count the rows, without our own rows."""
        with self._database.env.begin() as txn, txn.cursor(db=self._table) as cursor:
            own = 0
            if self._end is not None and cursor.set_range(self._end):
                own = sum(1 for _ in cursor.iternext(values=False))
            return int(txn.stat(self._table)["entries"]) - own

    def changes(self, new: list[Row], old: list[Row]) -> list[RowChange]:
        """Return the changes that turn the rows `old` into the rows `new`, in key order."""
        if self._has_duplicates:
            found = [RowChange(key, value, None) for key, value in set(new) - set(old)]
            found += [RowChange(key, None, value) for key, value in set(old) - set(new)]
        else:
            remaining = dict(old)
            found = [
                RowChange(key, value, before)
                for key, value in new
                if (before := remaining.pop(key, None)) is None or not self._is_same(before, value)
            ]
            found += [RowChange(key, None, value) for key, value in remaining.items()]
        return sorted(found, key=lambda change: self._order(change.key))

    def _is_same(self, old: bytes, new: bytes) -> bool:
        """Return True if the two values differ at most in their headers, which only contain time and transaction."""
        try:
            return old == new or self._schema.unwrap(old) == self._schema.unwrap(new)
        except BadBytes:
            return False

    def _order(self, key: bytes) -> bytes:
        return key[:: self._step]


def _some(cursor: Any) -> list[Row]:
    """Return rows starting at the cursor: _WINDOW rows, or fewer if they are large."""
    rows: list[Row] = []
    size = 0
    while piece := list(islice(cursor.iternext(), _PIECE)):
        rows += piece
        size += sum(len(value) for _, value in piece)
        if len(rows) >= _WINDOW or size > _WINDOW_BYTES or len(piece) < _PIECE or not cursor.next():
            break
    return rows
