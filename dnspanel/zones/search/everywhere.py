"""Search RRsets in all zones that a person can see, with a limited amount of work for each page."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Left, Length

from dnspanel.accounts.actors.actors import Person
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import SearchText, Zone
from dnspanel.zones.rights.access import Visibility, visibility_of, zones_seen_by, zones_visible_to
from dnspanel.zones.search import rrset_conditions, search_texts, warned_zones, zone_conditions
from dnspanel.zones.search.rrset_conditions import Rows, in_comment, in_name, in_values
from dnspanel.zones.search.terms import Search, Term
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns import names
from replication.dns.rrset import RRset
from replication.errors import BadName

MOST_COMPARED = 20_000  # RRsets, in a tenth of a second
# Most pages are filled from the first blocks. If more blocks are needed, more are read at a time.
_FEWEST_BLOCKS, _MOST_BLOCKS = 50, 1_600
_OF_BLOCK = 500  # RRsets in a block of a large zone, approximately


class Place(NamedTuple):
    """An RRset's position in the order of results: by zone id, then by name and type."""

    zone_id: int
    owner_key: bytes
    type: int

    def to_text(self) -> str:
        """Format the position for a URL."""
        return f"{self.zone_id}-{self.owner_key.hex()}-{self.type}"


BEFORE_ALL = Place(0, b"", 0)
_BEHIND_ALL_TYPES = 65_536


@dataclass(frozen=True, slots=True)
class Found:
    """An RRset that the search found, with its zone and position. `complaint` is set only for `has:warning`."""

    zone: Zone
    rrset: RRset
    place: Place
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of found RRsets, and the position after which the next page begins (None on the last page).

    If the limit on work ended the page, `looked_to` is the last searched zone. More results can follow even if the page
    has few rows. The newest publications of `left_out` zones were not searched, and those of `unchecked` zones were not
    checked for complaints.
    """

    rows: tuple[Found, ...]
    next_after: Place | None
    looked_to: str = ""
    left_out: int = 0
    unchecked: int = 0


class _Block(NamedTuple):
    zone_id: int
    first_key: bytes
    end_key: bytes | None
    rrsets: int


def place_of(text: str) -> Place:
    """Parse a position from a URL. Return BEFORE_ALL if the text is invalid."""
    zone_id, _, rest = text.partition("-")
    key, _, type_ = rest.partition("-")
    try:
        place = Place(int(zone_id), bytes.fromhex(key), int(type_))
    except ValueError:
        return BEFORE_ALL
    return place if 0 <= place.zone_id < 2**31 and 0 <= place.type <= _BEHIND_ALL_TYPES else BEFORE_ALL


def rrsets_found(
    *, person: Person, search: Search, now: datetime, after: Place = BEFORE_ALL, limit: int = 50
) -> FoundPage:
    """Return a page of RRsets that match the search, in zones that the person can see.

    The page is empty if the search has faults or no terms. A word that is only in the zone's name finds the zone, not
    its RRsets. Raise SearchTooGeneral for `has:warning` if the first check of all RRsets has not finished.
    """
    if not search.terms or search.faults:
        return FoundPage((), None)
    warned_zones.refuse_unless_known(search)
    known = zones_seen_by(person)
    page = _page(person, known, search, now, after, limit)
    if not search.warnings:
        return page
    messages = warned_zones.messages_about([row.place for row in page.rows], known)
    rows = tuple(replace(row, complaint=messages.get(row.place, "")) for row in page.rows)
    return replace(page, rows=rows, unchecked=warned_zones.unchecked_zones(search))


def _page(
    person: Person, known: "QuerySet[Zone]", search: Search, now: datetime, after: Place, limit: int
) -> FoundPage:
    progress = search_texts.progress()
    zones = zone_conditions.fitting(zones_visible_to(person), Search(search.about_zones_alone), now=now)
    warned = None
    if any(not term.negated for term in search.warnings):
        zones, warned = zones.filter(warned_zones.zones_with(known)), warned_zones.blocks_with(known)
    is_seen = _Seen(person)
    rows: list[Found] = []
    compared, count = 0, _FEWEST_BLOCKS
    while True:
        ahead = _blocks(zones, search, progress, after, count, warned)
        blocks = _first_of(ahead, MOST_COMPARED - compared)
        wanted = limit + 1 - len(rows)
        fitting = list(_rows(blocks, search, after, known)[:wanted]) if blocks else []
        for row in fitting:
            after = Place(row.zone_id, bytes(row.owner_key), row.type)
            if is_seen(row.zone, row.name, row.type):
                rows.append(Found(row.zone, rrset_of(row), after))
        if len(rows) > limit:
            return FoundPage(tuple(rows[:limit]), rows[limit - 1].place, left_out=progress.left_out)
        if len(fitting) < wanted:
            if len(ahead) < count and len(blocks) == len(ahead):
                return FoundPage(tuple(rows), None, left_out=progress.left_out)
            after = _behind(blocks[-1])
        compared += sum(block.rrsets for block in blocks)
        if compared >= MOST_COMPARED:
            return FoundPage(tuple(rows), after, _name_of(blocks[-1]), progress.left_out)
        count = min(4 * count, _MOST_BLOCKS)


def _blocks(
    zones: "QuerySet[Zone]", search: Search, progress: search_texts.Progress, after: Place, count: int, warned: Q | None
) -> list[_Block]:
    """Return up to `count` of the next blocks that can have matching RRsets, in the order of results.

    A zone without search texts is one block. While the first search texts are written, this applies to all zones.
    """
    if not progress.is_complete:
        ahead = zones.filter(pk__gte=after.zone_id).order_by("pk")
        return [_Block(pk, b"", None, n) for pk, n in ahead.values_list("pk", "rrset_count")[:count]]
    found = []
    if progress.without_texts:
        ahead = zones.filter(pk__in=progress.without_texts, pk__gte=after.zone_id)
        found = [_Block(pk, b"", None, n) for pk, n in ahead.values_list("pk", "rrset_count")]
    behind = Q(zone__gt=after.zone_id) | Q(zone=after.zone_id, end_key=None)
    rows = SearchText.objects.filter(
        behind | Q(zone=after.zone_id, end_key__gt=after.owner_key), zone__in=zones.values("pk")
    )
    may_hold = search_texts.may_hold(search.terms)
    if may_hold is not None:
        rows = rows.filter(may_hold | Q(zone__in=progress.new_zones))
    if warned is not None:
        rows = rows.filter(warned)
    ordered = rows.order_by("zone_id", "first_key")
    for zone_id, first, end, n in ordered.values_list("zone_id", "first_key", "end_key", "zone__rrset_count")[:count]:
        found.append(_Block(zone_id, bytes(first), None if end is None else bytes(end), min(n, _OF_BLOCK)))
    return sorted(found)[:count]


def _first_of(blocks: list[_Block], most: int) -> list[_Block]:
    """Return the first blocks that together have at least `most` RRsets, or all blocks if they have fewer."""
    total = 0
    for count, block in enumerate(blocks, start=1):
        total += block.rrsets
        if total >= most:
            return blocks[:count]
    return blocks


def _rows(blocks: list[_Block], search: Search, after: Place, known: "QuerySet[Zone]") -> "QuerySet[StoredRRset]":
    """Select the RRsets in the blocks that match the search after a position, in the order of results."""
    complete = []
    within = Q()
    for zone_id, first_key, end_key in _ranges(blocks):
        if zone_id != after.zone_id and not first_key and end_key is None:
            complete.append(zone_id)
            continue
        part = Q(zone=zone_id, owner_key__gte=first_key)
        if end_key is not None:
            part &= Q(owner_key__lt=end_key)
        if zone_id == after.zone_id:  # with this condition on all zones, PostgreSQL would read the full index
            part &= Q(pk__gt=tuple(after))
        within |= part
    rows = StoredRRset.objects.filter(within | Q(zone__in=complete))
    rows = by_more_than_the_zone(rrset_conditions.fitting(rows, search, known), search.words)
    # Ordering by a plain zone_id would make PostgreSQL read all RRsets in this order, so order by a sum.
    return rows.select_related("zone").order_by(F("zone_id") + 0, "owner_key", "type")


def _ranges(blocks: list[_Block]) -> list[tuple[int, bytes, bytes | None]]:
    """Convert the blocks to ranges (zone id, first key, end key). Merge consecutive blocks."""
    ranges: list[tuple[int, bytes, bytes | None]] = []
    for block in blocks:
        if ranges and ranges[-1][0] == block.zone_id and ranges[-1][2] == block.first_key:
            ranges[-1] = (block.zone_id, ranges[-1][1], block.end_key)
        else:
            ranges.append((block.zone_id, block.first_key, block.end_key))
    return ranges


def by_more_than_the_zone(rows: Rows, words: tuple[Term, ...]) -> Rows:
    """Select RRsets that match a positive word themselves, not only through their zone's name.

    Select all if the search has no positive words, or if one of them is an address or a network.
    """
    words = tuple(word for word in words if not word.negated)
    if not words or not all(isinstance(word.meaning, str) for word in words):
        return rows
    found = Q()
    for text in (word.text for word in words):
        found |= in_name(text, "own_name") | in_values(text) | in_comment(text)
        found |= in_name(text) & ~in_name(text, "zone__name")
        with suppress(BadName):
            found |= Q(name=names.parse(text))
    return rows.alias(own_name=Left("name", Length("name") - Length("zone__name"))).filter(found)


def _behind(block: _Block) -> Place:
    return Place(block.zone_id + 1, b"", 0) if block.end_key is None else Place(block.zone_id, block.end_key, 0)


def _name_of(block: _Block) -> str:
    return Zone.objects.values_list("name", flat=True).get(pk=block.zone_id)


class _Seen:
    """A callable that returns True if the person can see an RRset of a visible zone. Caches the rights in each zone."""

    def __init__(self, person: Person) -> None:
        self._person = person
        self._of_zone: dict[int, Visibility | None] = {}

    def __call__(self, zone: Zone, name: str, type: int) -> bool:
        if zone.pk not in self._of_zone:
            self._of_zone[zone.pk] = visibility_of(self._person, zone)
        visibility = self._of_zone[zone.pk]
        return visibility is None or visibility(name, type)
