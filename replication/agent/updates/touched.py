"""Collect the zones and names that a push touched, for purging and querying."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from replication import verify
from replication.agent.updates.purge import MAX_ZONES
from replication.agent.updates.stale import ZoneChange, changes_in
from replication.codec.keys import zone_prefix
from replication.store.store import Store
from replication.verify_names import ChangedNames
from replication.wire.operations import ZoneMark
from replication.wire.segment import Segment

# Up to this many names are purged one by one; beyond that, their zones are purged.
MAX_STALE_NAMES = 1_000


def no_zone(prefix: bytes) -> bool:
    """Return False for every prefix, as the default filter, which excludes no zone."""
    return False


class Touched:
    """The zones and rows that a push touched: zones to purge, and a limited selection to verify."""

    def __init__(self) -> None:
        self.zones: set[str] = set()
        self.appeared: set[str] = set()  # zones that can be new to PowerDNS
        self.changes: dict[str, ZoneChange] = {}  # of zones whose names can be purged singly
        self.everything = False  # too many zones to name
        self.marks: verify.EvenSample[ZoneMark] = verify.EvenSample()
        self.keys: verify.EvenSample[bytes] = verify.EvenSample()
        self.names = ChangedNames()
        self.signed: list[ZoneMark] = []  # zones whose signatures must be validated, other than marked ones

    @classmethod
    def sample_of(cls, store: Store) -> "Touched":
        """Return a sample of the whole store: some zones with keys, and zones from the whole range of ids."""
        touched = cls()
        touched.everything = True
        for name in store.zones_with_keys():
            if (zone_id := store.zone_id(name)) is not None:
                touched.signed.append(ZoneMark(zone_id, name, 0))
        for first in (1 << power for power in range(31)):
            for zone in store.zones_from(first, limit=1):
                touched.marks.add(ZoneMark(zone.zone_id, zone.name, zone.serial))
                touched.appeared.add(zone.name)
        return touched

    def add_changes(self, segment: Segment, store: Store) -> None:
        """Add a segment's marks (`add_marks`) and the changed names of its zones, before the segment is applied."""
        known = set(self.zones)
        marks = self.add_marks(segment)
        if self._is_beyond_names:
            return
        changes = {change.name: change for change in changes_in(segment, marks, store)}
        for mark in marks:
            self._merge(mark.name, changes.get(mark.name), is_first=mark.name not in known)

    def add_keys(self, record_keys: Sequence[bytes]) -> None:
        self.keys.extend(record_keys)
        self.names.extend(record_keys)

    def add_marks(self, segment: Segment) -> list[ZoneMark]:
        """Add a segment's zones and return their marks.

        If the segment has more than MAX_ZONES zones, add only as many as can be verified.
        """
        self.everything |= segment.mark_count > MAX_ZONES
        every = -(-segment.mark_count // verify.MAX_QUESTIONS) if segment.mark_count > MAX_ZONES else 1
        marks = list(segment.marks(every))
        for mark in marks:
            if len(self.zones) <= MAX_ZONES:
                self.zones.add(mark.name)
            if segment.main_op_count and mark.serial is not None and len(self.appeared) <= MAX_ZONES:
                self.appeared.add(mark.name)
            self.marks.add(mark)
        return marks

    def add(self, other: "Touched") -> None:
        """Add another push's zones and rows. All zones of both pushes are then purged with all their names."""
        self.everything |= other.everything
        for names, more in ((self.zones, other.zones), (self.appeared, other.appeared)):
            names |= set(islice(more - names, max(0, MAX_ZONES + 1 - len(names))))
        self.marks.extend(other.marks.items)
        self.keys.extend(other.keys.items)
        self.names.add(other.names)
        self.signed += other.signed
        self.changes.clear()

    def _merge(self, zone: str, change: ZoneChange | None, *, is_first: bool) -> None:
        """Merge a change into the zone's earlier changes. Single names are purged only if every segment allows it."""
        before = self.changes.pop(zone, None)
        if change is not None and (before is not None or is_first):
            self.changes[zone] = before.followed_by(change) if before else change

    @property
    def _is_beyond_names(self) -> bool:
        """True if everything has to be purged, because more than MAX_ZONES zones were touched."""
        return self.everything or len(self.zones) > MAX_ZONES

    def stale(self, store: Store) -> tuple[set[str], set[str]]:
        """Return the zones to purge with all their names, and the single names to purge in other zones."""
        if self._is_beyond_names:
            return self.zones, set()
        zones, names = set(self.zones), set[str]()
        for zone, change in self.changes.items():
            stale = change.stale_names(store)
            if stale is not None and len(names) + len(stale) <= MAX_STALE_NAMES:
                zones.discard(zone)
                names.update(stale)
        return zones, names

    def selection(self, without: Callable[[bytes], bool] = no_zone) -> tuple[list[ZoneMark], list[bytes]]:
        """Return the zones and rows to query. `without` excludes zones by their key prefix.

        A few queries are enough, because they only show that PowerDNS answers from the files. Other steps prove the
        rest: the digest proves that every row is right, the position proves that PowerDNS reads these files, and the
        purge removes older data from PowerDNS.
        """
        every = verify.MAX_QUESTIONS // verify.FEW_QUESTIONS if self.everything else 1
        marks = [mark for mark in self.marks.items[::every] if not without(zone_prefix(mark.zone_id))]
        return marks, [key for key in self.keys.items[::every] if not without(key[:4])]

    def changed_names(self, most_plain: int, without: Callable[[bytes], bool] = no_zone) -> Iterator[bytes]:
        """Yield the row key of each name to query (see `ChangedNames.selection`). `without` excludes zones."""
        return (key for key in self.names.selection(most_plain) if not without(key[:4]))
