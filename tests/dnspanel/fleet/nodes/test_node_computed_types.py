"""Tests of ALIAS and LUA: the nodes that support them, and the refusal of records that one node can't answer.

Tests `rules.computed_types` too.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, NodeEvent, NodeGroup, NodeState
from dnspanel.fleet.nodes import node_computed_types
from dnspanel.fleet.rollout import rollout_groups
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.zone_patches import Patch, publish_patches
from replication.dns import rdtypes
from replication.wire.protocol import ComputedTypes
from tests.dnspanel.fleet.conftest import EnrolledAgent
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.conftest import alice as alice
from tests.dnspanel.zones.conftest import make_zone as make_zone

pytestmark = pytest.mark.django_db(transaction=True)

RESOLVER = "192.0.2.99"


def node(name: str, *, state: NodeState = NodeState.ACTIVE, is_ring0: bool = False, **report: Any) -> Node:
    return Node.objects.create(
        name=name,
        state=state,
        dns_address="127.0.0.1",
        agent_host="127.0.0.1",
        agent_port=1,
        created_at=timezone.now(),
        is_ring0=is_ring0,
        report=report,
        reported_at=timezone.now(),
    )


def computes(resolver: str = RESOLVER, *, lua: bool = False) -> dict[str, Any]:
    return {"computed_types": {"resolver": resolver, "lua": lua}, "takes_computed_types": True}


def refused(zone: Zone, author: User, line: str) -> str:
    """Publish an RRset without a draft, as the APIs do. Return the reason of the refusal."""
    rrset = rr(line)
    patch = Patch(zone, lambda current: {(rrset.name, rrset.type): rrset}, {rrset.name})
    try:
        publish_patches(patches=[patch], acting=Acting(author, Channel.API, timezone.now()))
    except RuleViolations as exc:
        return str(exc)
    return ""


def test_an_alias_is_refused_while_one_node_cannot_answer_it_and_the_node_is_named(
    alice: User, make_zone: MakeZone, settings: Any
) -> None:
    """Regression test: ALIAS passed all checks and was reported as "everywhere 3/3", but no node answered it."""
    zone = make_zone("www 300 A 192.0.2.1")
    line = "@ 300 ALIAS cdn.example.net."
    assert "PANEL_ALIAS_RESOLVER" in refused(zone, alice, line)
    assert "use A and AAAA records" in refused(zone, alice, "@ 300 CNAME cdn.example.net.")
    node("ns1", **computes())
    ns3 = node("ns3", **computes(""))
    assert "some nodes don’t answer ALIAS: ns3 (no resolver configured)" in refused(zone, alice, line)
    Node.objects.filter(pk=ns3.pk).update(report=computes() | {"resolver_problem": "its resolver does not answer"})
    assert "ns3 (its resolver does not answer)" in refused(zone, alice, line)
    rrsets = [rr(line, origin="new.test.")]
    with pytest.raises(RuleViolations, match="ns3"):
        edit.create_zone(zone=edit.NewZone("new.test.", rrsets), acting=Acting(alice, Channel.WEB, timezone.now()))
    Node.objects.filter(pk=ns3.pk).update(state=NodeState.RETIRED)
    assert "use an ALIAS record instead" in refused(zone, alice, "@ 300 CNAME cdn.example.net.")
    assert refused(zone, alice, "*.cdn 300 ALIAS cdn.example.net.").startswith("PowerDNS doesn’t answer an ALIAS at a")
    assert refused(zone, alice, line) == ""


def test_lua_is_refused_where_it_is_allowed_but_does_not_run(alice: User, make_zone: MakeZone, settings: Any) -> None:
    settings.ALLOW_LUA_RECORDS = True
    zone, line = make_zone(), "www 300 LUA A \"'192.0.2.1'\""
    ns1 = node("ns1", is_ring0=True, **computes())
    assert "ns1 (LUA is off)" in refused(zone, alice, line)
    Node.objects.filter(pk=ns1.pk).update(report={"state": "in order"})
    assert "ns1 (the agent is too old)" in refused(zone, alice, line)
    Node.objects.filter(pk=ns1.pk).update(report=computes(lua=True))
    assert refused(zone, alice, line) == ""


def test_other_types_ask_nothing_about_nodes(alice: User, make_zone: MakeZone, django_assert_num_queries: Any) -> None:
    node("ns1", **computes(""))
    with django_assert_num_queries(0):
        assert node_computed_types.reasons_against([rdtypes.MX]) == {}
    assert refused(make_zone(), alice, "www 300 A 192.0.2.1") == ""


def test_a_group_has_a_resolver_of_its_own_and_nodes_without_group_go_with_the_last(settings: Any) -> None:
    settings.ALIAS_RESOLVER, settings.ALLOW_LUA_RECORDS = RESOLVER, True
    now = timezone.now()
    first, last = (
        rollout_groups.create_group(name=name, verify_seconds=0, by=None, now=now) for name in ("east", "west")
    )
    rollout_groups.set_resolver(group=last, resolver="[2001:db8::53]:5300", by=None, now=now)
    with pytest.raises(rollout_groups.GroupRefused, match="isn’t a valid address"):
        rollout_groups.set_resolver(group=last, resolver="resolver.test\nlaunch=bind", by=None, now=now)
    ring0, loose, east = node("ring0", is_ring0=True), node("ns1"), node("ns2")
    east.group = NodeGroup.objects.get(pk=first.pk)
    found = node_computed_types.choices_of([ring0, loose, east])
    assert found[ring0.pk] == found[east.pk] == ComputedTypes(RESOLVER, lua=True)
    assert found[loose.pk] == ComputedTypes("[2001:db8::53]:5300", lua=True)


def test_nodes_are_set_up_one_after_the_other_and_an_unwritable_one_is_left_out(
    enrolled_agent: Callable[..., EnrolledAgent], settings: Any
) -> None:
    agent = enrolled_agent()
    agent.stop()
    agent.start('pdns_conf = "pdns.conf"\n')
    theirs = node("ns9", **(computes("") | {"takes_computed_types": False}))
    Node.objects.filter(pk=agent.node.pk).update(report=computes(""), reported_at=timezone.now())
    assert node_computed_types.set_up(now=timezone.now()) == []
    settings.ALIAS_RESOLVER = RESOLVER
    assert node_computed_types.set_up(now=timezone.now()) == ["ns1"]
    assert "\nexpand-alias=yes\n\n# as above; it is asked" in (agent.directory / "pdns.conf").read_text()
    assert f"\nresolver={RESOLVER}\n" in (agent.directory / "pdns.conf").read_text()
    assert node_computed_types.set_up(now=timezone.now()) == [], "what is so already is left alone"
    message = NodeEvent.objects.get(kind="computed").sentence
    assert message == f"PowerDNS reconfigured: ALIAS via {RESOLVER}, LUA off."
    assert "ns9 (no resolver configured)" in node_computed_types.reasons_against([rdtypes.ALIAS])[rdtypes.ALIAS]
    assert not NodeEvent.objects.filter(node=theirs).exists()
