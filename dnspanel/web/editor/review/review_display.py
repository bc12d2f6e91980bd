"""Prepare the review page's changes, divided into pages, and its checks and effects for display."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dnspanel.fleet.reads.node_counts import NodeCounts, count_nodes
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.web.editor.lines.rrset_form import RRsetForm
from dnspanel.web.editor.review.conflicts import DisplayConflict, display_conflicts
from dnspanel.web.editor.review.review_call import ApiCall, call_of
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.web.frame.rows import capitalize, rrset_query
from dnspanel.zones.log.history import diff
from dnspanel.zones.plan.plan import ZonePlan
from replication.dns import rdata
from replication.dns.rrset import Change, RRset

# Changes on one page, and listed violations with the same code. A draft can have 20,000 of each.
CHANGES_PER_PAGE = 200
MOST_LISTED = 20


@dataclass(frozen=True, slots=True)
class DisplayCheck:
    """Violations with the same code, which share a checkbox: the first ones, and the number of the others."""

    code: str
    severity: str
    violations: tuple["LinkedViolation", ...]
    more: int = 0

    @property
    def count(self) -> int:
        """The total number of violations, listed or not."""
        return len(self.violations) + self.more


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the review's changes. Page numbers start at 1."""

    number: int
    total: int

    @property
    def last(self) -> int:
        return max(1, -(-self.total // CHANGES_PER_PAGE))

    @property
    def begin(self) -> int:
        """The number of changes on earlier pages."""
        return (self.number - 1) * CHANGES_PER_PAGE

    @property
    def end(self) -> int:
        """The number of changes on this page and earlier pages."""
        return min(self.total, self.begin + CHANGES_PER_PAGE)

    @property
    def first_change(self) -> int:
        """The number of the first change on the page."""
        return self.begin + 1

    @property
    def previous(self) -> int:
        """The number of the previous page, or 0 on the first page."""
        return self.number - 1

    @property
    def next(self) -> int:
        """The number of the next page, or 0 on the last page."""
        return self.number + 1 if self.number < self.last else 0


@dataclass(frozen=True, slots=True)
class LinkedViolation:
    """A violation with a link to the RRset's row, as a zone and a URL query."""

    message: str
    zone: str
    query: str


@dataclass(frozen=True, slots=True)
class DisplayPlan:
    """One zone's changes and conflicts in the review."""

    plan: ZonePlan
    diffs: list[DisplayDiff]
    conflicts: list[DisplayConflict]
    already_so: list[DisplayDiff]
    next_revision: int
    call: ApiCall | None  # None unless the page shows API calls
    conflicts_left_out: int


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of publishing: the number of changed names, the nodes, and the caching of old data by resolvers.

    Old data can stay in caches until `old_until`, because the replaced RRset `old_name` has the highest TTL, `old_ttl`.
    """

    names: int
    nodes: NodeCounts
    old_until: datetime | None
    old_ttl: int
    old_name: str
    missing_ttl: int  # seconds that resolvers can cache the nonexistence of an added name


def page_of(text: str, total: int) -> Page:
    """Return the requested page, or the nearest page that exists."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 1
    return Page(min(max(1, number), Page(1, total).last), total)


def displayed_plans(
    plans: Sequence[ZonePlan], page: Page, resolving: RRsetForm | None, resolving_id: int, *, as_call: bool
) -> Iterator[DisplayPlan]:
    """Yield this page's zones with changes, with API calls if `as_call`. Page 1 also has the zones' conflicts."""
    before = 0
    for plan in plans:
        changes = [*plan.changes, *plan.already_so]
        begin, end = max(0, page.begin - before), max(0, page.end - before)
        before += len(changes)
        conflicts = plan.conflicts if page.number == 1 else ()
        if changes[begin:end] or conflicts:
            yield DisplayPlan(
                plan=plan,
                diffs=[_display_change(plan.zone.name, change) for change in plan.changes[begin:end]],
                conflicts=display_conflicts(plan.zone, conflicts[:MOST_LISTED], resolving, resolving_id),
                already_so=[
                    _display_change(plan.zone.name, change)
                    for change in changes[max(begin, len(plan.changes)) : end]
                    if _shape(change)
                ],
                next_revision=plan.zone.revision + 1,
                call=call_of(plan, settings.PANEL_URL) if as_call else None,
                conflicts_left_out=max(0, len(conflicts) - MOST_LISTED),
            )


def _shape(change: Change) -> RRset | None:
    return change.after or change.before


def _display_change(zone: str, change: Change) -> DisplayDiff:
    return DisplayDiff(zone, diff(change))


def checks_of(plans: Sequence[ZonePlan]) -> list[DisplayCheck]:
    """Return the plans' violations, grouped by severity and code, in the order in which the plans list them."""
    grouped: dict[tuple[str, str], list[LinkedViolation]] = {}
    for plan in plans:
        for violation in plan.violations:
            linked = LinkedViolation(
                capitalize(violation.message, name=violation.name),
                plan.zone.name,
                rrset_query(violation.name, violation.type),
            )
            grouped.setdefault((violation.severity, violation.code), []).append(linked)
    return [
        DisplayCheck(code, severity, tuple(found[:MOST_LISTED]), max(0, len(found) - MOST_LISTED))
        for (severity, code), found in grouped.items()
    ]


def effect_of(plans: Sequence[ZonePlan], now: datetime) -> Effect:
    changes = [change for plan in plans for change in plan.changes]
    old = [change.before for change in changes if change.before is not None]
    slowest = max(old, key=lambda rrset: rrset.ttl, default=None)
    added_in = [plan for plan in plans if plan.added]
    return Effect(
        names=len({(plan.zone.pk, change.name) for plan in plans for change in plan.changes}),
        nodes=count_nodes((status.node, True) for status in watched_statuses(now=now)),
        old_until=now + timedelta(seconds=slowest.ttl) if slowest else None,
        old_ttl=slowest.ttl if slowest else 0,
        old_name=f"{slowest.name} {rdata.type_to_text(slowest.type)}" if slowest else "",
        missing_ttl=max((_negative_ttl(plan.soa_before) for plan in added_in), default=0),
    )


def _negative_ttl(soa: RRset | None) -> int:
    """Return the negative-caching TTL (RFC 2308): the lower of the SOA's TTL and MINIMUM, or 0 if there is no SOA."""
    return min(soa.ttl, int(soa.rdata[0].split(" ")[-1])) if soa else 0
