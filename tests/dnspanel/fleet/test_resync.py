"""Tests of users' commands to one node: resync, rebuild, drain, check."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role
from dnspanel.fleet import resync, tasks
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Bootstrap, NodeEvent
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.fleet.conftest import NOW, EnrolledAgent, MakeNode
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)


def test_everything_anew_is_asked_for_once(active_node: MakeNode) -> None:
    node = active_node()
    resync.resync(node=node, now=NOW, by=None)
    assert (Bootstrap.objects.get().schema, AuditEntry.objects.latest("pk").action) == (4, "node.resync")
    with pytest.raises(WrongState, match="is already getting a snapshot"):
        resync.resync(node=node, now=NOW, by=None)
    assert AuditEntry.objects.filter(action="node.resync").count() == 1


def test_a_rebuild_makes_the_publisher_write_the_schema(active_node: MakeNode) -> None:
    node = active_node()
    resync.rebuild(node=node, schema=5, now=NOW, by=None)
    assert Bootstrap.objects.get().schema == 5
    assert 5 in schemas_in_use()
    for schema in (4, 9):
        with pytest.raises(WrongState):
            resync.rebuild(node=node, schema=schema, now=NOW, by=None)


def test_a_drained_node_is_given_nothing(active_node: MakeNode) -> None:
    node = active_node()
    node_lifecycle.drain(node=node, now=NOW, by=None)
    with pytest.raises(WrongState, match="doesn’t receive updates"):
        resync.resync(node=node, now=NOW, by=None)


def test_a_check_is_asked_of_the_agent_and_noted(enrolled_agent: Callable[..., EnrolledAgent]) -> None:
    agent = enrolled_agent()
    resync.check_now(node=agent.node, now=timezone.now(), by=None)
    tasks.check_node(agent.node.pk)
    agent.stop()
    tasks.check_node(agent.node.pk)
    newest, requested = NodeEvent.objects.filter(kind="check").order_by("-pk")
    assert requested.sentence == "A check of every row was requested."
    assert newest.sentence.startswith("The check couldn’t be started: no connection")


def test_only_who_may_change_nodes_asks(active_node: MakeNode) -> None:
    bob, node = make_person("bob", Role.EDITOR), active_node()
    for ask in (resync.resync, resync.check_now):
        with pytest.raises(Forbidden):
            ask(node=node, now=NOW, by=bob)
    with pytest.raises(Forbidden):
        resync.rebuild(node=node, schema=5, now=NOW, by=bob)
