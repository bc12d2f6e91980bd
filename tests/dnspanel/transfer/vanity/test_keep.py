"""Vanity name servers: names in a customer's zone keep the addresses of nodes, on behalf of the author of the set."""

from datetime import timedelta

import pytest

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.transfer.tasks import keep_addresses as turn
from dnspanel.transfer.vanity.keep import bring_into_step, keep_addresses, places_of, stop_keeping
from dnspanel.transfer.zone_templates import edit_template, server_set_text
from dnspanel.zones.errors import Forbidden, Locked, RightMissing, TemplateRefused
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, Scope
from dnspanel.zones.models import Channel, KeptAddresses, Publication, Zone, ZoneTemplate
from dnspanel.zones.rights.locks import add_lock, manager_of
from dnspanel.zones.settings.server_sets import Host, Servers
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes
from tests.dnspanel.fleet.conftest import MakeNode, active_node
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.zones.conftest import MakeZone, alice, make_zone
from tests.people import NOW, make_person

__all__ = ["active_node", "alice", "make_zone"]

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("ns1.customer.test.", "ns2.customer.test.")
LATER = NOW + timedelta(hours=2)


@pytest.fixture
def ada() -> User:
    return make_person("ada", Role.ADMINISTRATOR)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("ns1 60 A 203.0.113.9", name="customer.test.")


@pytest.fixture
def vanity(active_node: MakeNode, ada: User) -> ZoneTemplate:
    """Create a set of name servers: two names in the customer's zone, each for a node, and one name elsewhere."""
    for name, addresses in (("fra1", ["192.0.2.1", "2001:db8::1"]), ("ams1", ["192.0.2.2"])):
        node = active_node(name)
        node_lifecycle.describe(node=node, group=None, tags=(), public_addresses=addresses, now=NOW, by=None)
    hosts = (Host(NAMES[0], nodes=("fra1",)), Host(NAMES[1], nodes=("ams1",)), Host("ns.house.test.", ("192.0.2.9",)))
    return make_set("Customer", Servers(hosts), is_default=False)


def addresses(zone: Zone) -> dict[tuple[str, int], tuple[str, ...]]:
    found = rrsets_at_names({zone.pk: (zone.name, set(NAMES))})[zone.pk]
    return {key: rrset.rdata for key, rrset in found.items()}


BOTH = {
    (NAMES[0], rdtypes.A): ("192.0.2.1",),
    (NAMES[0], rdtypes.AAAA): ("2001:db8::1",),
    (NAMES[1], rdtypes.A): ("192.0.2.2",),
}


def test_names_have_the_addresses_of_their_nodes_and_follow_them(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    assert places_of(vanity, ada)[0].addresses == {NAMES[0]: ("192.0.2.1", "2001:db8::1"), NAMES[1]: ("192.0.2.2",)}
    assert keep_addresses(template=vanity, zone=zone, by=ada, now=NOW).refusal == ""
    assert addresses(zone) == BOTH
    published = Publication.objects.latest("sequence")
    assert (published.channel, published.reason) == (Channel.SYSTEM, "Name server addresses for Customer")
    assert published.author == ada
    assert AuditEntry.objects.get(action="template.keep").details["zone"] == zone.name
    assert turn() == "published=0"
    node = Node.objects.get(name="fra1")
    node_lifecycle.describe(node=node, group=None, tags=(), public_addresses=["192.0.2.77"], now=NOW, by=ada)
    assert turn() == "published=1"
    assert addresses(zone) == {(NAMES[0], rdtypes.A): ("192.0.2.77",), (NAMES[1], rdtypes.A): ("192.0.2.2",)}
    assert places_of(vanity, ada)[0].kept is not None


def test_a_name_none_of_whose_nodes_is_left_keeps_its_addresses(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    Node.objects.filter(name="fra1").update(state=NodeState.RETIRED)
    Node.objects.filter(name="ams1").update(state=NodeState.DRAINED)
    assert bring_into_step(now=NOW) == 0
    assert addresses(zone) == BOTH
    assert places_of(vanity, ada)[0].addresses[NAMES[0]] == ()


def test_what_is_kept_no_more_stays_as_it_is(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    with pytest.raises(Forbidden):
        stop_keeping(template=vanity, zone=zone, by=make_person("rita", Role.READER), now=NOW)
    stop_keeping(template=vanity, zone=zone, by=ada, now=NOW)
    stop_keeping(template=vanity, zone=zone, by=ada, now=NOW)
    Node.objects.filter(name="fra1").update(public_addresses=["192.0.2.77"])
    assert bring_into_step(now=NOW) == 0
    assert addresses(zone) == BOTH
    assert AuditEntry.objects.filter(action="template.keep_end").count() == 1


def test_it_is_for_who_may_write_these_addresses(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    mia = make_person("mia", Role.MEMBER)
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})
    grant = Grant(rights, zones=frozenset({zone.pk}), names=("ns1",))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    with pytest.raises(RightMissing):
        keep_addresses(template=vanity, zone=zone, by=User.objects.get(pk=mia.pk), now=NOW)
    add_lock(zone=zone, name=NAMES[1], type=None, reason="Terraform", manager=manager_of(ada), author=ada, now=NOW)
    zone.refresh_from_db()
    with pytest.raises(Locked):
        keep_addresses(template=vanity, zone=zone, by=make_person("bob", Role.EDITOR), now=NOW)
    assert not KeptAddresses.objects.exists()
    KeptAddresses.objects.create(template=vanity, zone=zone, set_at=NOW)
    with pytest.raises(RightMissing):
        stop_keeping(template=vanity, zone=zone, by=User.objects.get(pk=mia.pk), now=NOW)


def test_who_lost_the_right_publishes_no_more_and_the_reason_is_kept(
    vanity: ZoneTemplate, zone: Zone, ada: User
) -> None:
    bob = make_person("bob", Role.EDITOR)
    keep_addresses(template=vanity, zone=zone, by=bob, now=NOW)
    User.objects.filter(pk=bob.pk).update(is_active=False)
    Node.objects.filter(name="fra1").update(public_addresses=["192.0.2.77"])
    assert bring_into_step(now=NOW) == 0
    kept = KeptAddresses.objects.get()
    assert (
        kept.refusal == "The person who enabled automatic updates no longer has the required rights. Enable automatic "
        "updates again."
    )
    assert addresses(zone) == BOTH
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    assert KeptAddresses.objects.get().refusal == ""
    assert addresses(zone)[NAMES[0], rdtypes.A] == ("192.0.2.77",)


def test_what_needs_approval_is_refused_kept_and_tried_again(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    rule = publish_rules.add_approval_rule(
        scope=Scope(zone=zone), terms=ApprovalTerms(), reason="Four eyes", author=ada, now=NOW
    )
    assert "approv" in keep_addresses(template=vanity, zone=zone, by=ada, now=NOW).refusal
    publish_rules.lift_approval_rule(rule_id=rule.pk, author=ada, now=NOW)
    assert bring_into_step(now=NOW) == 0
    assert bring_into_step(now=LATER) == 1
    assert KeptAddresses.objects.get().refusal == ""


def test_a_set_without_names_in_the_zone_or_without_nodes_keeps_nothing(
    vanity: ZoneTemplate, make_zone: MakeZone, zone: Zone, ada: User
) -> None:
    other = make_zone(name="other.test.")
    plain = make_set("Plain", Servers((Host(NAMES[0], ("192.0.2.1",)),)), is_default=False)
    for template, target in ((vanity, other), (plain, zone)):
        with pytest.raises(TemplateRefused):
            keep_addresses(template=template, zone=target, by=ada, now=NOW)
    assert places_of(plain, ada) == []


def test_a_name_that_two_sets_have_is_that_of_the_first(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    hosts = (Host(NAMES[0], nodes=("ams1",)), Host("ns3.customer.test.", nodes=("ams1",)))
    keep_addresses(template=make_set("Second", Servers(hosts), is_default=False), zone=zone, by=ada, now=NOW)
    assert addresses(zone) == BOTH
    assert bring_into_step(now=NOW) == 0
    third = rrsets_at_names({zone.pk: (zone.name, {"ns3.customer.test."})})[zone.pk]
    assert [rrset.rdata for rrset in third.values()] == [("192.0.2.2",)]


def test_a_new_version_is_kept_without_being_said_again(vanity: ZoneTemplate, zone: Zone, ada: User) -> None:
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    hosts = (Host(NAMES[1], nodes=("fra1", "ams1")),)
    edit_template.publish_version(
        template=vanity, content=server_set_text.content_of(Servers(hosts)), seen=1, by=ada, now=NOW
    )
    assert bring_into_step(now=NOW) == 1
    assert addresses(zone)[NAMES[1], rdtypes.A] == ("192.0.2.1", "192.0.2.2")


def test_the_number_of_queries_does_not_depend_on_the_number_of_zones(
    vanity: ZoneTemplate, zone: Zone, make_zone: MakeZone, ada: User, django_assert_num_queries: object
) -> None:
    keep_addresses(template=vanity, zone=zone, by=ada, now=NOW)
    with audit.coming_from(audit.Origin("192.0.2.1", "x")), django_assert_num_queries(4):  # type: ignore[operator]
        bring_into_step(now=NOW)
    hosts = (Host("ns1.shop.test.", nodes=("fra1",)),)
    other = make_set("Shop", Servers(hosts), is_default=False)
    keep_addresses(template=other, zone=make_zone(name="shop.test."), by=ada, now=NOW)
    with django_assert_num_queries(4):  # type: ignore[operator]
        bring_into_step(now=NOW)
