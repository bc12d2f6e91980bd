"""From a change to its answer at three nodes: ours beside PowerDNS's native replication and NOTIFY with zone transfers.

The clock starts before the change is committed and stops when the last of three nodes gave the new address to a poll
over UDP; single changes, one after another, at 1,000 zones and at the estate. Ours is `bench_push`: three real nodes by
way of ring 0, in the default configuration. Everybody's nodes and primaries share this machine.

Bytes are those that one node was sent for one change: ours on the TCP connection with TLS, native replication's WAL,
and of transfers what the primary answered over TCP and UDP. Locks are write transactions of the LMDB
that a node answers from; ours says how long they took, PowerDNS's are seen from outside (`lock_probe`).

Lightning Stream is not among them, since it could not be had: the Go module proxy refuses its module.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.benchmarks import powerdns_tables
from tests.benchmarks.published import fleets
from tests.benchmarks.published.fleets import Moved, follow
from tests.benchmarks.published.last_line import last_line
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.propagation_axfr import Secondaries
from tests.benchmarks.published.propagation_estate import Estate
from tests.benchmarks.published.propagation_native import Native
from tests.benchmarks.published.result import Bar, Chart, Result
from tests.benchmarks.published.tables import table
from tests.benchmarks.say import say
from tests.benchmarks.serving import CACHES_OFF
from tests.replication.agent.servers import short_directory

OURS = "ours"
NATIVE = "PostgreSQL standbys, caches off"
NATIVE_CACHED = "PostgreSQL standbys, default caches"
AXFR = "AXFR"
WITHOUT_LIGHTNING_STREAM = (
    "PowerDNS Lightning Stream was not measured, since it could not be had: the Go module proxy refuses its module."
)
FOLLOWED = 4  # each fleet and size, times as long as another measurement


def run(options: Options) -> Result:
    """All at the small size, then all at the large one; ours before."""
    result = Result("From a change to its answer at three nodes")
    moved = ours(options)
    for size in rival_sizes(options, result):
        moved += size
    for zones in (options.small_zones, options.zones):
        here = [one for one in moved if one.zones == zones]
        result.text.append(f"At {zones:,} zones:\n\n" + table(fleets.HEAD, [one.row() for one in here]))
        result.text.append(_winners(here))
        result.charts.append(_chart(here, zones))
    result.text.append(WITHOUT_LIGHTNING_STREAM)
    result.figures |= _ratios([one for one in moved if one.zones == options.zones])
    return result


def ours(options: Options) -> list[Moved]:
    say(f"{OURS}: {options.edits} changes at {options.small_zones:,} and {options.zones:,} zones")
    sizes = ["--small", str(options.small_zones), "--large", str(options.zones)]
    found = last_line("push", "--edits", str(options.edits), *sizes)
    return [
        Moved(
            label=OURS,
            zones=zones,
            edits=options.edits,
            p50_ms=found[size]["p50_ms"],
            p99_ms=found[size]["p99_ms"],
            bytes_per_node=found[size]["bytes_per_node"],
            lock_ms=found[size]["write_lock_ms_max"],
        )
        for size, zones in (("small", options.small_zones), ("large", options.zones))
    ]


def rival_sizes(options: Options, result: Result) -> Iterator[list[Moved]]:
    """What was measured of all rivals, size by size."""
    with contextlib.ExitStack() as stack:
        tables = stack.enter_context(powerdns_tables.running(options.directory / "stores"))
        estate = stack.enter_context(contextlib.closing(Estate(options.directory, tables, largest=options.zones)))
        for zones in (options.small_zones, options.zones):
            estate.grow(zones)
            say(f"rivals: {zones:,} zones in PostgreSQL, zone files and LMDB")
            with short_directory() as sockets:
                yield [*native(estate, sockets, options, result), *axfr(estate, sockets, options, result)]


def native(estate: Estate, sockets: Path, options: Options, result: Result) -> Iterator[Moved]:
    """With caches off, since nobody tells PowerDNS what the database got; and what its default caches make of it."""
    size = len(estate.zones)
    with Native.running(estate, sockets) as standbys:
        with standbys.fleet(NATIVE, CACHES_OFF) as fleet:
            yield follow(fleet, _sample(estate, options.edits), of=size, seconds=FOLLOWED * options.seconds)
        result.configurations[NATIVE] = standbys.configuration
        if size == options.small_zones:  # nothing of it depends on the size
            with standbys.fleet(NATIVE_CACHED, {}) as fleet:
                yield follow(fleet, _sample(estate, min(options.edits, fleets.FEWEST)), of=size, seconds=0)


def axfr(estate: Estate, sockets: Path, options: Options, result: Result) -> Iterator[Moved]:
    """Secondaries of each kind, told by PowerDNS and told at once."""
    secondaries = Secondaries(estate, sockets)
    for kind in secondaries.kinds:
        with secondaries.fleets(kind) as both:
            for fleet in both:
                zones = _sample(estate, options.edits)
                yield follow(fleet, zones, of=len(estate.zones), seconds=FOLLOWED * options.seconds)
    result.configurations |= secondaries.configuration


def _sample(estate: Estate, count: int) -> Sequence[str]:
    return random.Random(len(estate.zones)).sample(estate.zones, min(count, len(estate.zones)))


def _winners(moved: Sequence[Moved]) -> str:
    """Who is faster than we are, in a sentence."""
    own = next(one for one in moved if one.label == OURS)
    faster = [f"{one.label} ({one.p50_ms:,.1f} ms)" for one in moved if one.p50_ms < own.p50_ms]
    if not faster:
        return f"At {own.zones:,} zones nobody is faster than we are ({own.p50_ms:,.1f} ms)."
    return f"At {own.zones:,} zones these are faster than we are ({own.p50_ms:,.1f} ms): {', '.join(faster)}."


def _chart(moved: Sequence[Moved], zones: int) -> Chart:
    return Chart(
        name=f"propagation-{zones}",
        title=f"From a change to its answer at three nodes, {zones:,} zones, p50",
        unit="ms",
        bars=tuple(Bar(one.label, one.p50_ms) for one in moved),
        is_less_better=True,
    )


def _ratios(moved: Sequence[Moved]) -> dict[str, float]:
    """The rivals' p50 by ours; of the transfers the fastest."""
    own = next(one.p50_ms for one in moved if one.label == OURS)
    rivals = {
        "push_vs_native_p50": min(one.p50_ms for one in moved if one.label == NATIVE),
        "push_vs_axfr_p50": min(one.p50_ms for one in moved if one.label.startswith(AXFR)),
    }
    return {name: round(p50_ms / own, 2) for name, p50_ms in rivals.items()}
