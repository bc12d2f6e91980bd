"""Values restored from the trash, by an undo or from another zone: refused if the current nodes can't read them."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import bulk, clone, edit, restore_zones, revision, zone_patches
from replication.dns import rdtypes
from tests.dnspanel.fleet.nodes.test_readable_values import EMPTY, runs
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

WWW = ("www.example.test.", rdtypes.CAA)


@pytest.fixture
def node() -> Node:
    return runs("ns1", "4.9.17")


@pytest.fixture
def zone(make_zone: MakeZone, node: Node) -> Zone:
    """Create a zone with a value that PowerDNS 4.7 cannot read. At publication, no such node existed."""
    return make_zone(EMPTY, "mail 300 A 192.0.2.2")


def older(node: Node) -> None:
    Node.objects.filter(pk=node.pk).update(report={"versions": {"powerdns": "4.7.3"}})


def test_a_zone_from_the_trash(zone: Zone, bob: User, node: Node) -> None:
    # Previously nodes answered SERVFAIL at its name, and the zone's page said "in sync".
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    older(node)
    with pytest.raises(RuleViolations, match=r"CAA www: .*PowerDNS 4\.7"):
        edit.restore_zone(zone=zone, author=bob, channel=Channel.WEB, now=NOW)
    [(_, reason)] = restore_zones.restore_zones(zones=[zone], acting=Acting(bob, Channel.WEB, NOW)).outcome.refused
    assert "PowerDNS 4.7" in reason
    Node.objects.update(report={"versions": {"powerdns": "4.9.17"}})
    edit.restore_zone(zone=zone, author=bob, channel=Channel.WEB, now=NOW)


def test_a_value_that_an_undo_brings_back(zone: Zone, bob: User, node: Node) -> None:
    gone = {WWW: None, ("mail.example.test.", rdtypes.A): None}
    change = bulk.ZoneChange(zone.pk, zone.revision, gone)
    removed, _ = bulk.change_zones(changes=[change], acting=Acting(bob, Channel.IMPORT, NOW))
    assert removed is not None
    older(node)
    undone, kept = bulk.undo_zone_changes(sequence=removed.sequence, acting=Acting(bob, Channel.IMPORT, NOW))
    assert undone is not None
    assert kept == [(zone.name, *WWW)]


def test_a_revision_that_is_restored_by_a_draft(zone: Zone, bob: User, node: Node) -> None:
    patch = zone_patches.patch_of_steps(zone, [(WWW, zone_patches.remove_rrset)])
    zone_patches.publish_patches(patches=[patch], acting=Acting(bob, Channel.API, NOW))
    older(node)
    revision.restore_to(zone=zone, number=1, author=bob, now=NOW)
    with pytest.raises(RuleViolations, match=r"PowerDNS 4\.7"):
        revision.publish(
            acting=Acting(bob, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True, confirmed=True)
        )


def test_a_zone_with_the_records_of_another_one(zone: Zone, bob: User, node: Node) -> None:
    older(node)
    with pytest.raises(RuleViolations, match=r"PowerDNS 4\.7"):
        clone.clone_zone(source=zone, zone_names=["new.test."], acting=Acting(bob, Channel.WEB, NOW))
    assert not Zone.objects.filter(name="new.test.").exists()
