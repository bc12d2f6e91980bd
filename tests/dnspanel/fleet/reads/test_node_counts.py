"""Tests of the counts of nodes, fronts and the canary, and of their sentence."""

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.reads.node_counts import count_nodes


def server(*, state: str = NodeState.ACTIVE, **kind: bool) -> Node:
    return Node(state=state, **kind)


def test_servers_are_counted_by_kind_in_one_sentence() -> None:
    # Previously a page said 4/4 with a front, another 3/3, and a third listed five nodes.
    nodes = [(server(), True), (server(), True), (server(), True)]
    front, canary = (server(is_front=True), True), (server(is_ring0=True), True)
    found = count_nodes([*nodes, front, canary])
    assert (found.text, found.short, found.in_sync, found.total) == ("3 nodes, 1 front, canary", "3/3", 4, 4)
    assert found.is_everywhere
    late = count_nodes([*nodes[1:], (server(), False), front, (canary[0], False)])
    assert (late.text, late.short, late.is_everywhere) == ("2 of 3 nodes, 1 front, canary behind", "2/3", False)
    assert count_nodes([nodes[0], (front[0], False)]).short == "1 node, 0 of 1 front"
    assert count_nodes([nodes[0]]).text == "1 node"


def test_only_active_servers_count() -> None:
    drained = server(state=NodeState.DRAINED)
    assert count_nodes([(drained, True)]).text == "no active nodes"
    assert not count_nodes([(server(is_ring0=True), True)]).is_everywhere
