"""Tests of nodes that were created but never joined."""

from typing import Any

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.errors import BadNode, CodeRefused, NameTaken, WrongState
from dnspanel.fleet.models import Node, NodeGroup, NodeState
from dnspanel.fleet.nodes import node_lifecycle, unjoined
from dnspanel.zones.rights.access import Forbidden
from tests.dnspanel.fleet.conftest import NOW, MakeNode, create_active_node, signing_request
from tests.people import alice as alice
from tests.people import bob as bob

pytestmark = pytest.mark.django_db

TYPED = {
    "name": "ns7",
    "dns_address": "192.0.2.77",
    "dns_port": 5353,
    "agent_host": "ns7.example.net",
    "agent_port": 8600,
    "schema": 5,
    "group": None,
    "tags": ["Berlin"],
}


def change(node: Node, by: User | None = None, **fields: Any) -> Node:
    described = node_lifecycle.NodeDescription(**{**TYPED, **fields})
    return unjoined.change_node(node=node, described=described, now=NOW, by=by)


def test_everything_that_was_typed_can_be_changed(waiting_node: MakeNode, alice: User) -> None:
    """Regression test: a mistyped address could not be corrected, and the node's name stayed taken."""
    node, group = waiting_node("ns1"), NodeGroup.objects.create(name="first", order=1)
    change(node, alice, group=group)
    kept = Node.objects.get(pk=node.pk)
    assert {name: getattr(kept, name) for name in TYPED} == {**TYPED, "group": group, "tags": ["berlin"]}
    entry = AuditEntry.objects.get(action="node.change")
    assert (entry.target, entry.details["before"]["name"], entry.details["after"]["group"]) == ("ns7", "ns1", "first")


def test_a_code_from_before_is_void_because_its_command_has_the_old_address(waiting_node: MakeNode) -> None:
    node = waiting_node("ns1")
    code = node_lifecycle.make_code(node=node, now=NOW, by=None)
    change(node)
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)
    assert node.codes.count() == 0


def test_a_request_that_waits_stays_and_joins_under_the_new_name(waiting_node: MakeNode) -> None:
    node = waiting_node("ns1")
    code, request = node_lifecycle.make_code(node=node, now=NOW, by=None), signing_request()
    node_lifecycle.submit_request(code=code, csr_pem=request, now=NOW)
    node_lifecycle.approve(node=change(node), now=NOW, by=None)
    joined = node_lifecycle.submit_request(code=code, csr_pem=request, now=NOW)
    assert isinstance(joined, node_lifecycle.Enrolled)
    assert joined.node == "ns7"


@pytest.mark.parametrize(
    ("fields", "error"), [({"name": "ns2"}, NameTaken), ({"dns_port": 0}, BadNode), ({"tags": ["a b"]}, BadNode)]
)
def test_what_no_node_can_be_changes_nothing(
    waiting_node: MakeNode, fields: dict[str, Any], error: type[Exception]
) -> None:
    node, _ = waiting_node("ns1"), waiting_node("ns2")
    with pytest.raises(error):
        change(node, **fields)
    assert Node.objects.get(pk=node.pk).dns_address == node.dns_address


def test_a_removed_node_leaves_its_name_free(waiting_node: MakeNode, alice: User) -> None:
    node = waiting_node("ns1")
    node_lifecycle.make_code(node=node, now=NOW, by=None)
    unjoined.remove_node(node=node, now=NOW, by=alice)
    assert not Node.objects.exists()
    assert AuditEntry.objects.get(action="node.remove").target == "ns1"
    waiting_node("ns1")
    with pytest.raises(WrongState, match="already removed"):
        unjoined.remove_node(node=node, now=NOW, by=alice)


@pytest.mark.parametrize("state", list(NodeState))
def test_a_node_that_has_joined_is_neither_changed_nor_removed(state: NodeState) -> None:
    node = create_active_node()
    if state == NodeState.AWAITING_APPROVAL:
        node_lifecycle.revoke(node=node, now=NOW, by=None)
    Node.objects.filter(pk=node.pk).update(state=state)
    for act in (change, lambda node: unjoined.remove_node(node=node, now=NOW, by=None)):
        with pytest.raises(WrongState, match="has already joined"):
            act(node)
    assert Node.objects.get().name == "ns1"


def test_only_who_may_change_nodes_may(waiting_node: MakeNode, bob: User) -> None:
    node = waiting_node("ns1")
    with pytest.raises(Forbidden):
        change(node, bob)
    with pytest.raises(Forbidden):
        unjoined.remove_node(node=node, now=NOW, by=bob)
