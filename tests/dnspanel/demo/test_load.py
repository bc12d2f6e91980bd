"""Tests of the sample zones' loading: once, and only into an empty panel."""

import pytest
from django.utils import timezone

from dnspanel.demo.load import load_sample_zones
from dnspanel.demo.sample import sample_zones
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_empty_panel_gets_every_sample_zone_in_one_publication() -> None:
    publication = load_sample_zones(now=timezone.now())
    assert publication is not None
    stored = {zone.name: zone.rrset_count for zone in Zone.objects.all()}
    assert stored == {zone.name: len(zone.rrsets) for zone in sample_zones()}
    assert set(Zone.objects.values_list("sequence", flat=True)) == {publication.sequence}


def test_a_panel_that_was_used_is_left_alone() -> None:
    edit.create_zone(
        zone=edit.NewZone("own.test."),
        acting=Acting(None, Channel.SYSTEM, timezone.now()),
        apex=edit.Apex(nameservers=["ns1.own.test."]),
    )
    assert load_sample_zones(now=timezone.now()) is None
    assert Zone.objects.count() == 1


def test_a_deleted_sample_zone_does_not_come_back() -> None:
    load_sample_zones(now=timezone.now())
    zone = Zone.objects.get(name="a.invalid.")
    edit.delete_zone(zone=zone, acting=Acting(None, Channel.SYSTEM, timezone.now()))
    assert load_sample_zones(now=timezone.now()) is None
    assert not Zone.objects.filter(name="a.invalid.", deleted_at=None).exists()
