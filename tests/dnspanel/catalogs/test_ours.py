"""Tests of queries of produced catalogs, and of access to them (`catalogs.access`)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.catalogs import access, ours, producer
from dnspanel.catalogs.errors import CatalogUnknown
from dnspanel.catalogs.models import Producer
from dnspanel.catalogs.tasks import follow_producers
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Unknown
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW, make_person
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "partners.catalog."


@pytest.fixture
def catalog(alice: User) -> Zone:
    return producer.create_catalog(name=NAME, group_tags=["gold"], acting=Acting(alice, Channel.WEB, NOW))


def test_how_each_stands_takes_three_queries_however_many_there_are(
    alice: User, catalog: Zone, make_zone: MakeZone
) -> None:
    zones = [make_zone(name=f"{name}.test.") for name in "abc"]
    producer.take_in(catalog=catalog, zone_ids=[zone.pk for zone in zones], author=alice, now=NOW)
    producer.create_catalog(name="other.catalog.", acting=Acting(alice, Channel.WEB, NOW))
    follow_producers()
    edit.delete_zone(zone=zones[0], acting=Acting(None, Channel.WEB, NOW))
    with CaptureQueriesContext(connection) as queries:
        rows = ours.producer_rows(alice)
    told = [(row.zone.name, row.members, row.in_trash, row.is_followed) for row in rows]
    assert told == [("other.catalog.", 0, 0, True), (NAME, 2, 1, False)]
    assert len(queries) == 3
    follow_producers()
    assert all(row.is_followed for row in ours.producer_rows(alice))


def test_who_sees_some_zones_sees_these_of_a_catalog_that_they_see(
    alice: User, catalog: Zone, make_zone: MakeZone
) -> None:
    one, two = make_zone(name="one.test."), make_zone(name="two.test.")
    change_settings(zone=one, tags=["gold"], team=None, author=alice, now=NOW)
    producer.take_in(catalog=catalog, zone_ids=[one.pk, two.pk], author=alice, now=NOW)
    mia = make_person("mia", Role.MEMBER)
    with pytest.raises(Unknown):
        access.producer_for(mia, NAME)
    grant = Grant(frozenset({Right.READ}), zones=frozenset({catalog.pk, one.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    mia = User.objects.get(pk=mia.pk)
    own = access.producer_for(mia, NAME)
    assert [(row.zone.name, row.group) for row in ours.member_rows(mia, own)] == [("one.test.", "gold")]
    assert [row.zone.name for row in ours.producer_rows(mia)] == [NAME]
    with pytest.raises(CatalogUnknown):
        access.producer_for(mia, "one.test.")


def test_members_come_by_name_from_where_the_last_page_ended(alice: User, catalog: Zone, make_zone: MakeZone) -> None:
    zones = [make_zone(name=f"{name}.test.").pk for name in ("ab", "b", "aa")]
    producer.take_in(catalog=catalog, zone_ids=zones, author=alice, now=NOW)
    own = Producer.objects.select_related("zone").get()

    def named(**how: str) -> list[str]:
        return [row.zone.name for row in ours.member_rows(alice, own, limit=2, **how)]

    assert named() == ["aa.test.", "ab.test."]
    assert named(after="ab.test.") == ["b.test."]
    assert named(search="b") == ["b.test."]
