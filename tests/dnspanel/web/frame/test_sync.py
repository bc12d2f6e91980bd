"""Texts about the number of nodes that have a publication."""

from uuid import UUID

import pytest

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.node_health import Health, Word
from dnspanel.fleet.reads.node_counts import KindCount, NodeCounts
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.web.frame.sync import Sync, sync_of, sync_of_zone
from dnspanel.zones.models import Zone

EPOCH, OTHER = UUID(int=1), UUID(int=2)


def node_status(name: str, acked: int, word: Word = Word.LIVE, seconds: float = 0, epoch: UUID = EPOCH) -> NodeStatus:
    state = {Word.DRAINED: NodeState.DRAINED, Word.WAITING: NodeState.AWAITING_APPROVAL}.get(word, NodeState.ACTIVE)
    return NodeStatus(Node(name=name, acked=acked, epoch=epoch, state=state), Health(word, "", 1, seconds), EPOCH)


def counts(in_sync: int, total: int) -> NodeCounts:
    return NodeCounts(KindCount(in_sync, total), KindCount(0, 0), KindCount(0, 0))


def test_everywhere_is_said_with_numbers_alone() -> None:
    assert sync_of(7, [node_status("ns1", 7), node_status("ns2", 9)]) == Sync("ok", counts(2, 2))


def test_a_late_node_is_named_with_its_lag() -> None:
    nodes = [node_status("ns1", 7), node_status("ns2", 7), node_status("ns3", 6, Word.LATE, 40)]
    assert sync_of(7, nodes) == Sync("warn", counts(2, 3), "ns3", "late (40 s)")


@pytest.mark.parametrize("word", [Word.OFFLINE, Word.REJECTING, Word.STALE])
def test_a_fault_is_told_from_a_delay(word: Word) -> None:
    assert sync_of(7, [node_status("ns1", 6, word)]).tone == "bad"


def test_many_late_nodes_are_counted_rather_than_named() -> None:
    nodes = [node_status(f"ns{number}", 1, Word.CATCHING_UP) for number in range(6)]
    assert sync_of(7, nodes).behind == "ns0 catching up, 5 more"


def test_drained_and_waiting_nodes_do_not_count() -> None:
    nodes = [node_status("ns1", 7), node_status("ns2", 1, Word.DRAINED), node_status("ns3", 0, Word.WAITING)]
    assert sync_of(7, nodes) == Sync("ok", counts(1, 1))


def test_fronts_and_the_canary_are_counted_by_kind() -> None:
    # Previously a page said 4/4 with a front, another 3/3, and a third listed five nodes.
    nodes = [node_status("ns1", 7), node_status("ns2", 7), node_status("front1", 7), node_status("ring0", 6)]
    nodes[2].node.is_front = nodes[3].node.is_ring0 = True
    found = sync_of(7, nodes)
    assert (found.tone, found.counts.text, found.counts.short) == ("ok", "2 nodes, 1 front, canary behind", "2/2")
    nodes[2].node.acked = 6
    found = sync_of(7, nodes)
    assert (found.tone, found.counts.short) == ("warn", "2 nodes, 0 of 1 front, canary behind")


def test_no_node_serves_a_publication_that_was_reverted() -> None:
    # Previously the history said 3/3 about a revision whose publication had failed.
    found = sync_of(7, [node_status("ns1", 9)], failed="It fails.")
    assert (found.tone, found.icon, found.counts.text) == ("bad", "error", "0 of 1 node")


def test_a_zone_that_nodes_do_not_serve_is_on_no_node() -> None:
    # Previously the head of a catalog of ours said 3/3 above "isn't served by nodes".
    zone = Zone(name="a.test.", sequence=7, is_served=False)
    assert sync_of_zone(zone, [node_status("ns1", 9)]).behind == "not served by nodes"
    zone.is_served = True
    assert sync_of_zone(zone, [node_status("ns1", 9)]).tone == "ok"


def test_without_an_active_node_nothing_is_promised() -> None:
    assert sync_of(7, []) == Sync("quiet", counts(0, 0), problem="no active nodes")


def test_a_high_sequence_of_another_history_proves_nothing() -> None:
    assert not node_status("ns1", 99, epoch=OTHER).has_acked(7)


def test_a_node_without_an_answer_for_an_alias_of_the_zone_is_not_counted() -> None:
    """Previously a page said "everywhere 3/3" about an ALIAS that no node could answer."""
    nodes = [node_status("ns1", 7), node_status("ns2", 7)]
    nodes[1].node.unanswered = [["a.test.", "a.test.", "ALIAS", "SERVFAIL: its target cannot be resolved"]]
    problem = "cannot answer a.test. ALIAS: SERVFAIL: its target cannot be resolved"
    assert sync_of(7, nodes, zone="a.test.") == Sync("warn", counts(1, 2), "ns2", problem)
    assert sync_of(7, nodes, zone="b.test.").tone == sync_of(7, nodes).tone == "ok"
    assert sync_of(7, [*nodes, node_status("ns3", 1, Word.OFFLINE)], zone="a.test.").counts.in_sync == 1
