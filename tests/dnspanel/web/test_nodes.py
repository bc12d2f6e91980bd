"""Pages of the fleet."""

import re
from typing import Any

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.fleet import enroll, telemetry
from dnspanel.fleet.models import Node, NodeState
from dnspanel.publish.stall import record_stall
from replication.protocol import Sample
from tests.dnspanel.fleet.conftest import MakeNode, signing_request
from tests.dnspanel.web.conftest import HTMX, Browser

NODES = "/nodes/"
NEW = "/add-node/"
FORM = {
    "name": "ns1",
    "dns_address": "192.0.2.53",
    "dns_port": "53",
    "agent_host": "ns1.example.net",
    "agent_port": "8853",
    "schema": "4",
}

pytestmark = pytest.mark.usefixtures("live_redis")


def sample(at: int, questions: int = 100, seconds: float = 1.0) -> Sample:
    rcodes = {"NOERROR": questions - 10, "NXDOMAIN": 10}
    return Sample(at, seconds, 1000, questions, 0, rcodes, 90, 10, 5, 5, 312, 48_000_000)


def test_an_empty_fleet_says_that_nobody_serves_the_zones(browser: Browser, alice: User, charlie: User) -> None:
    page = browser(alice).get(NODES).content.decode()
    assert "Zones are stored and kept, but nobody serves them." in page
    assert "replication.agent enroll" in page
    assert f'href="{NEW}"' in page
    assert f'href="{NEW}"' not in browser(charlie).get(NODES).content.decode()


def test_everybody_signed_in_sees_live_numbers(
    active_node: MakeNode, browser: Browser, alice: User, bob: User, charlie: User
) -> None:
    node = active_node("ns1")
    now = int(timezone.now().timestamp())
    telemetry.keep_samples(node_id=node.pk, samples=[sample(now - 2), sample(now - 1, 120)])
    for person in (alice, bob, charlie):
        page = browser(person).get(NODES).content.decode()
        assert '<span class="big-number">120</span>' in page
        assert "NOERROR 92 %" in page
        assert "<polyline" in page
        assert "0.31 ms" in page


def test_the_grid_is_one_fragment_that_fetches_itself(active_node: MakeNode, browser: Browser, bob: User) -> None:
    active_node("ns1")
    fragment = browser(bob).get(NODES, headers=HTMX).content.decode()
    assert fragment.lstrip().startswith('<section id="fleet-grid"')
    assert 'data-live="2"' in fragment


@pytest.mark.parametrize("nodes", [1, 8])
def test_many_nodes_cost_as_many_queries_as_one(
    active_node: MakeNode,
    browser: Browser,
    bob: User,
    nodes: int,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(nodes):
        active_node(f"ns{number}")
    client = browser(bob)
    # Session, user, nodes, head, what they lack, head for the line, stalls.
    with django_assert_max_num_queries(7):
        client.get(NODES, headers=HTMX)


def test_without_redis_the_page_says_so_and_the_rest_works(active_node: MakeNode, browser: Browser, bob: User) -> None:
    active_node("ns1")
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        response = browser(bob).get(NODES)
    assert response.status_code == 200
    assert b"No live numbers just now" in response.content
    assert b"ns1" in response.content


def test_a_standstill_of_publishing_is_said_above_the_nodes(active_node: MakeNode, browser: Browser, bob: User) -> None:
    active_node("ns1")
    record_stall(schema=4, sequence=9, zone_name="example.test.", message="The store is full.", now=timezone.now())
    page = browser(bob).get(NODES).content.decode()
    assert "Publishing stands still." in page
    assert "The store is full." in page


def test_a_refusal_of_a_node_is_shown_in_words(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(refusal="its disk is full", refused_at=timezone.now())
    for address in (NODES, reverse("node-detail", args=["ns1"])):
        page = browser(bob).get(address).content.decode()
        assert "rejecting" in page
        assert "its disk is full" in page


def test_the_page_of_a_node_shows_facts_and_charts(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    page = browser(bob).get(reverse("node-detail", args=["ns1"])).content.decode()
    assert node.certificate_sha256[:16] in page
    assert f'data-points="{reverse("node-points", args=["ns1"])}"' in page
    fragment = browser(bob).get(reverse("node-detail", args=["ns1"]), headers=HTMX).content.decode()
    assert 'id="node-facts"' in fragment
    assert 'id="node-standing" hx-swap-oob="true"' in fragment
    assert "chart-qps" not in fragment


def test_points_come_since_the_last_one_with_gaps_as_gaps(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    now = int(timezone.now().timestamp())
    telemetry.keep_samples(node_id=node.pk, samples=[sample(now - 9), sample(now - 5, seconds=0), sample(now - 4, 50)])
    address = reverse("node-points", args=["ns1"])
    points = browser(bob).get(address).json()["points"]
    assert [point[1] for point in points if point[0] in {now - 9, now - 5, now - 4}] == [100, None, 50]
    assert [point[0] for point in browser(bob).get(address, {"after": now - 5}).json()["points"]] == [now - 4]
    assert browser(bob).get(address, {"after": "rubbish"}).status_code == 200


def test_an_unknown_node_is_nothing(browser: Browser, alice: User) -> None:
    for view in ("node-detail", "node-points", "node-enrolment"):
        assert browser(alice).get(reverse(view, args=["ns9"])).status_code == 404
    assert browser(alice).post(reverse("node-act", args=["ns9", "drain"])).status_code == 404


def test_the_code_is_shown_once(browser: Browser, alice: User) -> None:
    response = browser(alice).post(NEW, FORM)
    page = response.content.decode()
    assert response["Cache-Control"] == "no-store"
    code = re.search(r"--code ([\w.-]+)", page)
    assert code is not None
    assert 'hx-history="false"' in page
    node = Node.objects.get()
    assert (node.name, node.state) == ("ns1", NodeState.AWAITING_APPROVAL)
    assert code.group(1) not in browser(alice).get(reverse("node-enrolment", args=["ns1"])).content.decode()
    assert isinstance(
        enroll.submit_request(code=code.group(1), csr_pem=signing_request(), now=timezone.now()), enroll.Waiting
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "Bad Name"}, "lower-case letters"),
        ({"name": "ns0"}, "exists already"),
        ({"dns_address": "nonsense"}, "valid IPv4 or IPv6"),
        ({"agent_host": "a host"}, "host name or an IP address"),
        ({"agent_port": "70000"}, "less than or equal to 65535"),
        ({"schema": "3"}, "valid choice"),
    ],
)
def test_a_node_that_cannot_be_is_refused_at_its_field(
    browser: Browser, alice: User, waiting_node: MakeNode, change: dict[str, str], complaint: str
) -> None:
    waiting_node("ns0")
    response = browser(alice).post(NEW, {**FORM, **change})
    assert response.status_code == 422
    assert complaint in response.content.decode()
    assert Node.objects.count() == 1


def test_a_new_code_replaces_the_old_one(browser: Browser, alice: User, waiting_node: MakeNode) -> None:
    node = waiting_node("ns1")
    old = enroll.make_code(node=node, now=timezone.now(), by=None)
    page = browser(alice).post(reverse("node-enrolment", args=["ns1"])).content.decode()
    assert "--code" in page
    assert old not in page


@pytest.fixture
def asking_node(db: None, waiting_node: MakeNode) -> Node:
    """A node whose agent has asked for a certificate."""
    node = waiting_node("ns1")
    code = enroll.make_code(node=node, now=timezone.now(), by=None)
    enroll.submit_request(code=code, csr_pem=signing_request(), now=timezone.now())
    return node


def test_the_fingerprint_is_shown_and_approved(asking_node: Node, browser: Browser, alice: User, bob: User) -> None:
    waiting = enroll.request_of(asking_node)
    assert waiting is not None
    steps = reverse("node-enrolment", args=["ns1"])
    assert waiting.csr_sha256 in browser(bob).get(steps, headers=HTMX).content.decode()
    assert "Only administrators approve nodes." in browser(bob).get(steps).content.decode()
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "approve"]), {"fingerprint": waiting.csr_sha256})
    asking_node.refresh_from_db()
    assert asking_node.state == NodeState.ACTIVE
    assert b"ns1 is approved; its first zones are on their way." in client.get(NODES).content


def test_an_approval_holds_only_for_the_fingerprint_that_was_seen(
    asking_node: Node, browser: Browser, alice: User
) -> None:
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "approve"]), {"fingerprint": "00" * 32})
    asking_node.refresh_from_db()
    assert asking_node.state == NodeState.AWAITING_APPROVAL
    assert b"The request has changed since you compared it. Nothing was changed." in client.get(NODES).content


def test_a_declined_node_may_ask_again(asking_node: Node, browser: Browser, alice: User) -> None:
    browser(alice).post(reverse("node-act", args=["ns1", "decline"]))
    assert enroll.request_of(asking_node) is None


def test_drain_and_resume(active_node: MakeNode, browser: Browser, alice: User, bob: User) -> None:
    node = active_node("ns1")
    page = reverse("node-detail", args=["ns1"])
    assert "Only administrators change nodes." in browser(bob).get(page).content.decode()
    client = browser(alice)
    for act, state, words in (
        ("drain", NodeState.DRAINED, "takes no more pushes"),
        ("resume", NodeState.ACTIVE, "again"),
    ):
        assert client.post(reverse("node-act", args=["ns1", act]))["Location"] == page
        node.refresh_from_db()
        assert node.state == state
        assert words in client.get(page).content.decode()


def test_an_act_that_the_state_does_not_allow_changes_nothing(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "resume"]))
    assert b"ns1 is not drained. Nothing was changed." in client.get(NODES).content
    assert client.post(reverse("node-act", args=["ns1", "explode"])).status_code == 404


def test_a_node_leaves_only_when_its_name_is_typed(active_node: MakeNode, browser: Browser, alice: User) -> None:
    node = active_node("ns1")
    for typed, state in (("ns2", NodeState.ACTIVE), ("ns1", NodeState.RETIRED)):
        browser(alice).post(reverse("node-act", args=["ns1", "retire"]), {"typed": typed})
        node.refresh_from_db()
        assert node.state == state
    assert b'id="node-ns1"' not in browser(alice).get(NODES).content


def test_a_waiting_node_leads_to_its_steps(waiting_node: MakeNode, browser: Browser, bob: User) -> None:
    waiting_node("ns1")
    response: Any = browser(bob).get(reverse("node-detail", args=["ns1"]))
    assert response["Location"] == reverse("node-enrolment", args=["ns1"])
