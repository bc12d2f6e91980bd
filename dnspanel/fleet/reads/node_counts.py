"""Count active nodes, fronts and the canary, and describe the counts in a sentence for all pages."""

from collections.abc import Iterable
from dataclasses import dataclass

from dnspanel.fleet.models import Node, NodeState
from dnspanel.texts import gettext, joined, ngettext


@dataclass(frozen=True, slots=True)
class KindCount:
    in_sync: int
    total: int


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """Active servers by kind. `in_sync` and `total` exclude the canary, because no client queries it."""

    nodes: KindCount
    fronts: KindCount
    canary: KindCount

    @property
    def in_sync(self) -> int:
        return self.nodes.in_sync + self.fronts.in_sync

    @property
    def total(self) -> int:
        return self.nodes.total + self.fronts.total

    @property
    def is_everywhere(self) -> bool:
        return 0 < self.total == self.in_sync

    @property
    def text(self) -> str:
        """The counts as a sentence, such as "3 nodes, 1 front, canary" or "2 of 3 nodes, 1 front, canary behind"."""
        if not self.total:
            return gettext("no active nodes")
        parts = [_nodes_text(self.nodes)]
        if self.fronts.total:
            parts.append(_fronts_text(self.fronts))
        if self.canary.total:
            parts.append(gettext("canary") if self.canary.in_sync else gettext("canary behind"))
        return joined(", ", parts)

    @property
    def short(self) -> str:
        """The nodes as "2/3" for a table column, or the sentence if there are no nodes or only a front is behind."""
        is_front_behind = self.nodes.in_sync == self.nodes.total and self.fronts.in_sync < self.fronts.total
        return self.text if is_front_behind or not self.nodes.total else f"{self.nodes.in_sync:,}/{self.nodes.total:,}"


def count_nodes(servers: Iterable[tuple[Node, bool]]) -> NodeCounts:
    """Count the active servers by kind. The flag beside each server is True if the server is in sync."""
    active = [(node, is_in_sync) for node, is_in_sync in servers if node.state == NodeState.ACTIVE]
    kinds = (
        [ok for node, ok in active if not node.is_front and not node.is_ring0],
        [ok for node, ok in active if node.is_front],
        [ok for node, ok in active if node.is_ring0],
    )
    return NodeCounts(*(KindCount(sum(kind), len(kind)) for kind in kinds))


def _nodes_text(of: KindCount) -> str:
    if of.in_sync == of.total:
        return ngettext("{total:,} node", "{total:,} nodes", of.total).format(total=of.total)
    text = ngettext("{in_sync:,} of {total:,} node", "{in_sync:,} of {total:,} nodes", of.total)
    return text.format(in_sync=of.in_sync, total=of.total)


def _fronts_text(of: KindCount) -> str:
    if of.in_sync == of.total:
        return ngettext("{total:,} front", "{total:,} fronts", of.total).format(total=of.total)
    text = ngettext("{in_sync:,} of {total:,} front", "{in_sync:,} of {total:,} fronts", of.total)
    return text.format(in_sync=of.in_sync, total=of.total)
