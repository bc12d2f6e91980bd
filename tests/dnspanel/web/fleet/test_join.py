"""The pages that enroll a server as a node."""

import re
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.web.fleet.join import Steps
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


@pytest.fixture
def requesting_node(db: None, waiting_node: MakeNode) -> Node:
    """Return a node whose agent has asked for a certificate."""
    node = waiting_node("ns1")
    code = node_lifecycle.make_code(node=node, now=timezone.now(), by=None)
    node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=timezone.now())
    return node


def test_the_code_is_one_time_page(browser: Browser, alice: User) -> None:
    response = browser(alice).post(NEW, FORM, follow=True)
    page = response.content.decode()
    assert response["Cache-Control"] == "no-store"
    code = re.search(r"--code ([\w.-]+)", page)
    assert code is not None
    assert 'hx-history="false"' in page
    node = Node.objects.get()
    assert (node.name, node.state) == ("ns1", NodeState.AWAITING_APPROVAL)
    assert code.group(1) not in browser(alice).get(reverse("node-enrolment", args=["ns1"])).content.decode()
    assert isinstance(
        node_lifecycle.submit_request(code=code.group(1), csr_pem=signing_request(), now=timezone.now()),
        node_lifecycle.Waiting,
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "Bad Name"}, "lowercase letters"),
        ({"name": "ns0"}, "already exists"),
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
    old = node_lifecycle.make_code(node=node, now=timezone.now(), by=None)
    page = browser(alice).post(reverse("node-enrolment", args=["ns1"]), follow=True).content.decode()
    assert "--code" in page
    assert old not in page


def test_the_fingerprint_is_shown_and_approved(requesting_node: Node, browser: Browser, alice: User, bob: User) -> None:
    waiting = node_lifecycle.request_of(requesting_node)
    assert waiting is not None
    steps = reverse("node-enrolment", args=["ns1"])
    assert waiting.csr_sha256 in browser(bob).get(steps, headers=HTMX).content.decode()
    assert "Only administrators can approve nodes." in browser(bob).get(steps).content.decode()
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "approve"]), {"fingerprint": waiting.csr_sha256})
    requesting_node.refresh_from_db()
    assert requesting_node.state == NodeState.ACTIVE
    assert b"ns1 approved. The first zones are being sent to it." in client.get(NODES).content


def test_an_approval_holds_only_for_the_fingerprint_that_was_seen(
    requesting_node: Node, browser: Browser, alice: User
) -> None:
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "approve"]), {"fingerprint": "00" * 32})
    requesting_node.refresh_from_db()
    assert requesting_node.state == NodeState.AWAITING_APPROVAL
    assert (
        b"The request has changed since you compared the fingerprint. Nothing was changed." in client.get(NODES).content
    )


def test_a_declined_node_may_ask_again(requesting_node: Node, browser: Browser, alice: User) -> None:
    browser(alice).post(reverse("node-act", args=["ns1", "decline"]))
    assert node_lifecycle.request_of(requesting_node) is None


def test_a_waiting_node_leads_to_its_steps(waiting_node: MakeNode, browser: Browser, bob: User) -> None:
    waiting_node("ns1")
    response: Any = browser(bob).get(reverse("node-detail", args=["ns1"]))
    assert response["Location"] == reverse("node-enrolment", args=["ns1"])


@pytest.mark.parametrize(
    ("done", "classes"),
    [
        (0, ["is-now", "", "", ""]),
        (1, ["is-done", "is-now", "", ""]),
        (3, ["is-done", "is-done", "is-done", "is-now"]),
        (4, ["is-done", "is-done", "is-done", "is-done"]),
    ],
)
def test_the_step_after_those_that_are_done_is_marked(done: int, classes: list[str]) -> None:
    requested, approved, contacted, verified = (number < done for number in range(4))
    steps = Steps(requested, approved, contacted, None, verified)
    assert list(steps.classes.values()) == classes


def test_a_node_that_never_joined_is_changed_on_its_page(browser: Browser, alice: User, waiting_node: MakeNode) -> None:
    waiting_node("ns0")
    client, page = browser(alice), "/nodes/ns0/change/"
    assert 'href="/nodes/ns0/change/"' in client.get("/nodes/ns0/enrolment/").content.decode()
    assert 'value="192.0.2.53"' in client.get(page).content.decode()
    refused = client.post(page, FORM | {"dns_address": "nonsense"})
    assert (refused.status_code, "valid IPv4 or IPv6" in refused.content.decode()) == (422, True)
    assert client.post(page, FORM)["Location"] == "/nodes/ns1/enrolment/"
    assert Node.objects.get().agent_host == "ns1.example.net"
    assert "192.0.2.53" in client.get("/nodes/ns1/enrolment/").content.decode()


def test_a_node_that_never_joined_is_removed_after_its_name_was_typed(
    browser: Browser, alice: User, waiting_node: MakeNode
) -> None:
    waiting_node("ns0")
    client = browser(alice)
    client.post("/nodes/ns0/remove/", {"typed": "ns1"})
    assert Node.objects.count() == 1
    assert client.post("/nodes/ns0/remove/", {"typed": "ns0"})["Location"] == "/nodes/"
    assert not Node.objects.exists()


def test_a_node_whose_certificate_was_revoked_can_be_retired_on_its_page(
    browser: Browser, alice: User, bob: User, active_node: MakeNode
) -> None:
    """Previously the enrollment page, to which a revoked node's page redirects, had no form that retires the node."""
    node_lifecycle.revoke(node=active_node("ns1"), now=timezone.now(), by=None)
    client = browser(alice)
    page = client.get("/nodes/ns1/enrolment/").content.decode()
    assert "/nodes/ns1/act/retire/" in page
    assert "/nodes/ns1/act/remove/" not in page
    assert 'action="/nodes/ns1/retire/"' in client.get("/nodes/ns1/act/retire/").content.decode()
    assert client.get("/nodes/ns1/change/").status_code == 302
    client.post("/nodes/ns1/change/", FORM)
    assert Node.objects.get().agent_host == "127.0.0.1"
    assert "/nodes/ns1/act/" not in browser(bob).get("/nodes/ns1/enrolment/").content.decode()
    assert browser(bob).post("/nodes/ns1/change/", FORM).status_code == 403


def test_the_command_has_nothing_that_the_panel_knows(waiting_node: MakeNode, browser: Browser, alice: User) -> None:
    """The command is the same for all nodes, even canaries and other ports. The panel's answer has the rest."""
    for name, changes in (("ns1", {}), ("ring0", {"is_ring0": True}), ("ns2", {"dns_port": 5399, "agent_port": 9000})):
        Node.objects.filter(pk=waiting_node(name).pk).update(**changes)
        page = browser(alice).post(reverse("node-enrolment", args=[name]), follow=True).content.decode()
        command = re.search(r'<pre id="join-command"[^>]*>([^<]*)</pre>', page)
        assert command
        assert re.fullmatch(r"dnspanel-agent join --panel \S+ --code [0-9a-f.]+", command[1].strip())
