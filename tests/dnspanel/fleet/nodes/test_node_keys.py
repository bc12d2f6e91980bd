"""Tests of the delivery of signing keys to real agents."""

from collections.abc import Callable
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.accounts.models import Role
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import node_keys, node_lifecycle
from dnspanel.publish.errors import RotationUnderWay
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.models import SigningKey
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.fleet.conftest import EnrolledAgent
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

Make = Callable[..., EnrolledAgent]


def hear(*agents: EnrolledAgent) -> None:
    """Store the agents' reports, as the collector does every few seconds."""
    for agent in agents:
        Node.objects.filter(pk=agent.node.pk).update(
            contact_at=timezone.now(), report={"signing_keys": list(agent.status().signing_keys)}
        )


def ours() -> set[str]:
    return {key.hex() for key in segment_signing.public_keys()}


def test_a_new_key_is_used_once_every_active_node_accepts_it(enrolled_agent: Make) -> None:
    one, two = enrolled_agent("ns1"), enrolled_agent("ns2")
    old = segment_signing.ensure_signing_key(now=timezone.now())
    new = node_keys.rotate(now=timezone.now(), by=None)
    assert segment_signing.ensure_signing_key(now=timezone.now()) == old
    two.stop()
    Node.objects.filter(pk=one.node.pk).update(contact_at=timezone.now())
    assert node_keys.spread_keys(now=timezone.now()) == 1
    assert set(one.status().signing_keys) == ours()
    assert segment_signing.ensure_signing_key(now=timezone.now()) == old
    with pytest.raises(RotationUnderWay):
        node_keys.rotate(now=timezone.now(), by=None)
    two.start()
    hear(one, two)
    node_keys.spread_keys(now=timezone.now())
    assert set(two.status().signing_keys) == ours()
    assert segment_signing.ensure_signing_key(now=timezone.now()) == new


def test_a_drained_node_is_not_waited_for_but_is_given_the_keys(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    node_lifecycle.drain(node=agent.node, now=timezone.now(), by=None)
    segment_signing.ensure_signing_key(now=timezone.now())
    new = node_keys.rotate(now=timezone.now(), by=None)
    hear(agent)
    assert node_keys.spread_keys(now=timezone.now()) == 1
    assert segment_signing.ensure_signing_key(now=timezone.now()) == new
    assert set(agent.status().signing_keys) == ours()


def test_a_person_may_force_it_and_a_node_that_was_away_catches_up(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    old = segment_signing.ensure_signing_key(now=timezone.now())
    new = node_keys.rotate(now=timezone.now(), by=None)
    agent.stop()
    node_keys.force(now=timezone.now(), by=None)
    assert segment_signing.ensure_signing_key(now=timezone.now()) == new
    # While the node is absent, its only known key is retired.
    assert node_keys.retire_former(now=timezone.now(), by=None) == 1
    agent.start()
    assert agent.status().signing_keys == (bytes(old.public).hex(),)
    with agent.client() as client:
        assert node_keys.send_keys(client) == node_keys.KeysSent.NOW
        assert node_keys.send_keys(client) == node_keys.KeysSent.BEFORE
    agent.stop()
    agent.start()
    assert agent.status().signing_keys == (bytes(new.public).hex(),)


def test_a_node_that_knows_none_of_our_keys_takes_no_list(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    SigningKey.objects.all().delete()
    segment_signing.ensure_signing_key(now=timezone.now())
    with agent.client() as client:
        assert node_keys.send_keys(client) == node_keys.KeysSent.CANNOT


def test_the_page_is_told_who_lacks_which_key(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    hear(agent)
    node_keys.rotate(now=timezone.now(), by=None)
    newest, oldest = node_keys.acceptance()
    assert (newest.accepting, newest.lacking) == (0, ("ns1",))
    assert (oldest.accepting, oldest.lacking) == (1, ())


def test_only_who_may_change_nodes_rotates() -> None:
    with pytest.raises(Forbidden):
        node_keys.rotate(now=timezone.now(), by=make_person("bob", Role.EDITOR))


def test_the_command_line_rotates_forces_and_retires() -> None:
    segment_signing.ensure_signing_key(now=timezone.now())

    def run(*options: str) -> str:
        output = StringIO()
        call_command("rotate_signing_key", *options, stdout=output)
        return output.getvalue()

    assert "was created" in run()
    with pytest.raises(CommandError, match="Another key rotation is in progress"):
        run()
    assert "is in use" in run("--force")
    assert "retired: 1" in run("--retire")
