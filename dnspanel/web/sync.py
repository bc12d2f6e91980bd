"""How many nodes have acked a publication, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.fleet.health import FAULTS, Health
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.templatetags.panel import duration
from replication.wire.protocol import Unanswered

_MOST_NAMED = 1


@dataclass(frozen=True, slots=True)
class Sync:
    """How many active nodes have acked a zone's newest revision; `tone` is ok, warn, bad or quiet."""

    tone: str
    acked: int
    total: int
    behind: str  # "ns3 late 40 s", "ns3 has no answer for www.example.com. ALIAS: …", or nothing


def sync_of(sequence: int, statuses: Sequence[NodeStatus], *, zone: str = "") -> Sync:
    """Return how many active nodes have acked this sequence, and the state of the others.

    With a zone, a node that lacks an answer for an ALIAS or LUA record of it counts as one that has not.
    """
    active = [status for status in statuses if status.node.state == NodeState.ACTIVE]
    late = [status for status in active if not status.has_acked(sequence)]
    lacking = {status.node.name: found for status in active if (found := _lacks(status, zone)) and status not in late}
    if not active:
        return Sync("quiet", 0, 0, "no active node")
    if lacking and not late:
        name, (first, *others) = next(iter(lacking.items()))
        more = f" (and {len(others)} more)" if others else ""
        behind = f"{name} has no answer for {first.name} {first.type}: {first.problem}{more}"
        return Sync("warn", len(active) - len(lacking), len(active), behind)
    if not late:
        return Sync("ok", len(active), len(active), "")
    named = [f"{status.node.name} {_spoken(status.health)}" for status in late[:_MOST_NAMED]]
    if len(late) > _MOST_NAMED:
        named.append(f"{len(late) - _MOST_NAMED} more")
    fault = any(status.health.word in FAULTS for status in late)
    acked = len(active) - len(late) - len(lacking)
    return Sync("bad" if fault else "warn", acked, len(active), ", ".join(named))


def _lacks(status: NodeStatus, zone: str) -> list[Unanswered]:
    """The ALIAS and LUA records of this zone for which the node's PowerDNS has no good answer."""
    found = map(Unanswered._make, status.node.unanswered if zone else ())
    return [each for each in found if each.zone == zone]


def _spoken(health: Health) -> str:
    return f"{health.word} {duration(health.lag_seconds)}" if health.lag_seconds >= 1 else str(health.word)
