"""Show how many nodes serve a publication."""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import FAULTS, Health
from dnspanel.fleet.reads.node_counts import NodeCounts, count_nodes
from dnspanel.fleet.reads.queries import NodeStatus, without_ring0
from dnspanel.texts import gettext
from dnspanel.web.templatetags.panel import duration
from dnspanel.zones.lists.queries import ZoneRow
from dnspanel.zones.models import Zone
from replication.wire.protocol import Unanswered


@dataclass(frozen=True, slots=True)
class Sync:
    """The counts of active nodes that serve a zone's newest revision. `tone` is ok, warn, bad or quiet.

    `node` is one node that is behind, and `problem` is its problem. `more` counts the other nodes that are behind.
    """

    tone: str
    counts: NodeCounts
    node: str = ""
    problem: str = ""  # "late (40 s)", "cannot answer www.example.com. ALIAS: …"; without a node: the reason
    more: int = 0
    failed: str = ""  # why the publication was reverted

    @property
    def icon(self) -> str:
        return "error" if self.failed else {"ok": "check", "warn": "sync", "bad": "alert"}.get(self.tone, "minus")

    @property
    def behind(self) -> str:
        """Text about the nodes that are behind, such as "ns3 late (40 s), 5 more". Empty if no problem is known."""
        named = f"{self.node} {self.problem}".strip()
        return gettext("{named}, {more} more").format(named=named, more=self.more) if self.more else named


def sync_of_zone(zone: Zone | ZoneRow, statuses: Sequence[NodeStatus]) -> Sync:
    """Return how many nodes serve the zone's newest revision, or that nodes don't serve the zone."""
    if not zone.is_served:
        return Sync("quiet", count_nodes(()), problem=gettext("not served by nodes"))
    return sync_of(zone.sequence, statuses, zone=zone.name)


def sync_of(sequence: int, statuses: Sequence[NodeStatus], *, zone: str = "", failed: str = "") -> Sync:
    """Return the counts of active nodes that have acknowledged this sequence, and one node that hasn't.

    If `zone` is given, a node that can't answer one of the zone's ALIAS or LUA records counts as behind. The canary is
    counted, but isn't reported as the node that is behind. If `failed` is given, the publication was reverted, and no
    node counts as current.
    """
    if failed:
        return Sync("bad", count_nodes((status.node, False) for status in statuses), failed=failed)
    counts = count_nodes((each.node, each.has_acked(sequence) and not _lacks(each, zone)) for each in statuses)
    active = [status for status in without_ring0(statuses) if status.node.state == NodeState.ACTIVE]
    late = [status for status in active if not status.has_acked(sequence)]
    lacking = {status.node.name: found for status in active if (found := _lacks(status, zone)) and status not in late}
    if not active:
        return Sync("quiet", counts, problem=gettext("no active nodes"))
    if lacking and not late:
        name, (first, *others) = next(iter(lacking.items()))
        more = gettext(" (and {others} more)").format(others=len(others)) if others else ""
        problem = gettext("cannot answer {name} {type}: {problem}{more}").format(
            name=first.name, type=first.type, problem=first.problem, more=more
        )
        return Sync("warn", counts, name, problem)
    if not late:
        return Sync("ok", counts)
    tone = "bad" if any(status.health.word in FAULTS for status in late) else "warn"
    return Sync(tone, counts, late[0].node.name, _spoken(late[0].health), len(late) - 1)


def _lacks(status: NodeStatus, zone: str) -> list[Unanswered]:
    """Return the zone's ALIAS and LUA records that the node can't answer."""
    found = map(Unanswered._make, status.node.unanswered if zone else ())
    return [each for each in found if each.zone == zone]


def _spoken(health: Health) -> str:
    if health.lag_seconds < 1:
        return gettext(health.word)
    return gettext("{state} ({lag})").format(state=gettext(health.word), lag=duration(health.lag_seconds))
