"""Tests of values that some PowerDNS releases can't read back: they are refused while a node runs such a release."""

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import readable_values
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Channel
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.zone_patches import Patch, publish_patches
from dnspanel.zones.rules.unreadable import Kind
from dnspanel.zones.store import store_rrsets
from tests.dnspanel.fleet.nodes.test_node_computed_types import node, refused
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.conftest import alice as alice
from tests.dnspanel.zones.conftest import make_zone as make_zone

pytestmark = pytest.mark.django_db(transaction=True)

EMPTY = 'www 300 CAA 0 issue ""'


def runs(name: str, release: str, *, is_ring0: bool = False) -> Node:
    return node(name, is_ring0=is_ring0, versions={"powerdns": release})


def test_an_empty_caa_is_refused_while_one_node_cannot_read_it_and_the_node_is_named(
    alice: User, make_zone: MakeZone
) -> None:
    """Regression test: all nodes answered SERVFAIL for the whole name, but the zone's page reported "in sync"."""
    zone = make_zone("www 300 A 192.0.2.1")
    assert "before 4.9" in refused(zone, alice, EMPTY)  # the first node's release is still unknown
    ring0 = runs("ring0", "4.9.17", is_ring0=True)
    runs("ns1", "4.7.3")
    reason = refused(zone, alice, EMPTY)
    assert "CAA www: " in reason
    assert '“0 issue ""”' in reason
    assert "ns1 (PowerDNS 4.7)" in reason
    assert 'use ";"' in reason
    rrsets = [rr(EMPTY, origin="new.test.")]
    with pytest.raises(RuleViolations, match="ns1"):
        edit.create_zone(zone=edit.NewZone("new.test.", rrsets), acting=Acting(alice, Channel.WEB, timezone.now()))
    Node.objects.filter(pk=ring0.pk).update(report={"versions": {"powerdns": "4.7.3"}})
    assert "ring0 (PowerDNS 4.7), ns1 (PowerDNS 4.7)" in refused(zone, alice, EMPTY)
    Node.objects.update(report={"versions": {"powerdns": "5.1.5"}})
    assert refused(zone, alice, EMPTY) == ""


def test_a_node_that_does_not_say_its_release_runs_the_first_one_of_its_schema() -> None:
    Node.objects.filter(pk=node("ns1").pk).update(schema=6)
    assert readable_values.reasons_against(list(Kind)) == {}
    Node.objects.update(schema=5)
    assert "4.8" in readable_values.reasons_against(list(Kind))[Kind.EMPTY_CAA]


def test_nodes_that_are_gone_do_not_count_and_of_many_some_are_named() -> None:
    for number in range(5):
        runs(f"ns{number}", "4.7.3")
    [reason] = readable_values.reasons_against(list(Kind)).values()
    assert reason.endswith("ns2 (PowerDNS 4.7), and 2 more")
    runs("new", "4.9.1")
    Node.objects.exclude(name="new").update(state=NodeState.RETIRED)
    assert readable_values.reasons_against(list(Kind)) == {}


def test_what_no_release_reads_is_refused_whatever_the_nodes_run(alice: User, make_zone: MakeZone) -> None:
    runs("ns1", "5.1.5")
    zone = make_zone("www 300 A 192.0.2.1")
    for line in (
        "www 300 APL 3:/0",
        "www 300 APL 1:192.0.2.0/24 !0:01/0",
        "www 300 CERT 0 0 0 AQID",
        "www 300 IPSECKEY 10 1 255 192.0.2.38 AQID",
        "www 300 IPSECKEY 10 0 0 . AQID",
        "www 300 IPSECKEY 10 3 3 mygateway.test. AQID",
    ):
        assert "SERVFAIL" in refused(zone, alice, line), line
    for line in (
        "www 300 APL 1:192.0.2.0/24 !2:2001:db8::/32",
        "www 300 CERT 65535 65535 255 AQID",
        "www 300 IPSECKEY 10 1 2 192.0.2.38 AQID",
        "www 300 IPSECKEY 10 0 1 . AQID",
        'www 300 CAA 0 issue ";"',
    ):
        assert refused(zone, alice, line) == "", line


def test_a_value_that_is_kept_without_being_served_is_not_refused(alice: User, make_zone: MakeZone) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    off = rr("www 300 CERT 0 0 0 AQID | 1 0 0 AQID", disabled=("0 0 0 AQID",))
    patch = Patch(zone, lambda current: {(off.name, off.type): off}, {off.name})
    publish_patches(patches=[patch], acting=Acting(alice, Channel.API, timezone.now()))
    assert store_rrsets.rrsets_at_names({zone.pk: (zone.name, {off.name})})[zone.pk][off.name, off.type] == off
