"""The text with the number of nodes that have acknowledged a publication."""

from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import FAULTS, Health
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.texts import gettext
from dnspanel.web.templatetags.panel import duration
from replication.wire.protocol import Unanswered


@dataclass(frozen=True, slots=True)
class Sync:
    """The number of active nodes that have acknowledged a zone's newest revision. `tone` is ok, warn, bad or quiet.

    One node that is behind is named with its problem, and the other late nodes are counted.
    """

    tone: str
    acked: int
    total: int
    node: str = ""
    problem: str = ""  # "late 40 s", "has no answer for www.example.com. ALIAS: …"; without a node: the reason
    more: int = 0

    @property
    def behind(self) -> str:
        """The nodes that are behind, as one line such as "ns3 late 40 s, 5 more", or an empty text."""
        named = f"{self.node} {self.problem}".strip()
        return gettext("{named}, {more} more").format(named=named, more=self.more) if self.more else named


def sync_of(sequence: int, statuses: Sequence[NodeStatus], *, zone: str = "") -> Sync:
    """Return the number of active nodes that have acknowledged this sequence, and one node that hasn't.

    If `zone` is given, a node that can't answer for one of the zone's ALIAS or LUA records counts as behind.
    """
    active = [status for status in statuses if status.node.state == NodeState.ACTIVE]
    late = [status for status in active if not status.has_acked(sequence)]
    lacking = {status.node.name: found for status in active if (found := _lacks(status, zone)) and status not in late}
    if not active:
        return Sync("quiet", 0, 0, problem=gettext("no active nodes"))
    if lacking and not late:
        name, (first, *others) = next(iter(lacking.items()))
        more = gettext(" (and {others} more)").format(others=len(others)) if others else ""
        problem = gettext("cannot answer {name} {type}: {problem}{more}").format(
            name=first.name, type=first.type, problem=first.problem, more=more
        )
        return Sync("warn", len(active) - len(lacking), len(active), name, problem)
    if not late:
        return Sync("ok", len(active), len(active))
    fault = any(status.health.word in FAULTS for status in late)
    acked = len(active) - len(late) - len(lacking)
    first_late, more_late = late[0], len(late) - 1
    tone = "bad" if fault else "warn"
    return Sync(tone, acked, len(active), first_late.node.name, _spoken(first_late.health), more_late)


def _lacks(status: NodeStatus, zone: str) -> list[Unanswered]:
    """Return the zone's ALIAS and LUA records that the node can't answer."""
    found = map(Unanswered._make, status.node.unanswered if zone else ())
    return [each for each in found if each.zone == zone]


def _spoken(health: Health) -> str:
    if health.lag_seconds < 1:
        return gettext(health.word)
    return gettext("{state} ({lag})").format(state=gettext(health.word), lag=duration(health.lag_seconds))
