"""The zone's serial increases when new weekly signatures are due."""

from datetime import timedelta

import pytest

from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.signing.new_signatures import publish_new_signatures
from dnspanel.zones.store.store_rrsets import rrsets_of_zones
from dnspanel.zones.values.soa import start_of_week
from replication.dns import rdtypes
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def test_nothing_but_the_serial_moves_and_what_was_published_since_is_left_alone(make_zone: MakeZone) -> None:
    old, new = make_zone(name="old.test."), make_zone(name="new.test.")
    start = start_of_week(NOW) + timedelta(weeks=1)
    Zone.objects.filter(pk=new.pk).update(changed_at=start)
    before = rrsets_of_zones([old.pk])[old.pk]
    publication = publish_new_signatures(zone_ids=[old.pk, new.pk], before=start, now=start + timedelta(minutes=1))
    assert publication is not None
    revision = publication.revisions.get()
    assert (revision.zone, revision.number) == (old, 2)
    after = rrsets_of_zones([old.pk])[old.pk]
    assert {key for key in after if after[key] != before[key]} == {(old.name, rdtypes.SOA)}
    assert Zone.objects.get(pk=old.pk).serial == revision.serial > old.serial
    assert publish_new_signatures(zone_ids=[old.pk, new.pk], before=start, now=start + timedelta(minutes=1)) is None
    assert Publication.objects.latest("sequence") == publication


def test_a_zone_from_elsewhere_has_its_primarys_serial(make_zone: MakeZone) -> None:
    zone = make_zone()
    Zone.objects.update(transferred_from="192.0.2.1")
    later = NOW + timedelta(weeks=2)
    assert publish_new_signatures(zone_ids=[zone.pk], before=later, now=later) is None
