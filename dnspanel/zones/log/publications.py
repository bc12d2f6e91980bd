"""List everyone's publications, newest first, in the zones that a user is allowed to see.

The log is read backward by primary key. If most publications could be filtered out, a page examines at most
MOST_LOOKED_THROUGH of them and reports how far back it searched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, QuerySet, Sum

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.accounts.actors.find_people import has_username
from dnspanel.database.field_copies import copy_fields
from dnspanel.zones.models import Publication, Revision, RevisionKind, Zone
from dnspanel.zones.rights.access import zones_within_reach
from dnspanel.zones.store.find_zones import has_name
from replication.dns import names
from replication.errors import BadName

MOST_LOOKED_THROUGH = 5_000
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class PublicationFilters:
    """Filters for publications: author, channel, full zone name, and time (`since` inclusive, `until` exclusive)."""

    author: str = ""
    channel: str = ""
    zone: str = ""
    since: datetime | None = None
    until: datetime | None = None


EVERYBODY = PublicationFilters()


@dataclass(frozen=True, slots=True)
class PublicationRow:
    """A publication, with its changes in the zones that the reader is allowed to see."""

    sequence: int
    at: datetime
    by: str
    channel: str
    reason: str
    failed_reason: str
    zones: int
    named: tuple[str, ...]  # the names of all zones, if there are at most MOST_NAMED; otherwise empty
    kind: str  # the label of the revision's kind, if there is only one revision and it isn't a CHANGE
    added: int
    changed: int
    removed: int

    @property
    def more(self) -> int:
        """The number of changed zones that aren't listed by name."""
        return self.zones - len(self.named)


@dataclass(frozen=True, slots=True)
class PublicationPage:
    """A page of publications. The next page starts below the sequence `next_before` (None on the last page).

    If the search stopped before the page was full, `looked_until` is the time of the oldest publication examined.
    """

    rows: tuple[PublicationRow, ...]
    next_before: int | None
    looked_until: datetime | None = None


def publication_page(
    *, person: Person, filters: PublicationFilters = EVERYBODY, before: int | None = None, limit: int = 50
) -> PublicationPage:
    """Return a page of publications with sequences below `before` (None: no bound).

    Makes at most six queries. A filter by time needs one more query for each step of a binary search.
    """
    seen = _Seen(person)
    found = _filter_publications(filters, seen)
    if found is None:
        return PublicationPage((), None)
    newest = Publication.objects.aggregate(last=Max("sequence"))["last"] or 0
    top = min(newest + 1, before or newest + 1, *([_first_since(filters.until, newest)] if filters.until else []))
    bottom = _first_since(filters.since, newest) if filters.since else 1
    floor = bottom if found.is_dense else max(bottom, top - MOST_LOOKED_THROUGH)
    window = found.publications.filter(sequence__lt=top, sequence__gte=floor)
    page = list(window.select_related("author", "token").order_by("-sequence")[: limit + 1])
    rows = _rows(page[:limit], seen)
    if len(page) > limit:
        return PublicationPage(rows, page[limit - 1].sequence)
    if floor <= bottom:
        return PublicationPage(rows, None)
    looked = Publication.objects.filter(sequence__gte=floor).order_by("sequence").values_list("at", flat=True).first()
    return PublicationPage(rows, floor, looked)


class _Seen:
    """The zones whose publications a user can see, including deleted zones."""

    def __init__(self, person: Person) -> None:
        self._person = person
        actor = actor_of(person)
        self.is_everything = actor is not None and actor.may_everywhere(Right.READ)

    def zones(self) -> QuerySet[Zone]:
        return zones_within_reach(self._person, Right.READ)


@dataclass(frozen=True, slots=True)
class _Found:
    """The matching publications. `is_dense` is True if most of the log matches, or if an index finds the matches."""

    publications: QuerySet[Publication]
    is_dense: bool


def _filter_publications(filters: PublicationFilters, seen: _Seen) -> _Found | None:
    """Return the matching publications. Return None if the filter's zone doesn't exist or isn't visible."""
    found, is_dense = Publication.objects.all(), seen.is_everything
    if filters.zone:
        zones = _zones_called(filters.zone, seen)
        if not zones:
            return None
        found, is_dense = found.filter(pk__in=Revision.objects.filter(zone__in=zones).values("publication")), True
    elif not seen.is_everything:
        found = found.filter(Exists(Revision.objects.filter(publication=OuterRef("pk"), zone__in=seen.zones())))
    if filters.author:
        found, is_dense = found.filter(has_username(filters.author, "author__")), is_dense and bool(filters.zone)
    if filters.channel:
        found, is_dense = found.filter(channel=filters.channel), is_dense and bool(filters.zone)
    return _Found(found, is_dense)


def _zones_called(name: str, seen: _Seen) -> list[int]:
    """Return the ids of visible zones with this name, including zones in the trash."""
    try:
        canonical = names.parse(name)
    except BadName:
        return []
    return list(seen.zones().filter(has_name(canonical)).values_list("pk", flat=True))


def _first_since(moment: datetime, newest: int) -> int:
    """Return the first sequence published at or after `moment`, or the sequence after the newest one.

    Times increase along the log, so a binary search finds the sequence. Each step is one lookup by primary key.
    """
    low, high = 1, newest + 1
    while low < high:
        middle = (low + high) // 2
        at = Publication.objects.filter(sequence__gte=middle).order_by("sequence").values_list("at", flat=True).first()
        if at is not None and at < moment:
            low = middle + 1
        else:
            high = middle
    return low


def _rows(page: Sequence[Publication], seen: _Seen) -> tuple[PublicationRow, ...]:
    """Return publications as list rows. Makes at most two queries."""
    if not page:
        return ()
    revisions = Revision.objects.filter(publication__in=[row.sequence for row in page])
    if not seen.is_everything:
        revisions = revisions.filter(zone__in=seen.zones())
    counted: dict[int, Mapping[str, Any]] = {
        row["publication"]: row
        for row in revisions.values("publication")
        .order_by("publication")
        .annotate(
            zones=Count("pk"), first=Max("kind"), added=Sum("added"), changed=Sum("changed"), removed=Sum("removed")
        )
    }
    few = [sequence for sequence, row in counted.items() if row["zones"] <= MOST_NAMED]
    named: dict[int, list[str]] = {}
    for sequence, name in revisions.filter(publication__in=few).order_by("pk").values_list("publication", "zone__name"):
        named.setdefault(sequence, []).append(name)
    return tuple(_row(row, counted.get(row.sequence, {}), tuple(named.get(row.sequence, ()))) for row in page)


def _row(publication: Publication, counts: Mapping[str, Any], named: tuple[str, ...]) -> PublicationRow:
    kind = str(counts.get("first", "")) if counts.get("zones") == 1 else ""
    return copy_fields(
        PublicationRow,
        publication,
        named=named,
        kind=str(RevisionKind(kind).label) if kind and kind != RevisionKind.CHANGE else "",
        **{name: int(counts.get(name, 0)) for name in ("zones", "added", "changed", "removed")},
    )
