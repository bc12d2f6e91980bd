"""Tests of the sequence that all active nodes have confirmed."""

from uuid import uuid4

import pytest

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.reads.queries import acked_everywhere
from dnspanel.zones.models import LogHead
from dnspanel.zones.signals import acked_everywhere_requested
from tests.dnspanel.fleet.conftest import MakeNode


@pytest.mark.django_db
def test_the_node_that_is_furthest_behind_counts_if_it_takes_pushes(active_node: MakeNode) -> None:
    assert acked_everywhere() is None
    epoch = LogHead.objects.get().epoch
    for name, acked in (("ns1", 7), ("ns2", 5), ("ns3", 1)):
        Node.objects.filter(pk=active_node(name).pk).update(epoch=epoch, acked=acked)
    Node.objects.filter(name="ns3").update(state=NodeState.DRAINED)
    assert (acked_everywhere, 5) in acked_everywhere_requested.send(None)
    Node.objects.filter(name="ns1").update(epoch=uuid4())
    assert acked_everywhere() == -1
