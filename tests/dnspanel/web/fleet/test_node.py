"""The tabs of a node's page, and the actions on the node."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import Role, User
from dnspanel.fleet import events, telemetry
from dnspanel.fleet.models import Bootstrap, Divergence, Node, NodeGroup, NodeState, UnprovenZone
from dnspanel.fleet.nodes import machines, node_lifecycle
from dnspanel.fleet.rollup import roll_up
from dnspanel.zones.models import LogHead, Publication
from replication import __version__
from replication.wire.protocol import Sample
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import make_person

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


def test_the_page_of_a_node_shows_facts_and_charts(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    page = browser(bob).get(reverse("node-detail", args=["ns1"])).content.decode()
    assert node.certificate_sha256[:16] in page
    assert f'data-points="{reverse("node-points", args=["ns1"])}"' in page
    fragment = browser(bob).get(reverse("node-detail", args=["ns1"]), headers=HTMX).content.decode()
    assert 'id="node-facts"' in fragment
    assert 'id="node-server" hx-swap-oob="true"' in fragment
    assert "chart-qps" not in fragment


def test_each_tab_has_a_url_and_fetches_only_its_own_parts(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    client = browser(alice)
    parts = {"detail": "node-now", "traffic": "node-top", "sync": "node-sync", "log": "node-log"}
    for tab, part in parts.items():
        url = reverse(f"node-{tab}", args=["ns1"])
        page = client.get(url).content.decode()
        assert f'<a href="{url}" aria-current="page">' in page
        assert f'hx-get="{url}?acts=active"' in page
        fragment = client.get(f"{url}?acts=active", headers=HTMX).content.decode()
        assert [other for other in parts.values() if f'id="{other}"' in fragment] == [part]


def test_the_actions_are_replaced_only_if_the_state_has_changed(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    """An open form in the head would otherwise close every two seconds."""
    node = active_node("ns1")
    url = reverse("node-detail", args=["ns1"])
    client = browser(alice)
    assert 'id="node-acts"' not in client.get(f"{url}?acts=active", headers=HTMX).content.decode()
    node_lifecycle.drain(node=node, now=timezone.now(), by=alice)
    fragment = client.get(f"{url}?acts=active", headers=HTMX).content.decode()
    assert 'id="node-acts" hx-swap-oob="true"' in fragment
    assert 'id="node-resume"' in fragment


def test_rare_actions_are_in_a_menu_and_have_a_form_of_their_own(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    client = browser(alice)
    page = page_of(client)
    assert page.index('id="node-drain"') < page.index("Retire this node") < page.index('aria-current="page">Overview')
    for act, field in (("describe", "public_addresses"), ("resync", ""), ("certificate", "typed"), ("retire", "typed")):
        url = reverse("node-ask", args=["ns1", act])
        assert f'href="{url}"' in page
        form = client.get(url).content.decode()
        assert f'name="{field}"' in form or not field
        assert "Nothing was changed" not in form
    assert client.get(reverse("node-ask", args=["ns1", "explode"])).status_code == 404


@pytest.mark.parametrize(
    ("changes", "fix"),
    [
        ({"contact_at": NOW}, "let firewalls accept the panel’s connections. <code"),
        ({"refusal": "the disk is full"}, "Fix the cause. The panel tries again automatically."),
        ({"report": {"unserved": "timeout"}}, "On the node, restart the DNS server and read its log."),
        ({"digest_equal": False}, "Press “Resync from scratch” on the node’s page"),
        ({}, ""),
    ],
)
def test_a_node_with_a_problem_says_what_to_do(
    active_node: MakeNode, browser: Browser, bob: User, changes: dict[str, Any], fix: str
) -> None:
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(**{"contact_at": timezone.now(), **changes})
    for tab in ("detail", "log"):
        page = browser(bob).get(reverse(f"node-{tab}", args=["ns1"])).content.decode()
        assert fix in page
        assert ('id="finding-1"' in page) is bool(fix)


def test_a_node_that_is_behind_says_since_when(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node, head, now = active_node("ns1"), LogHead.objects.get(), timezone.now()
    at = now - timedelta(minutes=7)
    Publication.objects.create(sequence=1, epoch=head.epoch, at=at, channel="system")
    LogHead.objects.update(sequence=1)
    Node.objects.filter(pk=node.pk).update(epoch=head.epoch, acked=0, contact_at=now)
    page = page_of(browser(bob))
    assert "1 · 7 min" in page
    assert f"since {at:%H:%M} UTC" in page
    assert "Highest value: 7 min" in page


def test_a_day_and_a_month_come_in_minutes_and_hours(active_node: MakeNode, browser: Browser, bob: User) -> None:
    node = active_node("ns1")
    end = int(time.time()) // 3600 * 3600
    telemetry.keep_samples(node_id=node.pk, samples=[sample(end - 90), sample(end - 61), sample(end - 1), sample(end)])
    roll_up(node_id=node.pk)
    address = reverse("node-points", args=["ns1"])
    display = {step: browser(bob).get(address, {"step": step}).json()["points"] for step in ("minute", "hour")}
    assert [point[0] for point in display["minute"]] == [end - 60, end]
    assert [point[0] for point in display["hour"]] == [end]


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


def test_drain_and_resume(active_node: MakeNode, browser: Browser, alice: User, bob: User) -> None:
    node = active_node("ns1")
    page = reverse("node-detail", args=["ns1"])
    assert "Only administrators can edit nodes." in browser(bob).get(page).content.decode()
    client = browser(alice)
    for act, state, words in (
        ("drain", NodeState.DRAINED, "ns1 drained. It still serves"),
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


def heard(node: Node, **report: Any) -> Node:
    """Store a report of the node as the collector would, with these changes."""
    told = {"state": "in order", "machine": "ab" * 32, "map_used": 0.12, **report}
    Node.objects.filter(pk=node.pk).update(report=told, reported_at=timezone.now(), contact_at=timezone.now())
    node.refresh_from_db()
    return node


def page_of(client: Any, tab: str = "detail") -> str:
    return str(client.get(reverse(f"node-{tab}", args=["ns1"])).content.decode())


def test_a_drain_has_a_reason_and_an_end_and_the_page_says_both(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "drain"]), {"reason": "new disk", "hours": "4"})
    node = Node.objects.get()
    assert (node.state, node.drain_reason, node.drained_by) == (NodeState.DRAINED, "new disk", alice)
    assert node.drained_until is not None
    page = page_of(client)
    assert "and then resume automatically" in page
    assert "new disk" in page
    node_lifecycle.resume_due(now=node.drained_until)
    assert "when the drain ended" in page_of(client, "log")


def test_a_node_with_another_powerdns_installed_is_rebuilt_by_one_button(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    heard(active_node("ns1"), wanted_schema=5, installed_powerdns="4.9.5")
    client = browser(alice)
    page = page_of(client)
    assert "PowerDNS 4.9.5 on ns1 needs LMDB schema 5" in page
    for schema in ("6", "x"):
        client.post(reverse("node-act", args=["ns1", "rebuild"]), {"schema": schema})
        assert not Bootstrap.objects.exists()
    client.post(reverse("node-act", args=["ns1", "rebuild"]), {"schema": "5"})
    assert Bootstrap.objects.get().schema == 5
    assert "Snapshot in progress. Reason: PowerDNS needs schema 5" in page_of(client)


def test_two_machines_with_one_identity_are_shown_and_a_person_chooses(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    node = heard(active_node("ns1"))
    for machine, address in (("a" * 64, "192.0.2.1"), ("b" * 64, "192.0.2.9")):
        node.refresh_from_db()
        machines.see(node=node, machine=machine, address=address, second=False, now=timezone.now())
    client = browser(alice)
    page = page_of(client)
    assert "Two machines are using this node’s identity." in page
    assert "Use aaaaaaaaaaaa at 192.0.2.1" in page
    assert "rejecting" in page
    client.post(reverse("node-act", args=["ns1", "accept-machine"]), {"machine": "b" * 64})
    assert Node.objects.get().machine_address == "192.0.2.9"
    assert "Two machines are using this node’s identity." not in page_of(client)


def test_a_certificate_is_revoked_only_when_the_name_is_typed(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "revoke"]), {"typed": "ns2"})
    assert Node.objects.get().certificate_sha256
    client.post(reverse("node-act", args=["ns1", "revoke"]), {"typed": "ns1"})
    assert Node.objects.get().pins == frozenset()
    page = client.get(reverse("node-detail", args=["ns1"]), follow=True).content.decode()
    assert "Certificate revoked" in page
    assert "Generate new code" in page


def test_an_agent_that_is_away_keeps_its_certificate_and_the_page_says_why(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    node = active_node("ns1", agent_port=1)
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "rotate"]))
    assert "The agent couldn’t complete the action: no connection to 127.0.0.1 port 1" in page_of(client)
    assert Node.objects.get().certificate_sha256 == node.certificate_sha256


def test_a_clock_that_is_wrong_and_an_old_agent_are_said(active_node: MakeNode, browser: Browser, bob: User) -> None:
    heard(active_node("ns1"), clock=timezone.now().timestamp() - 310, machine="")
    page = page_of(browser(bob))
    assert "The clock on ns1 is 5 min behind the panel’s clock." in page
    assert "Update the agent." in page


def test_zones_that_differed_are_told_to_those_who_may_read_them(
    active_node: MakeNode, browser: Browser, alice: User, make_zone: MakeZone
) -> None:
    node = active_node("ns1")
    zone = make_zone(name="example.test.")
    for zone_id, name in ((zone.pk, zone.name), (999_999, "foreign.test.")):
        Divergence.objects.create(
            node=node, zone_id=zone_id, zone_name=name, words="2 rows lack there", found_at=timezone.now()
        )
    stranger = make_person("stranger", Role.READER)
    seen = page_of(browser(alice), "sync")
    assert "example.test." in seen
    assert "foreign.test." in seen
    assert "foreign.test." not in page_of(browser(stranger), "sync")


def test_zones_that_do_not_validate_are_told_here_and_on_their_own_pages(
    active_node: MakeNode, browser: Browser, alice: User, make_zone: MakeZone
) -> None:
    zone, now = make_zone(name="example.test."), timezone.now()
    address = reverse("zone-dnssec", args=["example.test."])
    assert "does not validate" not in browser(alice).get(address).content.decode()
    UnprovenZone.objects.create(node=active_node("ns1"), zone=zone, problem="no RRSIG", since=now, looked_at=now)
    assert "no RRSIG" in page_of(browser(alice), "sync")
    page = browser(alice).get(address).content.decode()
    assert "DNSSEC validation of this zone fails on at least one node." in page
    assert "no RRSIG" in page


def test_group_and_tags_are_kept_and_a_wrong_tag_is_refused(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    active_node("ns1")
    group = NodeGroup.objects.create(name="canary", order=1)
    client = browser(alice)
    client.post(reverse("node-act", args=["ns1", "describe"]), {"group": group.pk, "tags": "Berlin, anycast berlin"})
    node = Node.objects.get()
    assert (node.group, node.tags) == (group, ["anycast", "berlin"])
    told = {"group": group.pk, "tags": "anycast berlin", "public_addresses": "2001:DB8::1, 192.0.2.7 192.0.2.7"}
    client.post(reverse("node-act", args=["ns1", "describe"]), told)
    assert Node.objects.get(name="ns1").public_addresses == ["192.0.2.7", "2001:db8::1"]
    client.post(reverse("node-act", args=["ns1", "describe"]), {**told, "public_addresses": "fe80::1%eth0"})
    assert Node.objects.get(name="ns1").public_addresses == ["192.0.2.7", "2001:db8::1"]
    client.post(reverse("node-act", args=["ns1", "describe"]), {"group": "", "tags": "no_underscores"})
    assert Node.objects.get().tags == ["anycast", "berlin"]
    assert "no_underscores isn’t a valid tag" in page_of(client)


def test_the_live_part_costs_the_same_however_much_happened(
    active_node: MakeNode, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    node = heard(active_node("ns1"))
    for number in range(60):
        events.note(node_id=node.pk, kind="check", message=f"event {number}", now=timezone.now(), by=bob)
    client = browser(bob)
    for tab in ("detail", "traffic", "sync"):
        with django_assert_max_num_queries(12):
            client.get(reverse(f"node-{tab}", args=["ns1"]), headers=HTMX)
    with django_assert_max_num_queries(12):
        fragment = client.get(reverse("node-log", args=["ns1"]), headers=HTMX).content.decode()
    assert "event 59" in fragment
    assert "event 3<" not in fragment
    assert 'id="node-log" hx-swap-oob="true"' in fragment


def page_at(client: Any, name: str) -> str:
    return str(client.get(reverse("node-detail", args=[name])).content.decode())


def test_the_page_tells_what_is_not_set_up_as_the_panel_has_it(
    active_node: MakeNode, browser: Browser, bob: User
) -> None:
    node = active_node("ns1")
    assert "Correct the agent’s configuration" not in page_of(browser(bob))
    Node.objects.filter(pk=node.pk).update(report={"machine": "m", "listen": ["192.0.2.53:5399"]})
    page = page_of(browser(bob))
    assert "DNS address: 192.0.2.53:5399 on the server, 192.0.2.53:53 in the panel." in page
    assert "Correct the agent’s configuration" in page


@pytest.mark.parametrize(
    ("agent", "is_older", "note"),
    [
        (__version__, False, ""),
        ("99.0.0", False, ""),
        ("0.1.0", True, "older than the panel"),
        ("of my own", False, f"can’t be compared with panel version {__version__}"),
    ],
)
def test_the_page_tells_of_an_agent_older_than_the_panel(
    active_node: MakeNode, browser: Browser, bob: User, agent: str, is_older: bool, note: str
) -> None:
    """Previously all agents had version 0.1.0, so no page showed which nodes an upgrade had missed."""
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(report={"machine": "m", "versions": {"agent": agent}})
    page = page_of(browser(bob))
    assert agent in page
    assert ("Upgrade the agent on the node." in page) is is_older
    assert ("The node doesn’t allow the panel to upgrade the agent." in page) is is_older
    assert note in page
    assert ("older than the panel" in page) is is_older
    assert f"dnspanel {__version__}" in page  # in the user menu on each page


def test_a_retired_node_is_read_beside_the_one_that_has_its_name(
    active_node: MakeNode, browser: Browser, alice: User
) -> None:
    old = active_node("ns1")
    events.note(node_id=old.pk, kind="check", message="Of the old one.", now=timezone.now())
    browser(alice).post(reverse("node-act", args=["ns1", "retire"]), {"typed": "ns1"})
    new = active_node("ns1")
    old.refresh_from_db()
    assert "Of the old one." not in page_of(browser(alice), "log")
    assert f'href="{reverse("node-detail", args=[old.slug])}"' in page_of(browser(alice))
    assert "Of the old one." in browser(alice).get(reverse("node-log", args=[old.slug])).content.decode()
    former = page_at(browser(alice), old.slug)
    assert f'data-points="{reverse("node-points", args=[old.slug])}"' in former
    assert browser(alice).get(reverse("node-points", args=[old.slug])).status_code == 200
    # A button on the old node's page never acts on the new node.
    browser(alice).post(reverse("node-act", args=[old.slug, "drain"]), {"reason": "", "until": ""})
    assert Node.objects.get(pk=new.pk).state == NodeState.ACTIVE
