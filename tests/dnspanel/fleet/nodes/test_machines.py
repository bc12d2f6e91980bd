"""Tests of the assignment of machines to nodes."""

import shutil
from collections.abc import Callable

import pytest
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.collector import RECORD_SECONDS, Collector
from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Node, NodeEvent
from dnspanel.fleet.nodes import machines
from dnspanel.fleet.nodes.machines import Sightings
from tests.dnspanel.fleet.conftest import EnrolledAgent, MakeNode

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("live_redis")]

FIRST, OTHER = "a" * 64, "b" * 64


def see(node: Node, machine: str, address: str = "192.0.2.1", *, second: bool = False) -> Node:
    node.refresh_from_db()
    machines.see(node=node, machine=machine, address=address, second=second, now=timezone.now())
    node.refresh_from_db()
    return node


def test_restarts_are_no_second_machine_but_one_that_comes_back_is() -> None:
    sightings = Sightings()
    assert [sightings.is_second(at) for at in (1.0, 1.0, 2.0, 2.0, 3.0)] == [False] * 5
    assert sightings.is_second(2.0)
    assert sightings.is_second(3.0)


def test_a_clock_that_was_set_back_before_a_restart_is_no_second_machine() -> None:
    sightings = Sightings()
    assert not any(sightings.is_second(at) for at in (100.0, 50.0, 50.0, 60.0))


def test_the_first_machine_is_the_node_wherever_it_moves(active_node: MakeNode) -> None:
    node = see(active_node(), FIRST)
    assert (node.machine, node.machine_address) == (FIRST, "192.0.2.1")
    assert see(node, FIRST, "192.0.2.2").machine_address == "192.0.2.2"
    assert machines.describe_conflict(see(node, "")) == ""


def test_another_machine_stops_pushes_to_both_in_words_with_both_addresses(active_node: MakeNode) -> None:
    node = see(see(active_node(), FIRST), OTHER, "192.0.2.9")
    assert "192.0.2.1" in machines.describe_conflict(node)
    assert "192.0.2.9" in machines.describe_conflict(node)
    tasks.push_node(node.pk)
    node.refresh_from_db()
    assert "two machines use this identity" in node.refusal
    see(node, OTHER, "192.0.2.9")
    assert NodeEvent.objects.filter(kind="machine").count() == 1


def test_a_person_decides_which_machine_it_is(active_node: MakeNode) -> None:
    node = see(see(active_node(), FIRST), OTHER, "192.0.2.9")
    with pytest.raises(WrongState):
        machines.accept_other(node=node, machine="c" * 64, now=timezone.now(), by=None)
    machines.accept_other(node=node, machine=OTHER, now=timezone.now(), by=None)
    node.refresh_from_db()
    assert (node.machine, node.machine_address, node.other_machine, node.refusal) == (OTHER, "192.0.2.9", "", "")
    see(node, FIRST)
    machines.keep_first(node=node, now=timezone.now(), by=None)
    node.refresh_from_db()
    assert (node.machine, node.other_machine) == (OTHER, "")
    with pytest.raises(WrongState):
        machines.keep_first(node=node, now=timezone.now(), by=None)


def test_a_copied_agent_that_takes_over_the_address_is_found_by_the_collector(
    enrolled_agent: Callable[..., EnrolledAgent],
) -> None:
    agent = enrolled_agent()
    collector = Collector()
    at = 0.0

    def look() -> Node:
        nonlocal at
        for _ in range(2):
            at += RECORD_SECONDS
            collector.tick(at)
            collector.settle()
        at += RECORD_SECONDS
        collector.tick(at)
        collector.settle()
        return Node.objects.get()

    first = look().machine
    assert first
    agent.stop()
    agent.start()
    assert look().other_machine == ""  # a restart isn't one
    agent.stop()
    shutil.copytree(agent.directory / "state", agent.directory / "copy")
    shutil.rmtree(agent.directory / "state")
    (agent.directory / "copy").rename(agent.directory / "state")
    agent.start()
    node = look()
    assert node.machine == first
    assert node.other_machine not in ("", first)
    collector.close()
