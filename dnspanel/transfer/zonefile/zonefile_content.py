"""Store a zone file's RRsets by record key, with each RRset's place in the file.

A record key is the owner's relative key, a zero byte and the type. Sorted record keys are in the order in which RRsets
are stored. A *place* is a number that `Sheet` and `Reader` convert to a path and a line.
"""

from collections.abc import Iterable

from dnspanel.transfer.documents import ReadyRRset
from replication.codec.keys import name_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import MAX_MESSAGE, Notes, format_notes, notes_of_values

# The size of a DNS message's header, question and OPT, and the size that a record adds to its rdata (see
# `replication.dns.rrset`).
_MESSAGE_OVERHEAD = 12 + 4 + 11
RECORD_OVERHEAD = 12
# If the rdata plus 16 bytes per record is below this, the RRset certainly fits.
_SURELY_FITS = 60_000
_ready = tuple.__new__


def type_tail(type: int) -> bytes:
    """Return the part of a record key after the owner's key."""
    return b"\0" + type.to_bytes(2, "big")


TAIL_A, TAIL_NS, TAIL_CNAME, TAIL_SOA, TAIL_AAAA = map(
    type_tail, (rdtypes.A, rdtypes.NS, rdtypes.CNAME, rdtypes.SOA, rdtypes.AAAA)
)
APEX = b"\0"


class Content:
    """One zone's RRsets while its file is read.

    Until `finish` is called, `sets` has only each RRset's first record. `more` has other records, keyed by wire form.
    """

    __slots__ = (
        "aliases",
        "comments",
        "disabled",
        "duplicates",
        "has_doubtful_caa",
        "hosts",
        "low_ttls",
        "more",
        "notes",
        "other_ttls",
        "places",
        "sets",
        "special",
        "too_large",
        "zone",
        "zone_key",
    )

    def __init__(self, zone: str) -> None:
        self.zone = zone
        # The key prefix of names that end with the zone's name twice: `www.example.test.example.test.`.
        self.zone_key = name_key(zone)
        self.sets: dict[bytes, ReadyRRset] = {}
        self.places: dict[bytes, int] = {}
        self.more: dict[bytes, dict[bytes, tuple[str, int]]] = {}
        self.comments: dict[bytes, dict[str, None]] = {}
        self.disabled: dict[bytes, set[bytes]] = {}
        self.notes: dict[bytes, tuple[Notes, int]] = {}
        # Keys of names inside the zone that are targets of records. `hosts` must have addresses, `aliases` need not.
        self.hosts: set[bytes] = set()
        self.aliases: set[bytes] = set()
        # RRsets that the quick check cannot judge.
        self.special: set[bytes] = set()
        self.low_ttls: set[bytes] = set()
        # True if the rules must check the CAA records.
        self.has_doubtful_caa = False
        self.duplicates: list[int] = []
        self.other_ttls: dict[bytes, tuple[int, int]] = {}
        self.too_large: list[bytes] = []

    def add(self, rrset: ReadyRRset, place: int, *, disabled: bool = False) -> bytes:
        """Add an RRset with one record, and return its record key."""
        key = rrset.key + type_tail(rrset.type)
        text, wire = rrset.texts[0], rrset.wires[0]
        if disabled:
            known = self.more.get(key) or self.sets.get(key, rrset).wires
            if key not in self.sets or wire not in known:
                self.disabled.setdefault(key, set()).add(wire)
        if key in self.sets:
            self.add_to(key, rrset.ttl, text, wire, place, disabled=disabled)
        else:
            self.sets[key] = rrset
            self.places[key] = place
            if len(wire) > MAX_MESSAGE // 2 and _size(rrset.name, (wire,)) > MAX_MESSAGE:
                self.too_large.append(key)
        return key

    def add_to(self, key: bytes, ttl: int, text: str, wire: bytes, place: int, *, disabled: bool = False) -> None:
        """Add a record to an RRset. For a duplicate, only store its place, or enable the record if it is disabled."""
        first = self.sets[key]
        known = self.more.get(key)
        if known is None:
            known = self.more[key] = {first.wires[0]: (first.texts[0], self.places[key])}
        if wire not in known:
            known[wire] = (text, place)
        elif not disabled and wire in self.disabled.get(key, ()):
            self.disabled[key].discard(wire)
        else:
            self.duplicates.append(place)
        if ttl != first.ttl:
            self.other_ttls.setdefault(key, (ttl, place))

    def comment(self, key: bytes, text: str) -> None:
        self.comments.setdefault(key, {})[text] = None

    def note(self, key: bytes, notes: Notes, place: int) -> None:
        """Record tags and value comments for an RRset, even if the RRset comes later in the file."""
        known = self.notes.get(key)
        self.notes[key] = (notes if known is None else known[0].merge_with(notes), place)

    def remove(self, key: bytes) -> None:
        self.sets.pop(key, None)
        self.places.pop(key, None)
        self.more.pop(key, None)
        self.comments.pop(key, None)
        self.disabled.pop(key, None)
        self.notes.pop(key, None)
        self.other_ttls.pop(key, None)
        self.special.discard(key)
        self.low_ttls.discard(key)

    def finish(self) -> list[bytes]:
        """Complete every RRset with its records (sorted by wire form), comment and notes. Return sorted record keys."""
        sets = self.sets
        for key, known in self.more.items():
            self._unite_capitals(key, known)
            if len(known) > 1:
                wires = tuple(sorted(known))
                name, owner, type_, ttl, _, _, disabled, comment, notes = sets[key]
                texts = tuple([known[wire][0] for wire in wires])
                sets[key] = _ready(ReadyRRset, (name, owner, type_, ttl, texts, wires, disabled, comment, notes))
                if len(b"".join(wires)) + 16 * len(wires) > _SURELY_FITS and _size(name, wires) > MAX_MESSAGE:
                    self.too_large.append(key)
        for key, off in self.disabled.items():
            rrset = sets[key]
            texts = tuple(text for text, wire in zip(rrset.texts, rrset.wires, strict=True) if wire in off)
            sets[key] = rrset._replace(disabled=texts)
        for key, comments in self.comments.items():
            if key in sets:
                sets[key] = sets[key]._replace(comment="; ".join(comments))
        for key, (noted, _) in self.notes.items():
            if key in sets:
                kept = notes_of_values(noted, sets[key].type, sets[key].texts)
                sets[key] = sets[key]._replace(notes=format_notes(kept))
        return sorted(sets)

    def _unite_capitals(self, key: bytes, known: dict[bytes, tuple[str, int]]) -> None:
        """Remove records that differ from earlier ones only in the case of names, which DNS treats as duplicates.

        The record that stays is disabled only if all its duplicates are disabled.
        """
        type_ = self.sets[key].type
        if type_ not in rdata.WITH_NAMES:
            return
        joined = "".join([text for text, _ in known.values()])
        if joined == joined.lower():
            return
        first: dict[str, bytes] = {}
        for wire, (text, place) in list(known.items()):
            same = first.setdefault(rdata.fold(type_, text), wire)
            if same == wire:
                continue
            del known[wire]
            self.duplicates.append(place)
            off = self.disabled.get(key, set())
            if wire not in off:
                off.discard(same)
            off.discard(wire)

    def misplaced_notes(self) -> list[int]:
        """Return the places of notes on RRsets or values that do not exist. Call this method after `finish`."""
        found = []
        for key, (notes, place) in self.notes.items():
            rrset = self.sets.get(key)
            stay = notes if rrset is None else notes_of_values(notes, rrset.type, rrset.texts)
            if rrset is None or len(stay.comments) != len(notes.comments):
                found.append(place)
        return found

    def place_of(self, key: bytes, wire: bytes | None = None) -> int:
        """Return the place of an RRset's first record, or of the record with this wire form."""
        if wire is not None and key in self.more:
            return self.more[key][wire][1]
        return self.places.get(key, 0)


def _size(name: str, wires: Iterable[bytes]) -> int:
    return _MESSAGE_OVERHEAD + len(names.to_wire(name)) + sum([len(wire) + RECORD_OVERHEAD for wire in wires])
