"""Tests of reused node names: a new node gets a retired node's name, but none of its data."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role
from dnspanel.alerts.models import Alert
from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity
from dnspanel.fleet import events, telemetry
from dnspanel.fleet.errors import CodeRefused, NameTaken, UnknownNode
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import fronts, node_lifecycle, unjoined
from dnspanel.fleet.reads.queries import node_status, node_statuses
from dnspanel.webhooks.hooks import WebhookTerms, create_webhook
from dnspanel.webhooks.models import Event, EventKind
from tests.dnspanel.fleet.conftest import NOW, MakeNode, create_front, create_waiting_node, signing_request
from tests.dnspanel.monitoring.test_metrics import sample
from tests.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def retired(active_node: MakeNode) -> Node:
    """Return a retired node ns1 with an event."""
    node = active_node("ns1")
    events.note(node_id=node.pk, kind="check", message="Of the old one.", now=NOW)
    return node_lifecycle.retire(node=node, now=NOW, by=None)


def test_a_new_node_takes_the_name_of_a_retired_one(retired: Node, active_node: MakeNode) -> None:
    """Regression test: names of retired nodes were blocked, so a replacement for ns1 needed another name."""
    new = active_node("ns1")
    assert node_lifecycle.node_by_name("ns1") == new
    assert node_status(name="ns1", now=NOW).node == new
    assert [status.node.pk for status in node_statuses(now=NOW)] == [new.pk]
    assert node_lifecycle.predecessors_of(new) == [retired]


def test_the_retired_one_stays_reachable_at_its_slug(retired: Node, active_node: MakeNode) -> None:
    assert node_lifecycle.node_by_name("ns1") == retired  # as long as no other node has the name
    new = active_node("ns1")
    assert (new.slug, retired.slug) == ("ns1", f"ns1_{retired.pk}")
    assert node_lifecycle.node_by_name(retired.slug) == retired
    assert node_status(name=retired.slug, now=NOW).node == retired
    for unknown in (f"ns1_{new.pk}", f"ns2_{retired.pk}", "ns1_", "ns1_x", "_", f"ns1_{'9' * 40}", "ns1_²"):
        with pytest.raises(UnknownNode):
            node_lifecycle.node_by_name(unknown)


def test_only_one_node_of_the_fleet_has_a_name(retired: Node, active_node: MakeNode) -> None:
    new = active_node("ns1")
    with pytest.raises(NameTaken):
        create_waiting_node("ns1")
    other = create_waiting_node("ns2")
    with pytest.raises(NameTaken):
        unjoined.change_node(
            node=other,
            described=node_lifecycle.NodeDescription(
                name="ns1",
                dns_address="192.0.2.1",
                dns_port=53,
                agent_host="192.0.2.1",
                agent_port=8533,
                schema=4,
                group=None,
                tags=(),
            ),
            now=NOW,
            by=None,
        )
    node_lifecycle.retire(node=new, now=NOW, by=None)
    third = create_waiting_node("ns1")
    assert node_lifecycle.predecessors_of(third) == [new, retired]
    assert node_lifecycle.node_by_name("ns1") == third


def test_nothing_of_the_two_is_mixed(retired: Node, active_node: MakeNode, live_redis: None) -> None:
    telemetry.keep_samples(node_id=retired.pk, samples=[sample(int(timezone.now().timestamp()))])
    new = active_node("ns1")
    assert new.certificate_sha256 != retired.certificate_sha256
    assert retired.certificate_sha256 not in new.pins
    assert telemetry.live_now([new.pk]) == {}
    assert (new.acked, new.report, new.machine) == (0, {}, "")
    assert [event.kind for event in new.events.all()] == ["enrolment"]
    assert "check" in {event.kind for event in retired.events.all()}


def test_the_old_code_lets_no_server_in_as_the_new_node(waiting_node: MakeNode) -> None:
    old = waiting_node("ns1")
    code = node_lifecycle.make_code(node=old, now=NOW, by=None)
    node_lifecycle.retire(node=old, now=NOW, by=None)
    waiting_node("ns1")
    with pytest.raises(CodeRefused):
        node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=NOW)


def test_a_front_does_not_ask_the_new_node_because_it_asked_the_old_one(active_node: MakeNode) -> None:
    old, front = active_node("ns1"), create_front()
    fronts.set_terms(node=front, terms=fronts.Terms({"ns1": 3}), now=NOW, by=None)
    node_lifecycle.retire(node=old, now=NOW, by=None)
    new = active_node("ns1")
    assert fronts.terms_of(front).backends == {}
    fronts.set_terms(node=front, terms=fronts.Terms({"ns1": 2}), now=NOW, by=None)
    assert [row.node for row in front.front.backends.all()] == [new]


def test_an_alert_of_the_old_node_ends_when_the_new_one_has_the_same(active_node: MakeNode, settings: Any) -> None:
    settings.EMAIL_HOST = "127.0.0.1"
    terms = WebhookTerms("", (EventKind.ALERT, EventKind.ALERT_OVER), format="mail")
    create_webhook(terms=terms, by=make_person("charlie", Role.READER), now=NOW)
    old = active_node("ns1")

    def of(node: Node) -> Condition:
        return Condition("node.standing:ns1", "node.offline", Severity.CRITICAL, "ns1 is offline.", node.pk)

    keep([of(old)], now=NOW)
    node_lifecycle.retire(node=old, now=NOW, by=None)
    new = active_node("ns1")
    keep([of(new)], now=NOW + timedelta(seconds=1))
    found = {alert.node_id: alert.over_at is None for alert in Alert.objects.all()}
    assert found == {old.pk: False, new.pk: True}
    kinds = Event.objects.order_by("pk").values_list("kind", flat=True)
    assert list(kinds) == [EventKind.ALERT, EventKind.ALERT, EventKind.ALERT_OVER]


def test_the_audit_log_tells_the_two_apart(retired: Node, active_node: MakeNode) -> None:
    new = active_node("ns1")
    created = AuditEntry.objects.filter(action="node.create", target="ns1").order_by("pk")
    assert [entry.details["number"] for entry in created] == [retired.pk, new.pk]
    assert AuditEntry.objects.get(action="node.retire").details["number"] == retired.pk


def test_only_who_is_in_the_fleet_is_found_there(retired: Node, active_node: MakeNode) -> None:
    assert node_lifecycle.node_in_fleet("ns1") is None
    new = active_node("ns1")
    assert node_lifecycle.node_in_fleet("ns1") == new
    assert Node.objects.filter(name="ns1", state=NodeState.RETIRED).get() == retired
