"""Summarize the current state of the fleet: totals, answers by rcode, and a short summary of each node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from dnspanel.fleet import telemetry
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.fleet.tiles import BarPart, Tile, live_of_nodes, rate, rcode_bar, sparkline, tile_of
from replication.wire.position import Position

MOST_NODES = 24


@dataclass(frozen=True, slots=True)
class FleetNow:
    """The contents of the fleet card: tiles of some `nodes`, the number of others (`more`), and sums over all nodes."""

    nodes: tuple[Tile, ...]
    more: int
    qps: str
    bar: tuple[BarPart, ...]
    spark: tuple[str, ...]
    spark_top: str
    slowest: str  # "ns3, 4.20 ms", or empty
    has_numbers: bool

    @property
    def tile(self) -> "FleetNow":
        """The object itself, because the node graph templates expect a variable `tile`."""
        return self


def fleet_now(statuses: Sequence[NodeStatus], head: Position) -> FleetNow:
    """Return the contents of the fleet card. The live numbers of all nodes take one round trip."""
    live = telemetry.live_now([status.node.pk for status in statuses])
    tiles = [tile_of(status, live.get(status.node.pk), head) for status in statuses[:MOST_NODES]]
    of_nodes = live_of_nodes(statuses, live)
    minute = _sum_by_second([now.qps_minute for now in of_nodes.values()])
    rates = [now.qps for now in of_nodes.values() if now.qps is not None]
    return FleetNow(
        nodes=tuple(tiles),
        more=max(0, len(statuses) - MOST_NODES),
        qps=rate(sum(rates) if rates else None),
        bar=rcode_bar(_sum_of_rcodes(of_nodes)),
        spark=sparkline(minute),
        spark_top=rate(max((point for point in minute if point is not None), default=None)),
        slowest=_slowest(statuses, of_nodes),
        has_numbers=bool(live) or not statuses,
    )


def _sum_by_second(lines: Sequence[Sequence[float | None]]) -> tuple[float | None, ...]:
    """Return the sum for each second, or None where no series has data. All series end at the same second."""
    longest = max(map(len, lines), default=0)
    aligned = [[*repeat(None, longest - len(line)), *line] for line in lines]
    columns = [[point for point in column if point is not None] for column in zip(*aligned, strict=True)]
    return tuple(sum(column) if column else None for column in columns)


def _sum_of_rcodes(live: Mapping[int, telemetry.LiveNow]) -> dict[str, float]:
    found: dict[str, float] = {}
    for now in live.values():
        for rcode, per_second in now.rcodes.items():
            found[rcode] = found.get(rcode, 0) + per_second
    return found


def _slowest(statuses: Sequence[NodeStatus], live: Mapping[int, telemetry.LiveNow]) -> str:
    known = [(live[s.node.pk].latency_ms, s.node.name) for s in statuses if s.node.pk in live]
    latencies = [(latency, name) for latency, name in known if latency is not None]
    return f"{max(latencies)[1]}, {max(latencies)[0]:.2f} ms" if latencies else ""
