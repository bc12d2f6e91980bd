"""Queries for pages, APIs and alerts: secondaries with their state, and one secondary's zones, sorted by name."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q

from dnspanel.accounts.actors.actors import Person
from dnspanel.database.sql import fetch_all
from dnspanel.secondaries.access import members_visible_to, secondaries_visible_to
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.models import Zone


@dataclass(frozen=True, slots=True)
class SecondaryRow:
    """A secondary in the list, with counts of its zones and the earliest `behind_since` of its zones."""

    secondary: Secondary
    zones: int
    behind: int
    behind_since: datetime | None
    differing: int  # number of zones whose answers differ despite an equal serial

    def word(self, now: datetime) -> str:
        """Return the secondary's state: off, late, behind, differs, or in sync."""
        return _word(self.secondary, self.behind_since, now, differs=self.differing > 0)


@dataclass(frozen=True, slots=True)
class LateSecondary:
    """A secondary that has been silent, or behind with some zones, for longer than its `lag_bound`."""

    name: str
    zones: int
    first: str  # name of the zone that has been behind for longest
    behind_since: datetime | None
    silent_since: datetime | None
    secondary_id: int


@dataclass(frozen=True, slots=True)
class DifferingSecondary:
    """A secondary whose answers differ from some zones' content although the serials are equal."""

    name: str
    zones: int
    first: str  # name of the zone that has differed for longest
    since: datetime
    difference: str  # of the first zone
    secondary_id: int


_LATE = """
SELECT s.name, count(m.id), (array_agg(m.zone_name ORDER BY m.behind_since, m.zone_name))[1], min(m.behind_since),
    CASE WHEN s.silent_since <= %(now)s - make_interval(secs => s.lag_bound) THEN s.silent_since END,
    s.id
FROM secondaries_secondary s
LEFT JOIN secondaries_member m ON m.secondary_id = s.id AND m.until IS NULL
    AND m.behind_since <= %(now)s - make_interval(secs => s.lag_bound)
WHERE s.active GROUP BY s.id
HAVING count(m.id) > 0 OR s.silent_since <= %(now)s - make_interval(secs => s.lag_bound)
ORDER BY s.name"""


def late_secondaries(now: datetime) -> list[LateSecondary]:
    """Return the secondaries that have been behind or silent long enough for an alert, in one query."""
    return [
        LateSecondary(name, zones, first or "", *more) for name, zones, first, *more in fetch_all(_LATE, {"now": now})
    ]


_DIFFERING = """
SELECT DISTINCT ON (s.name) s.name, count(*) OVER (PARTITION BY s.id), m.zone_name, m.differs_since, m.difference,
    s.id
FROM secondaries_secondary s JOIN secondaries_member m ON m.secondary_id = s.id AND m.until IS NULL
WHERE s.active AND m.differs_since IS NOT NULL
ORDER BY s.name, m.differs_since, m.zone_name"""


def differing_secondaries() -> list[DifferingSecondary]:
    """Return the secondaries whose answers differ from the content of at least one zone, in one query."""
    return [DifferingSecondary(*row) for row in fetch_all(_DIFFERING)]


def gets_all_of(secondary: Secondary, zone: Zone) -> bool:
    """Return True if the next transfer must be complete because the secondary's answers differ from the zone."""
    return Member.objects.filter(secondary=secondary, zone=zone, until=None, differs_since__isnull=False).exists()


def is_late(secondary: Secondary, behind_since: datetime, now: datetime) -> bool:
    """Return True if the secondary has been behind for longer than its `lag_bound`."""
    return now - behind_since > timedelta(seconds=secondary.lag_bound)


def state_of(secondary: Secondary, member: Member, now: datetime) -> tuple[str, int]:
    """Return the member zone's state, and the number of seconds that the zone has been behind."""
    word = _word(secondary, member.behind_since, now, differs=member.differs_since is not None)
    if not secondary.active or member.behind_since is None:
        return word, 0
    return word, max(0, int((now - member.behind_since).total_seconds()))


def secondary_rows(person: Person) -> list[SecondaryRow]:
    """Return all secondaries that the person can see, sorted by name. Needs two queries."""
    found = list(secondaries_visible_to(person).order_by("name"))
    return _rows(found)


def secondary_row(secondary: Secondary) -> SecondaryRow:
    """Return the summary of one secondary for the list."""
    return _rows([secondary])[0]


def members_page(
    person: Person, secondary: Secondary, *, search: str = "", behind: bool = False, after: str = "", limit: int = 50
) -> list[Member]:
    """Return a page of the secondary's zones that the person can see, starting after the name `after`.

    `search` is a prefix of the zones' names. `behind` selects only zones that are behind.
    """
    members = members_visible_to(person, secondary).select_related("zone").order_by("zone_name")
    if search:
        members = members.filter(zone_name__startswith=search)
    if behind:
        members = members.filter(behind_since__isnull=False)
    return list((members.filter(zone_name__gt=after) if after else members)[:limit])


def _word(secondary: Secondary, behind_since: datetime | None, now: datetime, *, differs: bool) -> str:
    if not secondary.active:
        return "off"
    if behind_since is None:
        return "differs" if differs else "in sync"
    return "late" if is_late(secondary, behind_since, now) else "behind"


def _rows(secondaries: list[Secondary]) -> list[SecondaryRow]:
    behind = Q(behind_since__isnull=False)
    counted = (
        Member.objects.filter(secondary__in=secondaries, until=None)
        .order_by()
        .values("secondary")
        .annotate(
            members=Count("pk"),
            late=Count("pk", filter=behind),
            first=Min("behind_since"),
            differing=Count("pk", filter=Q(differs_since__isnull=False)),
        )
    )
    by_id = {row["secondary"]: (row["members"], row["late"], row["first"], row["differing"]) for row in counted}
    return [SecondaryRow(each, *by_id.get(each.pk, (0, 0, None, 0))) for each in secondaries]
