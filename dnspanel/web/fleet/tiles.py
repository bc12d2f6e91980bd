"""Prepare a node's tile on the fleet page: its numbers as text, and the geometry of its two small graphs. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.nodes.reported import Reported, read_report
from dnspanel.fleet.reads.node_counts import NodeCounts
from dnspanel.fleet.reads.queries import NodeStatus, without_ring0
from dnspanel.fleet.reads.summary import live_counts
from dnspanel.fleet.rollout.waiting_publications import Waiting
from dnspanel.fleet.telemetry import LiveNow
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.templatetags.panel import duration
from replication.wire.position import Position

SPARK_WIDTH, SPARK_HEIGHT = 120, 28
_NO_NUMBER = "–"
_TONES = {
    Word.LIVE: ("ok", "check"),
    Word.CATCHING_UP: ("info", "sync"),
    Word.LATE: ("warn", "clock"),
    Word.STALE: ("bad", "alert"),
    Word.LIMITED: ("info", "pause"),
    Word.OFFLINE: ("bad", "offline"),
    Word.REJECTING: ("bad", "error"),
    Word.DRAINED: ("quiet", "pause"),
    Word.WAITING: ("info", "key"),
    Word.RETIRED: ("quiet", "minus"),
}
RCODES = (("noerror", "NOERROR"), ("nxdomain", "NXDOMAIN"), ("servfail", "SERVFAIL"), ("other", gettext_lazy("other")))


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of the answers-by-rcode bar. Position and width are in percent."""

    rcode: str
    text: str
    x: str
    width: str
    share: str


@dataclass(frozen=True, slots=True)
class Tile:
    status: NodeStatus
    tone: str
    icon: str
    qps: str
    spark: tuple[str, ...]  # a polyline for each part without a gap
    spark_top: str
    bar: tuple[BarPart, ...]
    position: str
    behind: str  # "current", "−3", the reason why it is unknown, or empty without data
    is_current: bool
    lag: str  # "3 · 40 s" or "none"
    latency: str
    cache_hit: str
    powerdns: str
    agent: str
    epoch: str  # its first eight digits, or empty
    digest: str  # its first sixteen digits, or empty
    room: str  # "disk 41 % free · map 12 % used", or empty
    remarks: tuple[str, ...]  # short texts about unusual states

    @property
    def behind_class(self) -> str:
        return "quiet" if self.is_current else "change"


@dataclass(frozen=True, slots=True)
class FleetLine:
    """The totals in the line above the tiles."""

    counts: NodeCounts  # of live servers
    qps: str
    head: str
    lag: str
    old_answers: str  # queries per second answered by nodes that are behind


def tile_of(status: NodeStatus, now: LiveNow | None, head: Position) -> Tile:
    """Return a node's tile. `now` is None if the node has no live numbers."""
    tone, icon = _TONES[status.health.word]
    node = status.node
    reported = read_report(node)
    minute = now.qps_minute if now else ()
    return Tile(
        status=status,
        tone=tone,
        icon=icon,
        qps=rate(now.qps if now else None),
        spark=sparkline(minute),
        spark_top=rate(max((point for point in minute if point is not None), default=None)),
        bar=rcode_bar(now.rcodes if now else {}),
        position=f"{status.node.acked:,}" if status.node.epoch else gettext("no data yet"),
        behind=_behind(status, head),
        is_current=status.node.epoch == head.epoch and not status.health.lag,
        lag=_lag(status),
        latency=milliseconds(now.latency_ms if now else None),
        cache_hit=percent(now.cache_hit if now else None),
        powerdns=reported.powerdns or _NO_NUMBER,
        agent=reported.agent or _NO_NUMBER,
        epoch=str(status.node.epoch)[:8] if status.node.epoch else "",
        digest=bytes(status.node.digest).hex()[:16] if status.node.digest else "",
        room=room(reported),
        remarks=reported.remarks,
    )


def room(reported: Reported) -> str:
    """Format the free disk space and the used part of the LMDB map. Return "" if the agent didn't report either."""
    parts = []
    if reported.disk_free_share is not None:
        parts.append(gettext("disk {disk_free_share} free").format(disk_free_share=percent(reported.disk_free_share)))
    if reported.map_used is not None:
        parts.append(gettext("map {map_used} used").format(map_used=percent(reported.map_used)))
    return " · ".join(parts)


def fleet_line(
    statuses: Sequence[NodeStatus], live: Mapping[int, LiveNow], head: Position, late: Waiting | None = None
) -> FleetLine:
    """Return the fleet's totals. Only active nodes count as live or behind. `late` is a publication that nodes lack."""
    active = [status for status in without_ring0(statuses) if status.node.state == NodeState.ACTIVE]
    rates = [now.qps for now in live_of_nodes(statuses, live).values() if now.qps is not None]
    lags = [status.health.lag_seconds for status in active if status.health.lag]
    return FleetLine(
        counts=live_counts(statuses, late),
        qps=rate(sum(rates) if rates else None),
        head=f"{head.sequence:,}",
        lag=duration(max(lags)) if lags else gettext("none"),
        old_answers=rate(_rate_of_those_behind(active, live)),
    )


def live_of_nodes(statuses: Sequence[NodeStatus], live: Mapping[int, LiveNow]) -> dict[int, LiveNow]:
    """Return the live numbers of all nodes that receive queries from clients.

    Fronts are left out, because the nodes behind them count the same queries. The canary is left out, because only the
    panel queries it.
    """
    left_out = {status.node.pk for status in statuses if status.node.is_front or status.node.is_ring0}
    return {pk: now for pk, now in live.items() if pk not in left_out}


def _rate_of_those_behind(active: Sequence[NodeStatus], live: Mapping[int, LiveNow]) -> float | None:
    if not live:
        return None
    behind = [live[status.node.pk] for status in active if status.health.lag and status.node.pk in live]
    return sum(now.qps or 0 for now in behind)


def _behind(status: NodeStatus, head: Position) -> str:
    if status.node.epoch is None:
        return ""
    if status.node.epoch != head.epoch:
        return gettext("different history")
    return f"−{status.health.lag:,}" if status.health.lag else gettext("current")


def _lag(status: NodeStatus) -> str:
    health = status.health
    if health.word == Word.WAITING:
        return _NO_NUMBER
    return f"{health.lag:,} · {duration(health.lag_seconds)}" if health.lag else gettext("none")


def rate(per_second: float | None) -> str:
    """Format a rate: `12.4` below a hundred, whole numbers above, `0` for zero, a dash for None."""
    if per_second is None:
        return _NO_NUMBER
    return f"{per_second:,.0f}" if per_second >= 99.95 or per_second == 0 else f"{per_second:.1f}"


def milliseconds(value: float | None) -> str:
    if value is None:
        return _NO_NUMBER
    return f"{value:.0f} ms" if value >= 10 else f"{value:.2f} ms"


def percent(share: float | None) -> str:
    return _NO_NUMBER if share is None else f"{100 * share:.0f} %"


def sparkline(values: Sequence[float | None]) -> tuple[str, ...]:
    """Return points for `<polyline>`, with the oldest left and zero at the bottom. Missing numbers leave gaps."""
    top = max((value for value in values if value is not None), default=0) or 1
    step = SPARK_WIDTH / max(1, len(values) - 1)
    lines: list[list[str]] = [[]]
    for at, value in enumerate(values):
        if value is None:
            lines.append([])
        else:
            lines[-1].append(f"{at * step:.1f},{SPARK_HEIGHT - 1.5 - (SPARK_HEIGHT - 3) * value / top:.1f}")
    return tuple(" ".join(line) for line in lines if len(line) > 1)


def rcode_bar(rates: Mapping[str, float]) -> tuple[BarPart, ...]:
    """Return the parts of the bar, or no parts if there were no answers."""
    total = sum(rates.values())
    parts: list[BarPart] = []
    x = 0.0
    for rcode, text in RCODES:
        width = 100 * rates.get(rcode, 0) / total if total else 0
        if width:
            parts.append(BarPart(rcode, text, f"{x:.2f}", f"{width:.2f}", f"{width:.0f} %" if width >= 1 else "< 1 %"))
        x += width
    return tuple(parts)
