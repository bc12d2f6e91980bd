"""Tests of certificate renewal, with real agents over real TLS."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.fleet.errors import WrongState
from dnspanel.fleet.models import Authority, Node, NodeEvent
from dnspanel.fleet.nodes import node_lifecycle, rotate
from dnspanel.fleet.nodes.authority import NODE_LIFETIME, client_expires_at, ensure_authority
from replication.errors import NodeUnreachable, Refused
from replication.node_client import NodeClient
from tests.dnspanel.fleet.conftest import EnrolledAgent

pytestmark = pytest.mark.django_db(transaction=True)

Make = Callable[..., EnrolledAgent]

DUE = NODE_LIFETIME * 0.7


def fresh(agent: EnrolledAgent) -> Node:
    agent.node.refresh_from_db()
    return agent.node


def test_nothing_is_replaced_before_two_thirds_of_its_life(enrolled_agent: Make) -> None:
    agent = enrolled_agent(age=NODE_LIFETIME * 0.6)
    before = fresh(agent).certificate_sha256
    assert rotate.rotate_due(now=timezone.now()) == 0
    assert fresh(agent).certificate_sha256 == before


def test_a_certificate_is_replaced_by_itself_and_the_agent_goes_on_without_a_restart(enrolled_agent: Make) -> None:
    agent = enrolled_agent(age=DUE)
    before = fresh(agent)
    old, kept = before.certificate_sha256, agent.client()
    with kept:
        kept.status()
        assert rotate.rotate_due(now=timezone.now()) == 1
        assert kept.status().node == "ns1"  # an older connection stays valid
    node = fresh(agent)
    assert node.certificate_sha256 != old
    assert (node.next_certificate_sha256, node.next_certificate_pem) == ("", "")
    assert node.certificate_expires_at is not None
    assert node.certificate_expires_at - timezone.now() > DUE
    assert agent.status().certificate_expires_at == node.certificate_expires_at.timestamp()
    assert "replaced" in NodeEvent.objects.filter(kind="certificate").get().sentence
    # The old certificate is no longer valid for anyone.
    context = agent.client().ssl_context
    with NodeClient("127.0.0.1", agent.port, context, certificate_sha256=old) as client, pytest.raises(Refused):
        client.status()


def test_after_a_restart_the_agent_shows_the_new_certificate(enrolled_agent: Make) -> None:
    agent = enrolled_agent(age=DUE)
    rotate.rotate_due(now=timezone.now())
    agent.stop()
    agent.start()
    assert agent.status().node == "ns1"


@pytest.mark.parametrize("lost", ["request", "certificate", "answer"])
def test_a_rotation_that_broke_off_anywhere_is_ended_by_the_next_attempt(
    enrolled_agent: Make, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    agent = enrolled_agent(age=DUE)
    original = NodeClient._request

    def broken(self: NodeClient, method: str, target: str, *rest: object) -> object:
        if target == "/v1/certificate" and lost == {"POST": "request"}.get(method, lost):
            if lost in {"request", "answer"}:
                original(self, method, target, *rest)  # type: ignore[arg-type]
            if lost == "request" or method == "PUT":
                raise NodeUnreachable(host="ns1", port=1, reason="the line was cut")
        return original(self, method, target, *rest)  # type: ignore[arg-type]

    with monkeypatch.context() as cut:
        cut.setattr(NodeClient, "_request", broken)
        assert rotate.rotate_due(now=timezone.now()) == 0
    assert agent.status().node == "ns1"  # the panel accepts either certificate
    assert rotate.rotate_due(now=timezone.now()) == 1
    assert fresh(agent).next_certificate_sha256 == ""
    assert agent.status().node == "ns1"


def test_whoever_tries_again_sends_the_same_certificate_so_a_late_one_does_no_harm(
    enrolled_agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = enrolled_agent(age=DUE)
    sent: list[str] = []
    original = NodeClient.install_certificate

    def late(self: NodeClient, certificate_pem: str, ca_pem: str) -> None:
        sent.append(certificate_pem)
        raise NodeUnreachable(host="ns1", port=1, reason="it waits in a queue")

    with monkeypatch.context() as cut:
        cut.setattr(NodeClient, "install_certificate", late)
        assert rotate.rotate_due(now=timezone.now()) == 0
    assert rotate.rotate_due(now=timezone.now()) == 1
    assert [fresh(agent).certificate_pem] == sent
    with agent.client() as client:
        original(client, sent[0], ensure_authority(now=timezone.now()).ca_pem)
    assert agent.status().node == "ns1"


def test_a_node_that_is_away_keeps_its_old_certificate_and_delays_nobody(enrolled_agent: Make) -> None:
    away, here = enrolled_agent("ns1", DUE), enrolled_agent("ns2", DUE)
    away.stop()
    assert rotate.rotate_due(now=timezone.now()) == 1
    assert fresh(here).next_certificate_sha256 == ""
    away.start()
    assert rotate.rotate_due(now=timezone.now()) == 1


def test_a_person_may_replace_it_at_any_time(enrolled_agent: Make) -> None:
    agent = enrolled_agent()
    old = fresh(agent).certificate_sha256
    rotate.rotate_now(node=agent.node, now=timezone.now(), by=None)
    assert fresh(agent).certificate_sha256 != old


def test_a_revoked_certificate_counts_no_more_at_once_and_a_new_enrollment_does(enrolled_agent: Make) -> None:
    agent = enrolled_agent(age=DUE)
    client = agent.client()
    node_lifecycle.revoke(node=agent.node, now=timezone.now(), by=None)
    assert fresh(agent).pins == frozenset()
    with (
        NodeClient("127.0.0.1", agent.port, client.ssl_context, certificate_sha256=agent.node.pins) as refused,
        pytest.raises(Refused),
    ):
        refused.status()
    with pytest.raises(WrongState):
        node_lifecycle.revoke(node=agent.node, now=timezone.now(), by=None)
    agent.stop()
    agent.enroll()
    agent.start()
    assert agent.status().node == "ns1"


def test_the_panels_own_certificate_is_replaced_too_and_agents_take_either(enrolled_agent: Make) -> None:
    agent = enrolled_agent(age=DUE)
    before = ensure_authority(now=timezone.now())
    assert timezone.now() < client_expires_at(before) < timezone.now() + NODE_LIFETIME / 3
    old = agent.client()
    rotate.rotate_due(now=timezone.now())
    after = Authority.objects.get()
    assert after.client_pem != before.client_pem
    assert after.ca_pem == before.ca_pem
    assert client_expires_at(after) - timezone.now() > DUE
    with old, agent.client() as new:
        assert new.ssl_context is not old.ssl_context
        old.certificate_sha256 = agent.node.pins
        assert old.status().node == new.status().node == "ns1"


def test_an_expired_certificate_is_said_in_words_about_this_node_alone(
    enrolled_agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_authority(now=timezone.now())
    with monkeypatch.context() as short:
        short.setattr("dnspanel.fleet.nodes.authority.NODE_LIFETIME", timedelta(seconds=-1))
        expired = enrolled_agent("ns1")
    well = enrolled_agent("ns2")
    with pytest.raises(Refused, match=r"has expired. Revoke it on the node’s page and enroll the node again"):
        expired.status()
    assert well.status().node == "ns2"
