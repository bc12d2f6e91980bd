"""Draw the last hour of all nodes: a square for each node and minute, or for each node in a large fleet."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from math import inf
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses
from dnspanel.fleet.rollup import AWAY, WAITS, lag_of, lags_of, last_minutes
from dnspanel.fleet.telemetry import MINUTE
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.fleet.tiles import percent, rate
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.templatetags.panel import duration
from dnspanel.zones.rights import access
from replication.wire.protocol import Sample

MINUTES = 60
MOST_ROWS = 30  # for more nodes, each has only the square of the newest minute

Values = Sequence[float | None]  # of a node's minutes, oldest first; None: unknown


@dataclass(frozen=True, slots=True)
class Measure:
    """What the squares show. A value of at least `bounds[i]` has the level `i + 2`, and the value 0 has the level 0."""

    title: str
    order: str
    bounds: tuple[float, ...]
    text: Callable[[float], str]
    value: Callable[[Sample], float | None] | None = None  # None: the lag


def _lag_text(lag: float) -> str:
    return duration(lag) if 0 < lag < AWAY else gettext("no contact") if lag else gettext("in sync")


def _share_refused(sample: Sample) -> float | None:
    answers = sum(sample.rcodes.values())
    return sample.rcodes.get("REFUSED", 0) / answers if answers else None


MEASURES = {
    "lag": Measure(gettext_lazy("Lag"), gettext_lazy("furthest behind first"), (60, 300, AWAY), _lag_text),
    "queries": Measure(
        gettext_lazy("Queries"),
        gettext_lazy("busiest first"),
        (0.25, 0.5, 0.75),  # of the highest value
        lambda value: gettext("{rate} q/s").format(rate=rate(value)),
        lambda sample: sample.qps,
    ),
    "refusals": Measure(
        gettext_lazy("Refused queries"), gettext_lazy("most refusals first"), (0.01, 0.1, 0.5), percent, _share_refused
    ),
}


@dataclass(frozen=True, slots=True)
class SquareRow:
    """The squares of one node: its current value, the highest one with its time, and a path for each level."""

    node: Node
    value: float
    level: str
    text: str
    most: str
    paths: Mapping[str, str]


@require_safe
def fleet_minutes(request: PanelRequest) -> HttpResponse:
    """Show the last hour of all nodes. Every minute, htmx fetches only the picture."""
    access.require(request.user, Permission.FLEET)
    now = timezone.now()
    squares = squares_of(watched_statuses(now=now), request.GET.get("show", ""), now)
    template = "fleet/_minutes.html" if is_fragment(request) else "fleet/minutes.html"
    return render(request, template, {"squares": squares})


def squares_of(statuses: Sequence[NodeStatus], show: str, now: datetime) -> dict[str, Any]:
    """Return the picture of the measure `show` (default: the lag). It takes one round trip to Redis and no query.

    `rows` has all nodes, worst first, and `groups` those of a large fleet by group. `legend` is the histogram: the
    levels in order, each with its text, its number of squares, and their share in percent.
    """
    key = show if show in MEASURES else "lag"
    measure = MEASURES[key]
    joined = [status for status in statuses if status.node.state != NodeState.AWAITING_APPROVAL]
    is_large = len(joined) > MOST_ROWS
    values = _values_of(joined, measure, 2 if is_large else MINUTES, int(now.timestamp()) // MINUTE)
    bounds = measure.bounds
    if key == "queries":
        top = max((value or 0 for each in values for value in each), default=0) or 1
        bounds = tuple(bound * top for bound in bounds)
    rows = [_row(status, each, measure, bounds, now) for status, each in zip(joined, values, strict=True)]
    rows.sort(key=lambda row: (-row.value, row.node.name))
    groups: dict[str, list[SquareRow]] = {}
    for row in rows if is_large else ():
        groups.setdefault(row.node.group.name if row.node.group else "", []).append(row)
    starts = [measure.text(bound) if bound == AWAY else f"≥ {measure.text(bound)}" for bound in bounds]
    texts = [measure.text(0), f"< {measure.text(bounds[0])}", *starts]
    counted = Counter(_level(value, bounds) for each in values for value in (each[-1:] if is_large else each))
    levels = [*((str(level), text) for level, text in enumerate(texts)), ("none", gettext("no data"))]
    if key == "lag":
        levels.insert(-1, ("waits", gettext("paused or held back")))
    legend = [(level, text, counted[level], 100 * counted[level] / max(counted.total(), 1)) for level, text in levels]
    return {"key": key, "measure": measure, "rows": rows, "groups": groups, "legend": legend, "measures": MEASURES}


def _values_of(statuses: Sequence[NodeStatus], measure: Measure, count: int, last: int) -> list[Values]:
    minutes = range(last - count + 1, last + 1)
    if measure.value is None:
        lags = dict(zip(minutes, lags_of(minutes[:-1]), strict=False))
        return [[*(_lag_in(each, at, s.node) for at, each in lags.items()), lag_of(s.health)] for s in statuses]
    found: list[Values] = []
    for samples in last_minutes([status.node.pk for status in statuses], count):
        by_minute = {sample.at // MINUTE: measure.value(sample) for sample in samples}
        found.append([by_minute.get(minute) for minute in minutes])
    return found


def _lag_in(lags: Mapping[int, float] | None, minute: int, node: Node) -> float | None:
    """Return the node's lag in a minute. It is unknown until the minute after the node was created."""
    if lags is None or minute <= node.created_at.timestamp() // MINUTE:
        return None
    return lags.get(node.pk, 0)


def _row(status: NodeStatus, values: Values, measure: Measure, bounds: Sequence[float], now: datetime) -> SquareRow:
    # The rates of the newest minute are stored a second or two after its end.
    current = values[-1] if values[-1] is not None else values[-2]
    most, at = max(((value, at) for at, value in enumerate(values) if value is not None), default=(0, 0))
    time = datetime.fromtimestamp(now.timestamp() - (len(values) - 1 - at) * MINUTE, UTC)
    paths: dict[str, str] = {}
    for level, run in groupby(range(len(values)), lambda minute: _level(values[minute], bounds)):
        begin, *rest = run
        # A horizontal line for equal neighbours, one unit long for each minute. Its dashes are the squares.
        paths[level] = f"{paths.get(level, '')}M{begin} 5h{1 + len(rest)}"
    if current is None:
        text = gettext("no data")
    else:
        text = gettext(str(status.health.word)) if current == WAITS else measure.text(current)
    return SquareRow(
        node=status.node,
        value=-inf if current is None else current,
        level=_level(current, bounds),
        text=text,
        most=f"{measure.text(most)}, {timezone.localtime(time):%H:%M}" if most > 0 else "",
        paths=paths,
    )


def _level(value: float | None, bounds: Sequence[float]) -> str:
    if value is None:
        return "none"
    return str(1 + sum(value >= bound for bound in bounds)) if value > 0 else "waits" if value else "0"
