"""dnspanel: a whole stack in its default configuration, with panel, ring 0 and three nodes, as in `bench_push`.

A change is `publish()`: checks, history and one transaction in PostgreSQL. The answer of ring 0 is verified first, then
those of the three nodes. Nodes have their normal caches, and purge them.
"""

import contextlib
import statistics
from collections.abc import Iterator

from tests import zonegen
from tests.benchmarks import answers, estate, stacks
from tests.benchmarks.published.fleets import PATIENCE, Fleet
from tests.benchmarks.say import say

LABEL = "ours"
SYNC_SECONDS = 1_800.0
WARM = 20  # unmeasured edits, to warm up imports and connections


class Ours:
    """The running stack, until the end of the context. Django in this process uses the stack's environment."""

    def __init__(self, stack: stacks.BenchStack, *, largest: int) -> None:
        self._stack, self._largest = stack, largest
        self._zone_ids: dict[str, int] = {}
        self.configuration = (stack.stack.nodes[0].pdns / "pdns.conf").read_text()

    @classmethod
    @contextlib.contextmanager
    def running(cls, *, largest: int) -> Iterator["Ours"]:
        with stacks.bench_stack("propagation") as stack:
            yield cls(stack, largest=largest)

    def grow(self, zones: int) -> None:
        """Bring `zones` zones of the estate to every node, and then edit some of them."""
        from dnspanel.zones.models import Zone

        first, records = len(self._zone_ids), zonegen.provider_records(self._largest)
        estate.fill(first=first, zones=zones, of=self._largest, records=records, say=say)
        self._stack.wait_until_in_sync(timeout=SYNC_SECONDS)
        self._zone_ids = dict(Zone.objects.filter(deleted_at=None).values_list("name", "id"))
        fleet = self.fleet()
        for number, zone in enumerate(list(self._zone_ids)[:WARM]):
            address = f"198.19.{first >> 8 & 255}.{number}"
            fleet.change(zone, address)
            answers.wait_for(fleet.nodes, f"www.{zone}", address, timeout=PATIENCE)

    def fleet(self) -> Fleet:
        return Fleet(
            label=LABEL,
            nodes=self._stack.dns_addresses,
            change=self._change,
            bytes_sent=lambda: statistics.mean(self._stack.bytes_pushed()),
            lmdb=self._stack.stack.nodes[0].lmdb.with_name("pdns.lmdb-0"),
        )

    def _change(self, zone: str, address: str) -> None:
        estate.publish_address(zone_id=self._zone_ids[zone], name=f"www.{zone}", address=address)
