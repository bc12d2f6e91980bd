"""Read every row of a store and find what is not as we wrote it.

A check is a generator: it reads for about a millisecond between two of its steps, and whoever runs it decides how long
to rest. Between steps it may hold a read transaction, never for more than ROWS_AT_ONCE rows but inside one zone.

What must hold, and is true at every commit of ours:

- records: the rows of a zone add up to its running digest (`zone_digests`); rows and digest change in one transaction;
- main file: a zone in that table, and no other, has its object and its name there, exactly as `Schema.zone_rows` makes
  them; nothing else leads to a zone, and no zone has metadata or keys;
- the digest of each file is the sum over what is in it.

The main file is compared with the records file's table, so each look at it waits for a moment at which both are whole
at one position. What is found is a fact, not a suspicion: a row altered while we look is seen before or after.

Digests that nobody has computed yet are filled in on the way. A digest of a whole file that is not the sum of what is
in it, where that is all as it should be, is put right: it drifts when a segment meets another hand's rows half-way.
"""

import logging
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from replication.applying import POSITION_ZONE_ID
from replication.codec import keys
from replication.codec.domains import decode_domain, native_name
from replication.codec.schema import Dbi, Schema
from replication.errors import BadBytes, BadName
from replication.file_row import ROW_KEY, Database, FileRow, settled_position
from replication.operations import DIGEST_MODULUS, row_digest, rows_digest
from replication.own_commits import foreign_commit, newest_commit, note_commit
from replication.zone_digests import (
    Running,
    adopt,
    decode_running,
    is_complete,
    put_digest,
    running_digest,
    unhashed_since,
)

# Rows read in one read transaction, and between two steps.
ROWS_AT_ONCE = 20_000
_ROWS_PER_STEP = 250
_ZONES_PER_STEP = 100
_HEADER_SIZE = 24
_PLAIN_HEADER_END = bytes(8)  # version 0, no flags, reserved, no extensions
_OURS = frozenset((POSITION_ZONE_ID, keys.GUARD_ZONE_ID))

ALTERED = "its records are not what the panel wrote"
EMPTIED = "all of its records are gone"
UNREADABLE = "one of its records cannot be read"
NOT_LISTED = "it is gone from the list of zones"
LISTED_WRONG = "its entry in the list of zones was altered"
FOREIGN = "it was created on the server, not by the panel"
FOREIGN_RECORDS = "records of a zone that the panel does not know"

Steps = Generator[None, None, None]

logger = logging.getLogger(__name__)


class Fault(NamedTuple):
    """A zone that is not what we wrote; zone 0 stands for what belongs to no single zone."""

    zone_id: int
    name: str  # empty where the files do not say it any more
    words: str


class _Unknown(NamedTuple):
    """A zone whose rows were added up, and what its running total was then."""

    zone_id: int
    total: int
    added: int


@dataclass(slots=True)
class Check:
    """One look at everything, or at some zones. Use once."""

    schema: Schema
    main: Database
    records: Database
    lock: threading.Lock  # of the store: whoever writes the rows that hold positions and digests takes it
    faults: dict[int, Fault] = field(default_factory=dict)
    rows: int = 0
    share: float = 0.0
    is_done: bool = False  # everything was read; False where the files did not come to rest at one position
    _main_sum: int | None = 0  # of what the panel has in the main file; None: it changed meanwhile
    _main_row: FileRow | None = None
    _unknown: list[_Unknown] = field(default_factory=list)

    def everything(self) -> Steps:
        """Both files, from the first row to the last."""
        covered = {id(database): newest_commit(database) for database in (self.main, self.records)}
        entries = max(1, _entries(self.records, Dbi.RECORDS) + 3 * _entries(self.main, Dbi.DOMAINS))
        if not self._adopt():
            return
        yield
        for part in (self._records_walk(entries), self._list_walk(entries), self._names_walk(), self._attachments()):
            if not (yield from part):
                return
        self._name_faults()
        if not self.faults:
            yield from self._sums()
        for database in (self.main, self.records):
            if foreign_commit(database):
                with database.env.begin(write=True) as txn:
                    note_commit(txn, database, checked=covered[id(database)])
        self.share, self.is_done = 1.0, True

    def zones(self, zone_ids: Iterable[int]) -> Steps:
        """These zones alone: their records and, where the files are at rest, their entries in the list of zones."""
        for zone_id in zone_ids:
            with self.records.env.begin() as txn:
                yield from self._zone_records(txn, zone_id)
            with self._settled() as pair:
                if pair is not None:
                    self._zone_entry(*pair, zone_id)
            yield
        self._name_faults()
        self.is_done = True

    # The records file

    def _records_walk(self, entries: int) -> Generator[None, None, bool]:
        at: int | None = 0
        while at is not None:
            with self.records.env.begin() as txn:
                mark = unhashed_since(txn, self.records)
                is_whole = _is_whole(self.records.row(txn))
                at = yield from self._some_zones(txn, at)
            if is_whole:
                self._fill(mark)
            self._unknown.clear()
            self.share = min(0.99, self.rows / entries)
        return True

    def _some_zones(self, txn: Any, first: int) -> Generator[None, None, int | None]:
        """Compare zones from `first` on; return where to go on, None at the end."""
        begun, zones_read = self.rows, 0
        knows_all = is_complete(txn, self.records)
        with txn.cursor(db=self.records.tables[Dbi.RECORDS]) as rows, txn.cursor(db=self.records.zones) as zones:
            more_rows, more_zones = rows.set_range(keys.zone_prefix(first)), zones.set_range(keys.zone_prefix(first))
            while more_rows or more_zones:
                zone = min(([rows.key()[:4]] if more_rows else []) + ([zones.key()] if more_zones else []))
                if self.rows - begun > ROWS_AT_ONCE:
                    return int.from_bytes(zone, "big")
                running = None
                if more_zones and zones.key() == zone:
                    running = self._decode(zones.value(), zone)
                    more_zones = zones.next()
                total: int | None = 0
                count = 0
                if more_rows and rows.key().startswith(zone):
                    total, count = yield from self._sum(rows, zone)
                    more_rows = bool(rows.key())
                zones_read += 1
                if not zones_read % _ZONES_PER_STEP:
                    yield
                if running is not None or knows_all:
                    self._judge(int.from_bytes(zone, "big"), running, total, count)
        return None

    def _zone_records(self, txn: Any, zone_id: int) -> Steps:
        total: int | None = 0
        count = 0
        with txn.cursor(db=self.records.tables[Dbi.RECORDS]) as rows:
            zone = keys.zone_prefix(zone_id)
            if rows.set_range(zone) and rows.key().startswith(zone):
                total, count = yield from self._sum(rows, zone)
        self._judge(zone_id, running_digest(txn, self.records, zone_id), total, count)
        self._unknown.clear()

    def _sum(self, rows: Any, zone: bytes) -> Generator[None, None, tuple[int | None, int]]:
        """Add the digests of a zone's rows; None where one cannot be read. The cursor ends behind them."""
        total, count, readable = 0, 0, True
        has_header, batch = self.schema.has_header, []
        for key, value in rows:
            if key[:4] != zone:
                break
            if not has_header:
                batch.append((key, value))
            elif value[16:_HEADER_SIZE] == _PLAIN_HEADER_END:
                batch.append((key, value[_HEADER_SIZE:]))
            else:
                body = self._body_of(value)
                readable &= body is not None
                batch.append((key, body or b""))
            if len(batch) == _ROWS_PER_STEP:
                total += rows_digest(Dbi.RECORDS, batch)
                count += len(batch)
                batch = []
                yield
        count += len(batch)
        self.rows += count
        total += rows_digest(Dbi.RECORDS, batch)
        return total % DIGEST_MODULUS if readable else None, count

    def _judge(self, zone_id: int, running: Running | None, total: int | None, count: int) -> None:
        if zone_id in _OURS:
            return
        if running is None:
            if count:
                self._find(zone_id, "", FOREIGN_RECORDS)
        elif total is None:
            self._find(zone_id, "", UNREADABLE)
        elif not running.is_known:
            self._unknown.append(_Unknown(zone_id, total, running.total))
        elif running.total != total:
            self._find(zone_id, "", ALTERED if count else EMPTIED)

    def _decode(self, value: bytes, zone: bytes) -> Running:
        """A digest that cannot be read is as good as none: the panel has the zone."""
        try:
            return decode_running(value)
        except BadBytes:
            self._find(int.from_bytes(zone, "big"), "", UNREADABLE)
            return Running(is_known=False)

    def _body_of(self, value: bytes) -> bytes | None:
        try:
            return None if self.schema.is_deleted(value) else self.schema.unwrap(value)
        except BadBytes:
            return None

    def _fill(self, mark: bytes) -> None:
        """Write the digests that were unknown, with what edits have added since the rows were read."""
        if not self._unknown:
            return
        with self.lock, self.records.env.begin(write=True) as txn:
            if unhashed_since(txn, self.records) != mark or not _is_whole(self.records.row(txn)):
                return  # other rows came meanwhile; the next check reads them
            for zone_id, total, added in self._unknown:
                now = running_digest(txn, self.records, zone_id)
                if now is not None and not now.is_known:
                    put_digest(txn, self.records, zone_id, Running(total + now.total - added))
            note_commit(txn, self.records)

    # The main file

    @contextmanager
    def _settled(self) -> Iterator[tuple[Any, Any] | None]:
        """Read transactions of main and records at one position, or None while there is none."""
        with self.records.env.begin() as records, self.main.env.begin() as main:
            rows = self.main.row(main), self.records.row(records)
            is_moving = self.main.installing() or self.records.installing()
            yield None if is_moving or (any(rows) and settled_position(*rows) is None) else (main, records)

    def _list_walk(self, entries: int) -> Generator[None, None, bool]:
        """The list of zones against the table of digests, id by id."""
        at: int | None = 0
        while at is not None:
            with self._settled() as pair:
                if pair is None:
                    return False
                now = self.main.row(pair[0])
                if at and self._main_row != now:
                    self._main_sum = None
                self._main_row = now
                at = yield from self._some_entries(*pair, at)
            self.share = min(0.99, self.rows / entries)
        return True

    def _some_entries(self, main: Any, records: Any, first: int) -> Generator[None, None, int | None]:
        begun = self.rows
        with main.cursor(db=self.main.tables[Dbi.DOMAINS]) as objects, records.cursor(db=self.records.zones) as zones:
            more_objects = objects.set_range(self.schema.row_id_key(first))
            more_zones = zones.set_range(keys.zone_prefix(first))
            while more_objects or more_zones:
                of_object = self._row_id(objects.key()) if more_objects else None
                of_zone = int.from_bytes(zones.key(), "big") if more_zones else None
                zone_id = min(number for number in (of_object, of_zone) if number is not None)
                if self.rows - begun > ROWS_AT_ONCE:
                    return zone_id
                self._entry(main, zone_id, objects.value() if of_object == zone_id else None, of_zone == zone_id)
                if of_object == zone_id:
                    more_objects = objects.next()
                if of_zone == zone_id:
                    more_zones = zones.next()
                self.rows += 1
                if not self.rows % _ZONES_PER_STEP:
                    yield
        return None

    def _zone_entry(self, main: Any, records: Any, zone_id: int) -> None:
        value = main.get(self.schema.row_id_key(zone_id), db=self.main.tables[Dbi.DOMAINS])
        is_ours = running_digest(records, self.records, zone_id) is not None
        if value is not None or is_ours:
            self._entry(main, zone_id, value, is_ours)

    def _entry(self, main: Any, zone_id: int, value: bytes | None, is_ours: bool) -> None:
        """Compare one zone's object and name with what they should be."""
        if zone_id in _OURS:
            return
        if value is None:
            self._find(zone_id, "", NOT_LISTED)
            return
        name = self._name_in(value)
        if not is_ours:
            self._find(zone_id, name or "", FOREIGN)
            return
        if name is None or not self._is_listed(main, zone_id, name, value):
            self._find(zone_id, name or "", LISTED_WRONG)

    def _is_listed(self, main: Any, zone_id: int, name: str, value: bytes) -> bool:
        (_, object_key, object_body), (_, index_key, index_body) = self.schema.zone_rows(zone_id, name)
        if self._body_of(value) != object_body:
            return False
        if not self._leads(main, index_key, index_body):
            return False
        if self._main_sum is not None:
            self._main_sum += row_digest(Dbi.DOMAINS, object_key, object_body)
            self._main_sum += row_digest(Dbi.DOMAINS_INDEX, index_key, index_body)
        return True

    def _leads(self, main: Any, key: bytes, body: bytes) -> bool:
        """True if the row of the index that leads from a zone's name to it is there."""
        table = self.main.tables[Dbi.DOMAINS_INDEX]
        if self.schema.has_header:
            value = main.get(key, db=table)
            return value is not None and self._body_of(value) == body
        with main.cursor(db=table) as cursor:
            return bool(cursor.set_key_dup(key, body))

    def _names_walk(self) -> Generator[None, None, bool]:
        """No name leads to a zone that has another name, or to none.

        Every zone's own name was found there by the walk along the list: as many names as zones are those.
        """
        if _entries(self.main, Dbi.DOMAINS_INDEX) == _entries(self.main, Dbi.DOMAINS) and not self.faults:
            return True
        at: tuple[bytes, bytes] | None = (b"\0", b"")
        while at is not None:
            with self._settled() as pair:
                if pair is None:
                    return False
                at = yield from self._some_names(pair[0], at)
        return True

    def _some_names(self, main: Any, first: tuple[bytes, bytes]) -> Generator[None, None, tuple[bytes, bytes] | None]:
        with main.cursor(db=self.main.tables[Dbi.DOMAINS_INDEX]) as cursor:
            found = cursor.set_range_dup(*first) if first[1] else cursor.set_range(first[0])
            if first[1] and not found:  # behind the last duplicate of that name, or the name is gone
                found = cursor.set_range(first[0] + b"\0")
            count = 0
            while found:
                if count == ROWS_AT_ONCE:
                    return cursor.key(), b"" if self.schema.has_header else cursor.value()
                self._name(main, cursor.key(), cursor.value())
                found = cursor.next()
                count += 1
                if not count % _ZONES_PER_STEP:
                    yield
        return None

    def _name(self, main: Any, key: bytes, value: bytes) -> None:
        try:
            if self.schema.has_header:
                name, zone_id = keys.decode_index_key(key)
            else:
                name, zone_id = keys.name_from_key(key), int.from_bytes(value, "little")
        except (BadBytes, BadName):
            self._find(0, "", f"a row of the list of zones cannot be read ({key.hex()[:40]})")
            return
        object_value = main.get(self.schema.row_id_key(zone_id), db=self.main.tables[Dbi.DOMAINS])
        if object_value is None:
            self._find(zone_id, name, NOT_LISTED)
        elif self._name_in(object_value) != name and zone_id not in self.faults:
            self._find(0, name, "its name leads to another zone")

    def _attachments(self) -> Generator[None, None, bool]:
        """Metadata, keys and TSIG keys: the panel writes none, so each was added by hand."""
        yield
        with self._settled() as pair:
            if pair is None:
                return False
            for index, noun in (
                (Dbi.METADATA_INDEX, "metadata was added on the server"),
                (Dbi.KEYDATA_INDEX, "a DNSSEC key was added on the server"),
                (Dbi.TSIG_INDEX, "a TSIG key was added on the server"),
            ):
                for name in self._names_in_index(pair[0], index):
                    zone_id = 0 if index is Dbi.TSIG_INDEX else self._zone_id(pair[0], name)
                    self._find(zone_id, name, noun)
        return True

    def _names_in_index(self, main: Any, index: Dbi) -> list[str]:
        names = []
        with main.cursor(db=self.main.tables[index]) as cursor:
            for key in cursor.iternext(values=False):
                try:
                    names.append(keys.decode_index_key(key)[0] if self.schema.has_header else keys.name_from_key(key))
                except (BadBytes, BadName):
                    names.append("")
                if len(names) == ROWS_AT_ONCE:
                    break
        return names

    def _zone_id(self, main: Any, name: str) -> int:
        """The zone of this name, 0 if there is none."""
        start, _ = self.schema.index_row(name, 0) if name else (b"", b"")
        with main.cursor(db=self.main.tables[Dbi.DOMAINS_INDEX]) as cursor:
            if not name or not cursor.set_range(start[:-4] if self.schema.has_header else start):
                return 0
            if self.schema.has_header:
                key = cursor.key()
                return int.from_bytes(key[-4:], "big") if key[:-4] == start[:-4] else 0
            return int.from_bytes(cursor.value(), "little") if cursor.key() == start else 0

    def _row_id(self, key: bytes) -> int:
        return int.from_bytes(key, "big" if self.schema.has_header else "little")

    def _name_in(self, value: bytes) -> str | None:
        """The name in a zone's object, None if it cannot be read."""
        try:
            body = self.schema.unwrap(value)
            return native_name(body, self.schema.number) or decode_domain(body).name
        except (BadBytes, BadName, ValueError):
            return None

    # What was found

    def _find(self, zone_id: int, name: str, words: str) -> None:
        """Note a fault; of several of one zone the words are joined."""
        known = self.faults.get(zone_id)
        if known is None:
            self.faults[zone_id] = Fault(zone_id, name, words)
        elif words not in known.words:
            self.faults[zone_id] = Fault(zone_id, known.name or name, f"{known.words}; {words}")

    def _name_faults(self) -> None:
        """Give each fault its zone's name, where the main file still says it."""
        with self.main.env.begin() as txn:
            for zone_id, fault in self.faults.items():
                value = txn.get(self.schema.row_id_key(zone_id), db=self.main.tables[Dbi.DOMAINS])
                if not fault.name and value is not None:
                    self.faults[zone_id] = fault._replace(name=self._name_in(value) or "")

    def _adopt(self) -> bool:
        """Begin the digests of zones in a file of an older release; False while the files are not at rest."""
        with self.records.env.begin() as txn:
            if is_complete(txn, self.records):
                return True
        with self.lock, self._settled() as pair:
            if pair is None:
                return False
            with pair[0].cursor(db=self.main.tables[Dbi.DOMAINS]) as cursor:
                ids = [self._row_id(key) for key in cursor.iternext(values=False)]
            with self.records.env.begin(write=True) as txn:
                adopt(txn, self.records, [zone_id for zone_id in ids if zone_id not in _OURS])
                note_commit(txn, self.records)
        return True

    def _sums(self) -> Steps:
        """Where everything is ours: make each file's digest the sum of what is in it, if that is known."""
        main, digest = self._main_row, self._main_sum
        if main is not None and digest is not None and main.digest != digest % DIGEST_MODULUS:
            self._correct(self.main, main, digest)
        with self.records.env.begin() as txn, txn.cursor(db=self.records.zones) as cursor:
            row, total = self.records.row(txn), 0
            for count, value in enumerate(cursor.iternext(keys=False)):
                running = decode_running(value)
                if not running.is_known:
                    return
                total += running.total
                if not count % _ROWS_PER_STEP:
                    yield
        if row is not None and _is_whole(row) and row.digest != total % DIGEST_MODULUS:
            self._correct(self.records, row, total)

    def _correct(self, database: Database, seen: FileRow, total: int) -> None:
        """Write the digest of a file, unless the file has changed since."""
        with self.lock, database.env.begin(write=True) as txn:
            if database.row(txn) == seen:
                logger.warning("the digest of %s was not the sum of its rows, and is now", database.path)
                txn.put(ROW_KEY, replace(seen, digest=total % DIGEST_MODULUS).encode(), db=database.own)
                note_commit(txn, database)


def _is_whole(row: FileRow | None) -> bool:
    """Whether no segment is half in the records file."""
    return row is not None and row.reached <= row.applied


def _entries(database: Database, dbi: Dbi) -> int:
    with database.env.begin() as txn:
        return int(txn.stat(database.tables[dbi])["entries"])
