"""Pages of the fleet."""

import re
import time
from datetime import timedelta

import pytest
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Bootstrap, Node, NodeGroup, NodeState
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, beat
from dnspanel.publish.encoding.stall import record_stall
from dnspanel.publish.models import Segment
from dnspanel.zones.models import LogHead, Publication
from replication.wire.protocol import Sample
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser

NODES = "/nodes/"
NEW = "/add-node/"

pytestmark = pytest.mark.usefixtures("live_redis")


def sample(at: int, questions: int = 100, seconds: float = 1.0) -> Sample:
    rcodes = {"NOERROR": questions - 10, "NXDOMAIN": 10}
    return Sample(at, seconds, 1000, questions, 0, rcodes, 90, 10, 5, 5, 312, 48_000_000)


def test_an_empty_fleet_says_that_nobody_serves_the_zones(browser: Browser, alice: User, charlie: User) -> None:
    page = browser(alice).get(NODES).content.decode()
    assert "Zones are stored, but no server answers queries yet." in page
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
    # Session, user, nodes, log head, missing publications, log head for the status line, stalls.
    with django_assert_max_num_queries(7):
        client.get(NODES, headers=HTMX)


def test_without_redis_the_page_says_so_and_the_rest_works(active_node: MakeNode, browser: Browser, bob: User) -> None:
    active_node("ns1")
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        response = browser(bob).get(NODES)
    assert response.status_code == 200
    assert b"Live numbers are unavailable because" in response.content
    assert b"ns1" in response.content


def test_a_standstill_of_publishing_is_said_above_the_nodes(active_node: MakeNode, browser: Browser, bob: User) -> None:
    active_node("ns1")
    record_stall(schema=4, sequence=9, zone_name="example.test.", message="The store is full.", now=timezone.now())
    page = browser(bob).get(NODES).content.decode()
    assert "Publishing is stopped." in page
    assert "The store is full." in page


def test_the_page_shows_the_canary_and_where_publications_wait(
    active_node: MakeNode, browser: Browser, bob: User
) -> None:
    """Previously the page said "Live 4 of 4" although no publication reached a node."""
    now, head = timezone.now(), LogHead.objects.get()
    Publication.objects.create(sequence=1, epoch=head.epoch, at=now - timedelta(minutes=7), channel="system")
    given = {"size": 1, "digest": bytes(32), "sealed_at": now, "object_name": "4/1"}
    Segment.objects.create(epoch=head.epoch, schema=4, first=1, last=1, **given)
    LogHead.objects.update(sequence=1)
    for name in ("ns1", "ring0"):
        active_node(name)
    created = now - timedelta(days=1)
    Node.objects.update(epoch=head.epoch, acked=0, contact_at=now, created_at=created)
    Node.objects.filter(name="ring0").update(is_ring0=True)
    beat(process=COLLECTOR, now=now)
    page = " ".join(browser(bob).get(NODES).content.decode().split())
    assert "The oldest one has been waiting 7 min for the worker “push”." in page
    assert ">0 of 1 node, canary behind</span></dd>" in page
    assert 'id="node-ring0"' in page
    assert '<span class="strong">canary</span>' in page
    assert "0/1" in page, "the pill"
    Node.objects.update(acked=1)
    page = " ".join(browser(bob).get(NODES).content.decode().split())
    assert ">1 node, canary</span></dd>" in page
    assert "the worker “push”" not in page


def test_a_refusal_of_a_node_is_shown_in_words(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(refusal="its disk is full", refused_at=timezone.now())
    for address in (NODES, reverse("node-detail", args=["ns1"])):
        page = browser(bob).get(address).content.decode()
        assert "rejecting" in page
        assert "its disk is full" in page


@pytest.fixture
def many_nodes(db: None, active_node: MakeNode) -> list[Node]:
    """Create 150 active nodes with live statistics in two groups. Only the first is enrolled; the rest are copies."""
    first = active_node("edge000")
    groups = [NodeGroup.objects.create(name=name, order=order) for order, name in enumerate(("canary", "world"))]
    common = {"certificate_sha256": first.certificate_sha256, "certificate_pem": first.certificate_pem}
    Node.objects.bulk_create(
        Node(
            name=f"edge{number:03}",
            state=NodeState.ACTIVE,
            dns_address="192.0.2.53",
            agent_host="127.0.0.1",
            agent_port=8533,
            created_at=NOW,
            contact_at=timezone.now(),
            group=groups[number % 2],
            tags=["edge"],
            report={"state": "in order", "machine": "ab" * 32, "map_used": 0.1},
            **common,
        )
        for number in range(1, 150)
    )
    nodes = list(Node.objects.order_by("name"))
    now = int(timezone.now().timestamp())
    for node in nodes:
        telemetry.keep_samples(node_id=node.pk, samples=[sample(now - 60 + at) for at in range(60)])
    return nodes


def test_over_a_hundred_nodes_are_a_table_in_pieces_that_fetch_themselves(
    many_nodes: list[Node], browser: Browser, bob: User
) -> None:
    client = browser(bob)
    page = client.get(NODES).content.decode()
    assert (page.count("<tbody"), page.count("<tr data-row")) == (1, 25)
    assert 'class="tiles"' not in page
    more = re.search(r'href="([^"]*)">(?:(?!</a>).)*Show next 100', page)
    assert more is not None
    page = client.get(more[1].replace("&amp;", "&")).content.decode()
    assert (page.count("data-when-seen"), page.count("<tr data-row")) == (5, 125)
    assert page.count("<polyline") == 50  # the first rows; the others are drawn when they become visible
    assert "Show next 100" not in client.get(NODES, {"rows": "150"}).content.decode()
    tiles = browser(bob).get(NODES, {"layout": "tiles"}).content.decode()
    assert tiles.count('class="card tile"') == 150


def test_a_hundred_and_fifty_nodes_cost_few_queries_and_little_time(
    many_nodes: list[Node], browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = browser(bob)
    client.get(NODES)
    ids = ".".join(str(node.pk) for node in many_nodes[:25])
    for address, most_seconds in ((f"/fleet/rows/?ids={ids}", 0.4), (f"{NODES}?part=line", 0.8), (NODES, 2.5)):
        with django_assert_max_num_queries(12):
            began = time.process_time()
            response = client.get(address, headers=HTMX)
        assert response.status_code == 200
        assert time.process_time() - began < most_seconds, address


def test_rows_come_in_the_order_they_were_asked_for(many_nodes: list[Node], browser: Browser, bob: User) -> None:
    ids = [many_nodes[number].pk for number in (7, 3, 5)]
    query = {"ids": ".".join(map(str, [*ids, 999_999]))}
    fragment = browser(bob).get("/fleet/rows/", query, headers=HTMX).content.decode()
    assert re.findall(r'id="row-(\w+)"', fragment) == ["edge007", "edge003", "edge005"]
    assert fragment.lstrip().startswith("<tbody")


def test_filters_and_order_are_in_the_address_and_survive_the_refresh(
    active_node: MakeNode, browser: Browser, bob: User
) -> None:
    canary = NodeGroup.objects.create(name="canary", order=1)
    for name in ("ns1", "ns2"):
        active_node(name)
    Node.objects.filter(name="ns2").update(group=canary, tags=["berlin"])
    client = browser(bob)
    for query in ("group=canary", "tag=berlin", "q=ns2", "state=offline&q=ns2"):
        page = client.get(f"{NODES}?{query}").content.decode()
        assert re.findall(r'id="node-(ns\d)"', page) == ["ns2"]
    fragment = client.get(f"{NODES}?tag=berlin", headers=HTMX).content.decode()
    assert f'hx-get="{NODES}?tag=berlin"' in fragment
    assert "No matching nodes" in client.get(f"{NODES}?tag=tokyo").content.decode()


def test_an_order_can_be_frozen(active_node: MakeNode, browser: Browser, bob: User) -> None:
    nodes = [active_node(f"ns{number}") for number in range(3)]
    client = browser(bob)
    page = client.get(f"{NODES}?sort=lag").content.decode()
    assert "Pause order" in page
    wanted = [nodes[number] for number in (2, 0, 1)]
    order = ".".join(str(node.pk) for node in wanted)
    page = client.get(f"{NODES}?sort=lag&order={order}").content.decode()
    assert re.findall(r'id="node-(ns\d)"', page) == [node.name for node in wanted]
    assert "Order paused." in page


def test_ticked_nodes_are_drained_disabled_and_resumed_together(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    for name in ("ns1", "ns2", "ns3"):
        active_node(name)
    client = browser(alice)
    ticked = {"node": ["ns1", "ns2", "nobody"], "reason": "kernel", "hours": "1", "query": "tag=edge&next=//evil.test"}
    response = client.post("/fleet/act/", {**ticked, "act": "drain"})
    assert response["Location"] == f"{NODES}?tag=edge"
    drained = Node.objects.filter(state=NodeState.DRAINED, drain_reason="kernel").exclude(drained_until=None)
    assert sorted(node.name for node in drained) == ["ns1", "ns2"]
    assert "ns1, ns2 drained." in client.get(NODES).content.decode()
    client.post("/fleet/act/", {"node": ["ns2", "ns3"], "act": "resume"})
    page = client.get(NODES).content.decode()
    assert "Updates resumed on ns2." in page
    assert "ns3 is not drained." in page
    client.post("/fleet/act/", {"node": "ns3", "act": "disable"})
    disabled = Node.objects.get(name="ns3")
    assert (disabled.drain_reason, disabled.drained_until) == ("disabled", None)
    client.post("/fleet/act/", {"node": "ns2", "act": "resync"})
    assert Bootstrap.objects.get().node.name == "ns2"
    client.post("/fleet/act/", {"act": "drain"})
    assert "No nodes selected." in client.get(NODES).content.decode()
    assert client.post("/fleet/act/", {"act": "explode"}).status_code == 404
