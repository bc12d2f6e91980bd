"""Tests of transfers of signed zones: the zones that secondaries and keys get, and new signatures each week."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.secondaries import access, keyless, members, record, signed_zones
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication, Signing, Zone
from dnspanel.zones.signing import sign
from dnspanel.zones.values.soa import start_of_week
from replication.codec.dnssec import Nsec3
from tests.dnspanel.fleet.conftest import create_active_node
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

NEXT_WEEK = start_of_week(NOW) + timedelta(weeks=1, minutes=1)


def signed_zone(make_zone: MakeZone, name: str, nsec3: Nsec3 | None = None) -> Zone:
    zone = make_zone(name=name)
    sign.sign(zones=[zone], acting=Acting(None, Channel.SYSTEM, NOW), nsec3=nsec3)
    zone.refresh_from_db()
    return zone


@pytest.fixture
def ring0(db: None) -> Node:
    create_active_node("ring0")
    Node.objects.update(is_ring0=True)
    return Node.objects.get()


def test_with_ring_0_signed_zones_are_given_but_for_narrow_ones(
    make_zone: MakeZone, make_secondary: MakeSecondary, ring0: Node
) -> None:
    make_zone(name="plain.test.")
    signed_zone(make_zone, "nsec.test.")
    signed_zone(make_zone, "nsec3.test.", Nsec3(0, b"", False, narrow=False))
    signed_zone(make_zone, "narrow.test.", Nsec3(0, b"", False, narrow=True))
    secondary = make_secondary()

    def given() -> list[str]:
        return sorted(access.zones_given_to(secondary).values_list("name", flat=True))

    assert given() == ["nsec.test.", "nsec3.test.", "plain.test."]
    assert [zone.name for zone in access.withheld_zones_of(secondary)] == ["narrow.test."]
    Node.objects.update(is_ring0=False)
    assert given() == ["plain.test."]
    assert access.withheld_zones_of(secondary).count() == 3


def test_what_the_key_of_a_token_transferred_has_new_signatures_for_as_long_as_it_comes(
    make_zone: MakeZone, ring0: Node
) -> None:
    lately, long_ago = (signed_zone(make_zone, f"{name}.test.") for name in ("lately", "long-ago"))
    record.note_key_transfer(zone_id=lately.pk, now=NOW - timedelta(days=40))
    record.note_key_transfer(zone_id=lately.pk, now=NOW)
    record.note_key_transfer(zone_id=long_ago.pk, now=NOW - timedelta(days=40))
    assert signed_zones.publish_due_signatures(now=NEXT_WEEK) == 1
    assert Publication.objects.latest("sequence").revisions.get().zone == lately


def test_a_week_later_the_serials_of_what_somebody_transfers_have_moved_once(
    make_zone: MakeZone, make_secondary: MakeSecondary, ring0: Node, alice: User
) -> None:
    mine, opened, nobodys = (signed_zone(make_zone, f"{name}.test.") for name in ("mine", "opened", "nobodys"))
    plain = make_zone(name="plain.test.")
    presigned = signed_zone(make_zone, "presigned.test.")
    state = Signing.objects.get(zone=presigned).state
    Signing.objects.filter(zone=presigned).update(state={**state, "presigned": True})
    make_secondary(choice="list", zones=[mine.name, plain.name, presigned.name])
    keyless.open_to(zone=opened, networks=["192.0.2.1"], by=alice, now=NOW)
    assert signed_zones.publish_due_signatures(now=NOW) == 0, "they are of this week"
    assert signed_zones.publish_due_signatures(now=NEXT_WEEK) == 2
    assert signed_zones.publish_due_signatures(now=NEXT_WEEK) == 0
    moved = {
        zone.name: Zone.objects.get(pk=zone.pk).serial != zone.serial
        for zone in (mine, opened, nobodys, plain, presigned)
    }
    assert [name for name, has_moved in moved.items() if has_moved] == ["mine.test.", "opened.test."]
    last = Publication.objects.latest("sequence")
    assert (last.channel, last.author, last.revisions.count()) == (Channel.SYSTEM, None, 2)
    assert members.note_publications(now=NEXT_WEEK) > 0, "and the secondary is told"
