"""Views for the query statistics of a zone, and of the names in a user's draft."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet import zone_queries
from dnspanel.fleet.models import Node, NodeState
from dnspanel.secondaries.access import members_of_zone
from dnspanel.secondaries.queries import state_of
from dnspanel.texts import gettext
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.fleet.tiles import rate, sparkline
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication.dns import rdata
from replication.wire.protocol import Counted

MOST_ROWS = 10
# At most this many names of a draft are shown with their queries, and nodes are asked about this many of its zones.
MOST_NAMED, MOST_ZONES = 5, 5
MOST_OPERATIONS = 1000


@dataclass(frozen=True, slots=True)
class DisplayEstimate:
    """A rate in queries per second and its sampling error, as text. If `is_bound` is True, `rate` is an upper bound."""

    rate: str
    error: str
    is_bound: bool


@dataclass(frozen=True, slots=True)
class DisplayNode:
    """A node's query statistics for the zone. `sample` is None if the node hasn't reported any."""

    name: str
    sample: zone_queries.NodeSample | None
    estimate: DisplayEstimate | None


@dataclass(frozen=True, slots=True)
class DisplayRow:
    """A row of a list. `type` is empty if the list doesn't show types."""

    what: str
    type: str
    number: str


@dataclass(frozen=True, slots=True)
class DisplayList:
    """A list of the zone's top entries: its title, its unit, its rows, and the text shown if it is empty."""

    title: str
    unit: str
    rows: tuple[DisplayRow, ...]
    empty: str


@dataclass(frozen=True, slots=True)
class DisplayHour:
    """The last hour by minute: graph, maximum, beginning, and numbers of minutes with a rate and with any report."""

    lines: tuple[str, ...]
    highest: str
    begin: datetime
    known: int
    told: int


@require_safe
def zone_statistics(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the zone's query rate, last hour, top names and types, and failures. htmx fetches only these numbers.

    The panel requests statistics from nodes only while someone views the page.
    """
    zone = access.zone_for_reading(request.user, zone_name)
    zone_queries.watch_zones([zone.name])
    context = _numbers(zone, with_nodes=can(request.user, Permission.FLEET))
    if is_fragment(request):
        return render(request, "zone_tabs/_statistics.html", {"zone": zone, **context})
    now = timezone.now()
    members = members_of_zone(request.user, zone).order_by("secondary__name")
    context["secondaries"] = [(member, state_of(member.secondary, member, now)) for member in members]
    return render_zone(request, zone, "statistics", "zone_tabs/statistics.html", context)


def _numbers(zone: Zone, *, with_nodes: bool) -> dict[str, object]:
    now = timezone.now().timestamp()
    nodes = dict(_serving().values_list("pk", "name"))
    samples = zone_queries.samples_of(zone.name, list(nodes))
    told = list(samples.values())
    total = zone_queries.total_of(told)
    return {
        "total": None if total is None else _display_estimate(total),
        "times": sum(sample.times for sample in told),
        "questions": sum(sample.questions for sample in told),
        "told": len(told),
        "nodes": len(nodes),
        "by_node": [_of_node(name, samples.get(pk)) for pk, name in nodes.items()] if with_nodes else (),
        "hour": _hour(zone_queries.minutes_of(zone.name, now=now)),
        "lists": _lists(told) if told else (),
        "at": min((datetime.fromtimestamp(sample.top.at, UTC) for sample in told), default=None),
    }


def _serving() -> "QuerySet[Node]":
    """Return the active and drained nodes, without the canary and fronts."""
    return Node.objects.filter(
        state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_ring0=False, is_front=False
    ).order_by("name")


def _of_node(name: str, sample: zone_queries.NodeSample | None) -> DisplayNode:
    return DisplayNode(name, sample, None if sample is None else _display_estimate(sample.estimate))


def _display_estimate(estimate: zone_queries.Estimate) -> DisplayEstimate:
    if not estimate.qps:
        return DisplayEstimate(small_rate(estimate.error), "", is_bound=True)
    return DisplayEstimate(small_rate(estimate.qps), small_rate(estimate.error), is_bound=False)


def small_rate(per_second: float) -> str:
    """Format a rate in queries per second. Rates between 0 and 0.95 get two significant digits, and at least 0.001."""
    if 0 < per_second < 0.95:
        return "0.001" if per_second < 0.001 else f"{float(f'{per_second:.2g}'):f}".rstrip("0")
    return rate(per_second)


def _hour(minutes: Sequence[zone_queries.MinuteOfZone]) -> DisplayHour | None:
    """Return the graph of the last hour, or None if no node has reported any minute."""
    if not any(minute.nodes for minute in minutes):
        return None
    values = [minute.estimate.qps if minute.estimate else None for minute in minutes]
    known = [value for value in values if value is not None]
    return DisplayHour(
        lines=sparkline(values),
        highest=small_rate(max(known, default=0.0)),
        begin=datetime.fromtimestamp(minutes[0].at, UTC),
        known=len(known),
        told=sum(minute.nodes > 0 for minute in minutes),
    )


def _lists(samples: Sequence[zone_queries.NodeSample]) -> tuple[DisplayList, ...]:
    """Return the top lists for all nodes combined: names and types by query rate, and the most frequent failures."""
    types: dict[str, float] = {}
    for sample in samples:
        for rrtype, times in sample.top.types:
            types[rrtype] = types.get(rrtype, 0.0) + sample.per_second(times)
    queried = zone_queries.queried_names(samples)[:MOST_ROWS]
    by_type = sorted(types.items(), key=lambda item: (-item[1], item[0]))[:MOST_ROWS]
    return (
        DisplayList(
            gettext("Names"),
            gettext("queries per second"),
            tuple(DisplayRow(name.name, name.type, small_rate(name.qps)) for name in queried),
            gettext("No recent queries."),
        ),
        DisplayList(
            gettext("Types"),
            gettext("queries per second"),
            tuple(DisplayRow(rrtype, "", small_rate(qps)) for rrtype, qps in by_type),
            gettext("No recent queries."),
        ),
        _display_most_frequent(gettext("Nonexistent names"), [sample.top.nxdomain for sample in samples]),
        _display_most_frequent(gettext("SERVFAIL answers"), [sample.top.servfail for sample in samples]),
    )


def _display_most_frequent(title: str, lists: Collection[Sequence[Counted]]) -> DisplayList:
    times: Counter[str] = Counter()
    for each in lists:
        times.update(dict(each))
    rows = []
    for what, number in times.most_common(MOST_ROWS):
        name, _, rrtype = what.rpartition("/")
        rows.append(DisplayRow(f"{name}.", rrtype, f"{number:,}"))
    return DisplayList(title, gettext("times in recent answers of this type"), tuple(rows), gettext("None."))


@require_safe
def draft_queries(request: PanelRequest) -> HttpResponse:
    """Show the query rates of the user's draft names that are among their zones' most queried names, or return 204.

    `zone` limits the names to one zone. The panel requests statistics from nodes only while someone views the page.
    """
    access.require(request.user, Permission.EDIT)
    operations = draft.operations_of(request.user).filter(zone__in=access.zones_visible_to(request.user))
    if request.GET.get("zone"):
        operations = operations.filter(zone=access.zone_for_editing(request.user, request.GET["zone"]))
    changed: dict[str, set[tuple[str, str]]] = {}
    for zone, name, number in operations.values_list("zone__name", "name", "type").order_by("pk")[:MOST_OPERATIONS]:
        changed.setdefault(zone, set()).add((name, rdata.type_to_text(number)))
    zones = list(changed)[:MOST_ZONES]
    zone_queries.watch_zones(zones)
    node_ids = list(_serving().values_list("pk", flat=True))
    queried = [
        name
        for zone in zones
        for name in zone_queries.queried_names(zone_queries.samples_of(zone, node_ids).values())
        if (name.name, name.type) in changed[zone]
    ]
    if not queried:
        return HttpResponse(status=204)
    busiest = sorted(queried, key=lambda name: -name.qps)[:MOST_NAMED]
    rows = [DisplayRow(name.name, name.type, small_rate(name.qps)) for name in busiest]
    return render(request, "zone_tabs/_draft_queries.html", {"rows": rows})
