"""Tests of the events on a node's page."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import Role
from dnspanel.fleet import events
from dnspanel.fleet.models import NodeEvent
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.people import make_person

pytestmark = pytest.mark.django_db


def test_an_event_is_a_sentence_with_its_moment_and_who_it_was(waiting_node: MakeNode) -> None:
    alice = make_person("alice", Role.ADMINISTRATOR)
    node = waiting_node()
    events.note(node_id=node.pk, kind="drain", message="Node drained.", now=NOW, by=alice)
    event = NodeEvent.objects.get()
    assert (event.node, event.kind, event.sentence, event.at, event.by) == (
        node,
        "drain",
        "Node drained.",
        NOW,
        alice,
    )


def test_old_events_are_forgotten_and_young_ones_kept(waiting_node: MakeNode) -> None:
    node = waiting_node()
    for age in (events.KEPT + timedelta(seconds=1), timedelta(days=1)):
        events.note(node_id=node.pk, kind="contact", message=f"{age}", now=NOW - age)
    assert events.forget_events(now=NOW) == 1
    assert NodeEvent.objects.get().at == NOW - timedelta(days=1)
