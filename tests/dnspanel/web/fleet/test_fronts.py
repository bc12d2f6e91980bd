"""The pages of a front: the state of its nodes, and its settings."""

from dataclasses import replace
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import fronts
from dnspanel.fleet.nodes.fronts import Terms
from dnspanel.texts import gettext, ngettext
from replication.wire.front_messages import BackendReport, FrontReport, Told
from tests.dnspanel.fleet.conftest import create_active_node, create_front
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import NOW

pytestmark = pytest.mark.usefixtures("live_redis")

IN = BackendReport("ns1", "192.0.2.53:53", 1, True, True, "has everything", 41, 0, 900, 120.5, 2, 0.31)
OUT = BackendReport("ns2", "192.0.2.53:53", 3, False, True, "is drained: new disks", 40, 1, 9, 0.0, 0, 0.0)


@pytest.fixture
def front(db: None) -> Node:
    """Create an active front with two nodes, and a report that one of these is out."""
    create_active_node("ns1")
    create_active_node("ns2")
    front = create_front()
    fronts.set_terms(node=front, terms=Terms({"ns1": 1, "ns2": 3}), now=NOW, by=None)
    report = {"front": FrontReport("ab", 1, 1, (IN, OUT), 5).to_json(), "versions": {"dnsdist": "1.7.3"}}
    Node.objects.filter(pk=front.pk).update(
        state=NodeState.ACTIVE, report=report, reported_at=timezone.now(), contact_at=timezone.now()
    )
    front.refresh_from_db()
    return front


def text(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_its_page_shows_each_node_behind_it_and_no_rows_to_check(front: Node, browser: Browser, bob: User) -> None:
    page = text(browser(bob).get(reverse("node-detail", args=[front.name])))
    assert "Nodes behind this front" in page
    assert "The node is drained: new disks." in page
    assert "120.5" in page
    assert "1 of 2 nodes in rotation. Minimum: 1." in page
    assert "Verify now" not in page
    assert "dnsdist 1.7.3" in page
    fragment = text(browser(bob).get(reverse("node-detail", args=[front.name]), headers=HTMX))
    assert 'id="front-nodes"' in fragment
    assert "hx-swap-oob" in fragment


def test_a_german_reads_why_each_node_is_in_or_out(front: Node, browser: Browser, bob: User) -> None:
    out = Told.of(gettext("The node is drained. Reason: {drain_reason}").format(drain_reason="new disks"))
    lacks = ngettext("The node is {count} change behind.", "The node is {count} changes behind.", 3).format(count=3)
    stays = gettext("{reason} The node stays in rotation because at least {minimum} nodes must remain.").format(
        reason=lacks, minimum=1
    )
    report = FrontReport(
        "ab", 1, 0, (tells(IN, Told.of(stays)), tells(OUT, out), replace(IN, name="ns3", reason="has everything"))
    )
    Node.objects.filter(pk=front.pk).update(report={"front": report.to_json()})
    User.objects.filter(pk=bob.pk).update(language="de")
    page = text(browser(bob).get(reverse("node-detail", args=[front.name])))
    assert "Der Knoten ist mit 3 Änderungen im Rückstand. Der Knoten bleibt in der Rotation" in page
    assert "Der Knoten ist entlastet. Grund: new disks" in page
    assert "The node has everything." in page, "as an agent of an older release says it"


def tells(backend: BackendReport, told: Told) -> BackendReport:
    return replace(backend, reason=told.clause, spoken=told.spoken)


def test_a_front_that_was_not_heard_says_so(front: Node, browser: Browser, bob: User) -> None:
    Node.objects.filter(pk=front.pk).update(report={})
    assert "This front’s agent hasn’t reported yet." in text(
        browser(bob).get(reverse("node-detail", args=[front.name]))
    )
    fronts.set_terms(node=front, terms=Terms(), now=NOW, by=None)
    assert "No nodes yet. Choose the nodes for this front." in text(
        browser(bob).get(reverse("node-detail", args=[front.name]))
    )


def test_nodes_and_bounds_are_set_and_refused_at_their_field(front: Node, browser: Browser, alice: User) -> None:
    url = reverse("node-front", args=[front.name])
    page = text(browser(alice).get(url))
    assert 'name="weight-ns1"' in page
    assert 'name="weight-front1"' not in page, "a front asks no front"
    values = {"minimum": 1, "behind_seconds": 2, "most_behind": 0, "cache_entries": 500, "queries_per_second": 0}
    saved = browser(alice).post(url, values | {"weight-ns1": 2, "weight-ns2": ""})
    assert saved.status_code == 302
    assert fronts.terms_of(front) == Terms({"ns1": 2}, behind_seconds=2.0, cache_entries=500)
    refused = browser(alice).post(url, values | {"minimum": 65, "weight-ns1": 2})
    assert refused.status_code == 422
    assert "Enter a number from 1 to 64." in text(refused)
    assert browser(alice).get(reverse("node-front", args=["ns1"])).status_code == 404


def test_a_front_is_added_like_a_node_and_gets_its_own_command(browser: Browser, alice: User) -> None:
    values = {
        "name": "front9", "is_front": "True", "schema": 4, "tags": "", "dns_address": "192.0.2.80", "dns_port": 53,
        "agent_host": "front9.example.net", "agent_port": 8534,
    }  # fmt: skip
    page = text(browser(alice).post(reverse("node-new"), values, follow=True))
    assert "dnspanel-front join --panel" in page
    assert "python -m replication.front enroll" in page
    assert "--listen" not in page  # the panel's answer contains the address
    assert Node.objects.get(name="front9").is_front
