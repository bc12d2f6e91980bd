"""The time from a change to its answer at three nodes: dnspanel, native replication, zone transfers, Lightning Stream.

The clock starts before the change is committed. It stops when the last of three nodes has returned the new address to a
poll over UDP. Single changes follow each other, with 1,000 zones and with the estate. dnspanel runs all the time, in
its default configuration with ring 0, and alternates with each rival. All nodes and primaries share this machine.

Bytes are those sent to one node for one change: for dnspanel on the TCP connection with TLS, for native replication the
WAL, for transfers the primary's answers over TCP and UDP, and for Lightning Stream the snapshots that it read. Locks
are write transactions of a node's LMDB, measured from another process (`lock_probe`).
"""

import contextlib
import random
from collections.abc import Iterator, Sequence

from tests.benchmarks import powerdns_tables
from tests.benchmarks.published import fleets, propagation_lightning
from tests.benchmarks.published.fleets import Fleet, Moved, all_of, follow
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.propagation_axfr import Secondaries
from tests.benchmarks.published.propagation_estate import SCHEMA, Estate
from tests.benchmarks.published.propagation_lightning import LightningStream
from tests.benchmarks.published.propagation_native import Native
from tests.benchmarks.published.propagation_ours import LABEL as OURS
from tests.benchmarks.published.propagation_ours import Ours
from tests.benchmarks.published.result import Bar, Chart, Result
from tests.benchmarks.published.tables import table
from tests.benchmarks.say import say
from tests.benchmarks.serving import CACHES_OFF
from tests.replication.agent.servers import short_directory

NATIVE = "PostgreSQL standbys, caches off"
NATIVE_PURGED = "PostgreSQL standbys, default caches, purged when replayed"
NATIVE_CACHED = "PostgreSQL standbys, default caches"
FOLLOWED = 4  # for each fleet and size, relative to other measurements
# The fleets that count for each figure. The fastest one is the rival's result.
FIGURES = {
    "push_vs_lightningstream_p50": tuple(variant.label for variant in propagation_lightning.UNCACHED),
    "push_vs_native_p50": (NATIVE, NATIVE_PURGED),
    "push_vs_axfr_p50": ("AXFR",),
}
WHAT_IS_COMPARED = (
    "The ratios on the page of all tests (`push_vs_…`) divide the p50 of a competitor's fastest setup by the p50 of "
    "our nodes in the same rounds. The fastest setup can be one that its makers do not document. The setups differ "
    "in three ways:",
    "**Checks.** The panel checks our change, stores it in the history and signs it for the nodes. "
    "Then ring 0, a private test server, must answer correctly before a node gets the change. The competitors serve "
    "everything that is in the database, on all nodes at once.",
    "**Notification.** PowerDNS checks once per second whether it must send a NOTIFY. With *NOTIFY at once*, a "
    "program of this benchmark sends the NOTIFY immediately. PostgreSQL standbys and Lightning Stream do not notify "
    "PowerDNS of a change, so with default caches the change is visible up to 20 s later. With *caches off*, the "
    "change is visible at once, but each answer costs several times the processor time ([LMDB against "
    "PostgreSQL](backends.md)). With *purged when replayed*, a program of this benchmark waits until each standby "
    "has the change, and then purges the caches. Our nodes have caches, and purge the changed names.",
    "**Durability.** If our node, a PostgreSQL standby, a PowerDNS secondary or Lightning Stream answers with a "
    "change, the change is on the disk of that node. Knot and NSD answer from memory and write nothing. BIND writes "
    "the zone's file later. After a crash, Knot, NSD and BIND may have to transfer the zone again.",
)


def run(options: Options) -> Result:
    """Run all fleets at the small size, then at the large one."""
    result = Result(
        "From a change to its answer at three nodes",
        purpose="This test shows how long a change takes until all name servers answer with it, and how much traffic "
        "the change causes.",
    )
    groups = [group for size in _Part(options, result).sizes() for group in size]
    result.text.append(fleets.COLUMNS)
    for zones in (options.small_zones, options.zones):
        here = _rows([group for group in groups if group[0].zones == zones])
        result.text.append(f"With {zones:,} zones:\n\n" + table(fleets.HEAD, [one.row() for one in here]))
        result.text.append(_winners(here))
        result.charts.append(_chart(here, zones))
    result.text += WHAT_IS_COMPARED
    result.figures |= ratios([group for group in groups if group[0].zones == options.zones])
    return result


class _Part:
    """A run of this part: dnspanel, the estate in all its forms, and the rivals."""

    def __init__(self, options: Options, result: Result) -> None:
        self._options, self._result = options, result
        self._lightning: LightningStream | None = None
        try:
            self._lightning = LightningStream(options.lightning_stream)
        except propagation_lightning.Unavailable as exc:
            result.text.append(f"PowerDNS Lightning Stream was not measured: {exc}")
        else:
            result.text.append(self._lightning.description)

    def sizes(self) -> Iterator[list[list[Moved]]]:
        """Yield, for each size, groups of fleets that alternated. dnspanel, if in a group, is its first member."""
        options = self._options
        schemas = (SCHEMA, propagation_lightning.SCHEMA) if self._lightning else (SCHEMA,)
        with contextlib.ExitStack() as stack:
            ours = stack.enter_context(Ours.running(largest=options.zones))
            tables = stack.enter_context(powerdns_tables.running(options.directory / "stores"))
            estate = Estate(options.directory, tables, largest=options.zones, schemas=schemas)
            stack.enter_context(contextlib.closing(estate))
            self._result.configurations[OURS] = ours.configuration
            for zones in (options.small_zones, options.zones):
                say(f"{zones:,} zones: ours")
                ours.grow(zones)
                say(f"{zones:,} zones: PostgreSQL, zone files and LMDB for rivals")
                estate.grow(zones)
                yield list(self._groups(estate, ours.fleet()))

    def _groups(self, estate: Estate, ours: Fleet) -> Iterator[list[Moved]]:
        with short_directory() as sockets:
            with Native.running(estate, sockets) as standbys:
                yield from self._native(estate, standbys, ours)
            secondaries = Secondaries(estate, sockets)
            for kind in secondaries.kinds:
                with secondaries.fleets(kind) as both:
                    yield self._in_turns(estate, [ours, *both])
            self._result.configurations |= secondaries.configuration
        if self._lightning is not None:
            yield from self._streams(estate, self._lightning, ours)

    def _native(self, estate: Estate, standbys: Native, ours: Fleet) -> Iterator[list[Moved]]:
        with standbys.fleet(NATIVE, CACHES_OFF) as off, standbys.fleet(NATIVE_PURGED, {}, is_purged=True) as purged:
            yield self._in_turns(estate, [ours, off, purged])
        self._result.configurations |= standbys.configuration
        if self._is_small(estate):
            with standbys.fleet(NATIVE_CACHED, {}) as cached:
                yield self._a_few(estate, cached)

    def _streams(self, estate: Estate, lightning: LightningStream, ours: Fleet) -> Iterator[list[Moved]]:
        for variant in propagation_lightning.UNCACHED:
            with lightning.fleet(variant, estate) as fleet:
                yield self._in_turns(estate, [ours, fleet])
        self._result.configurations |= lightning.configuration
        if self._is_small(estate):
            with lightning.fleet(propagation_lightning.DOCUMENTED, estate) as fleet:
                yield self._a_few(estate, fleet)

    def _is_small(self, estate: Estate) -> bool:
        """Return True for the small size.

        Measurements that wait for a cache's TTL take long, and don't depend on the size. So they run only at the small
        size.
        """
        return len(estate.zones) == self._options.small_zones

    def _in_turns(self, estate: Estate, all_fleets: Sequence[Fleet]) -> list[Moved]:
        seconds = FOLLOWED * self._options.seconds
        zones = _sample(estate, self._options.edits)
        return follow(all_fleets, zones, of=len(estate.zones), rounds=self._options.rounds, seconds=seconds)

    def _a_few(self, estate: Estate, fleet: Fleet) -> list[Moved]:
        zones = _sample(estate, min(self._options.edits, fleets.FEWEST))
        return follow([fleet], zones, of=len(estate.zones), rounds=1, seconds=0)


def _sample(estate: Estate, count: int) -> Sequence[str]:
    return random.Random(len(estate.zones)).sample(estate.zones, min(count, len(estate.zones)))


def _rows(groups: Sequence[Sequence[Moved]]) -> list[Moved]:
    """Return one row for each fleet, dnspanel first, with the measurements of all groups combined."""
    every = [one for group in groups for one in group]
    return [all_of([one for one in every if one.label == label]) for label in dict.fromkeys(one.label for one in every)]


def _winners(moved: Sequence[Moved]) -> str:
    """Return a sentence about the rivals that are faster than dnspanel."""
    own = next(one for one in moved if one.label == OURS)
    faster = [f"{one.label} ({one.p50_ms:,.1f} ms)" for one in moved if one.p50_ms < own.p50_ms]
    if not faster:
        return f"With {own.zones:,} zones, our node is the fastest ({own.p50_ms:,.1f} ms)."
    return f"With {own.zones:,} zones, these are faster than our node ({own.p50_ms:,.1f} ms): {'; '.join(faster)}."


def _chart(moved: Sequence[Moved], zones: int) -> Chart:
    return Chart(
        name=f"propagation-{zones}",
        title=f"From a change to its answer at three nodes, {zones:,} zones, median",
        unit="ms",
        bars=tuple(Bar(one.label, one.p50_ms) for one in moved),
        is_less_better=True,
    )


def ratios(groups: Sequence[Sequence[Moved]]) -> dict[str, float | None]:
    """Return each rival's p50, for its fastest fleet, divided by dnspanel's in the same group (None: not measured)."""
    by_label = {
        rival.label: rival.p50_ms / group[0].p50_ms for group in groups if group[0].label == OURS for rival in group[1:]
    }
    found = {
        name: [ratio for label, ratio in by_label.items() if label.startswith(labels)]
        for name, labels in FIGURES.items()
    }
    return {name: round(min(ratios), 2) if ratios else None for name, ratios in found.items()}
