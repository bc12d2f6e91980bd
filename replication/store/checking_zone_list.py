"""Check the main file against the zone table in the records file.

Exactly the zones in that table have an object and a name in the main file, as `Schema.zone_rows` creates them. Other
index rows must not lead to a zone. Each part waits until both files are complete at one position.
"""

from collections.abc import Generator
from typing import Any

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.errors import BadBytes, BadName
from replication.store.check_state import (
    FOREIGN,
    LISTED_WRONG,
    NOT_LISTED,
    OWN_ZONES,
    ROWS_AT_ONCE,
    ZONES_PER_STEP,
    CheckState,
    count_rows,
)
from replication.store.file_row import FileRow
from replication.store.zone_digests import running_digest
from replication.wire.operations import row_digest


class ZoneListCheck:
    """A check of the zone list, which records its results in the shared state.

    After `walk`, `digest` is the sum over the panel's rows in the main file, or None if they changed during the walk.
    `row` is the file's position row that belongs to `digest`.
    """

    def __init__(self, state: CheckState) -> None:
        self._state = state
        self._schema, self._main, self._records = state.schema, state.main, state.records
        self.digest: int | None = 0
        self.row: FileRow | None = None

    def walk(self, entries: int) -> Generator[None, None, bool]:
        """Check the zone list against the table of digests. Return False if the files had no common position."""
        at: int | None = 0
        while at is not None:
            with self._state.at_rest() as pair:
                if pair is None:
                    return False
                now = self._main.row(pair[0])
                if at and self.row != now:
                    self.digest = None
                self.row = now
                at = yield from self._some_entries(*pair, at)
            self._state.share = min(0.99, self._state.rows / entries)
        return True

    def _some_entries(self, main: Any, records: Any, first: int) -> Generator[None, None, int | None]:
        begun = self._state.rows
        with main.cursor(db=self._main.tables[Dbi.DOMAINS]) as objects, records.cursor(db=self._records.zones) as zones:
            more_objects = objects.set_range(self._schema.row_id_key(first))
            more_zones = zones.set_range(keys.zone_prefix(first))
            while more_objects or more_zones:
                of_object = self._state.row_id(objects.key()) if more_objects else None
                of_zone = int.from_bytes(zones.key(), "big") if more_zones else None
                zone_id = min(number for number in (of_object, of_zone) if number is not None)
                if self._state.rows - begun > ROWS_AT_ONCE:
                    return zone_id
                self._entry(
                    main, zone_id, objects.value() if of_object == zone_id else None, is_ours=of_zone == zone_id
                )
                if of_object == zone_id:
                    more_objects = objects.next()
                if of_zone == zone_id:
                    more_zones = zones.next()
                self._state.rows += 1
                if not self._state.rows % ZONES_PER_STEP:
                    yield
        return None

    def zone(self, main: Any, records: Any, zone_id: int) -> None:
        """Check one zone's entry, in read transactions on both files at the same position."""
        value = main.get(self._schema.row_id_key(zone_id), db=self._main.tables[Dbi.DOMAINS])
        is_ours = running_digest(records, self._records, zone_id) is not None
        if value is not None or is_ours:
            self._entry(main, zone_id, value, is_ours=is_ours)

    def _entry(self, main: Any, zone_id: int, value: bytes | None, *, is_ours: bool) -> None:
        """Compare a zone's object and name with the expected ones."""
        if zone_id in OWN_ZONES:
            return
        if value is None:
            self._state.note(zone_id, "", NOT_LISTED)
            return
        name = self._state.name_in(value)
        if not is_ours:
            self._state.note(zone_id, name or "", FOREIGN)
            return
        if name is None or not self._is_listed(main, zone_id, name, value):
            self._state.note(zone_id, name or "", LISTED_WRONG)

    def _is_listed(self, main: Any, zone_id: int, name: str, value: bytes) -> bool:
        (_, object_key, object_body), (_, index_key, index_body) = self._schema.zone_rows(zone_id, name)
        if self._state.body_of(value) != object_body:
            return False
        if not self._leads(main, index_key, index_body):
            return False
        if self.digest is not None:
            self.digest += row_digest(Dbi.DOMAINS, object_key, object_body)
            self.digest += row_digest(Dbi.DOMAINS_INDEX, index_key, index_body)
        return True

    def _leads(self, main: Any, key: bytes, body: bytes) -> bool:
        """Return True if the index has the row that maps the zone's name to the zone."""
        table = self._main.tables[Dbi.DOMAINS_INDEX]
        if self._schema.has_header:
            value = main.get(key, db=table)
            return value is not None and self._state.body_of(value) == body
        with main.cursor(db=table) as cursor:
            return bool(cursor.set_key_dup(key, body))

    def names(self) -> Generator[None, None, bool]:
        """Check that every index row maps a zone's own name to it. Return False if the files have no common position.

        `walk` has found every zone's own name in the index. If the numbers of names and zones are equal, other names
        can't exist.
        """
        zones = count_rows(self._main, Dbi.DOMAINS)
        if count_rows(self._main, Dbi.DOMAINS_INDEX) == zones and not self._state.diverged:
            return True
        at: tuple[bytes, bytes] | None = (b"\0", b"")
        while at is not None:
            with self._state.at_rest() as pair:
                if pair is None:
                    return False
                at = yield from self._some_names(pair[0], at)
        return True

    def _some_names(self, main: Any, first: tuple[bytes, bytes]) -> Generator[None, None, tuple[bytes, bytes] | None]:
        with main.cursor(db=self._main.tables[Dbi.DOMAINS_INDEX]) as cursor:
            found = cursor.set_range_dup(*first) if first[1] else cursor.set_range(first[0])
            if first[1] and not found:  # behind the last duplicate of that name, or the name is gone
                found = cursor.set_range(first[0] + b"\0")
            count = 0
            while found:
                if count == ROWS_AT_ONCE:
                    return cursor.key(), b"" if self._schema.has_header else cursor.value()
                self._name(main, cursor.key(), cursor.value())
                found = cursor.next()
                count += 1
                if not count % ZONES_PER_STEP:
                    yield
        return None

    def _name(self, main: Any, key: bytes, value: bytes) -> None:
        try:
            if self._schema.has_header:
                name, zone_id = keys.decode_index_key(key)
            else:
                name, zone_id = keys.name_from_key(key), int.from_bytes(value, "little")
        except (BadBytes, BadName):
            self._state.note(0, "", f"a row of the list of zones cannot be read ({key.hex()[:40]})")
            return
        object_value = main.get(self._schema.row_id_key(zone_id), db=self._main.tables[Dbi.DOMAINS])
        if object_value is None:
            self._state.note(zone_id, name, NOT_LISTED)
        elif self._state.name_in(object_value) != name and zone_id not in self._state.diverged:
            self._state.note(0, name, "its name leads to another zone")
