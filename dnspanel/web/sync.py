"""How many nodes have acked a publication, in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.fleet.health import FAULTS, Health
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.templatetags.panel import duration

_MOST_NAMED = 1


@dataclass(frozen=True, slots=True)
class Sync:
    """How many active nodes have acked a zone's newest revision; `tone` is ok, warn, bad or quiet."""

    tone: str
    acked: int
    total: int
    behind: str  # "ns3 late 40 s", or nothing


def sync_of(sequence: int, statuses: Sequence[NodeStatus]) -> Sync:
    """Return how many active nodes have acked this sequence, and the state of the others."""
    active = [status for status in statuses if status.node.state == NodeState.ACTIVE]
    late = [status for status in active if not has_acked(status, sequence)]
    if not active:
        return Sync("quiet", 0, 0, "no active node")
    if not late:
        return Sync("ok", len(active), len(active), "")
    named = [f"{status.node.name} {_spoken(status.health)}" for status in late[:_MOST_NAMED]]
    if len(late) > _MOST_NAMED:
        named.append(f"{len(late) - _MOST_NAMED} more")
    fault = any(status.health.word in FAULTS for status in late)
    return Sync("bad" if fault else "warn", len(active) - len(late), len(active), ", ".join(named))


def has_acked(status: NodeStatus, sequence: int) -> bool:
    """Return whether the node has acked this sequence in the present epoch of the log."""
    return status.node.epoch == status.head_epoch and status.node.acked >= sequence


def _spoken(health: Health) -> str:
    return f"{health.word} {duration(health.lag_seconds)}" if health.lag_seconds >= 1 else str(health.word)
