"""Tests of emptying the trash: a zone is removed once every schema's segments and the audit chain have its deletion."""

import pytest

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.publish.gone_zones import delete_for_good
from dnspanel.publish.models import Segment
from dnspanel.publish.reading.schemas import schemas_in_use, use_schema
from dnspanel.zones.acting import Acting
from dnspanel.zones.audit import audit_links
from dnspanel.zones.errors import NotInTrash, RightMissing, StillOnItsWay
from dnspanel.zones.models import Channel, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW, make_person
from tests.people import alice as alice


@pytest.fixture
def trashed(make_zone: MakeZone, alice: User) -> Zone:
    zone = make_zone("www 300 A 192.0.2.1")
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    zone.refresh_from_db()
    return zone


def encode(schema: int, last: int) -> None:
    epoch = Publication.objects.latest("sequence").epoch
    Segment.objects.create(
        epoch=epoch, schema=schema, first=last, last=last, object_name=f"{schema}-{last}", size=1, digest=b"",
        sealed_at=NOW,
    )  # fmt: skip


def test_all_of_it_is_gone_and_the_chain_still_holds(trashed: Zone, alice: User) -> None:
    for schema in schemas_in_use():
        encode(schema, trashed.sequence)
    audit_links.link_new_acts()
    delete_for_good(zone=trashed, author=alice, now=NOW)
    for model in (RRset, Revision):
        assert not model.objects.filter(zone=trashed.pk).exists()
    assert AuditEntry.objects.get(action="zone.gone").target == "example.test."
    audit_links.link_new_acts()
    assert audit_links.check_chain(now=NOW).faults == ()
    with pytest.raises(NotInTrash):
        delete_for_good(zone=trashed, author=alice, now=NOW)


def test_every_schema_must_have_encoded_the_deletion(trashed: Zone, alice: User) -> None:
    use_schema(schema=6, now=NOW)
    audit_links.link_new_acts()
    encode(4, trashed.sequence)
    encode(6, trashed.sequence - 1)
    with pytest.raises(StillOnItsWay):
        delete_for_good(zone=trashed, author=alice, now=NOW)
    encode(6, trashed.sequence)
    delete_for_good(zone=trashed, author=alice, now=NOW)
    assert not Zone.objects.exists()


def test_the_chain_must_have_it(trashed: Zone, alice: User) -> None:
    for schema in schemas_in_use():
        encode(schema, trashed.sequence)
    with pytest.raises(StillOnItsWay):
        delete_for_good(zone=trashed, author=alice, now=NOW)


def test_a_zone_in_service_is_left_alone_and_so_is_one_of_others(
    make_zone: MakeZone, trashed: Zone, alice: User
) -> None:
    with pytest.raises(NotInTrash):
        delete_for_good(zone=make_zone(name="live.test."), author=alice, now=NOW)
    with pytest.raises(RightMissing):
        delete_for_good(zone=trashed, author=make_person("mia", Role.MEMBER), now=NOW)
    assert Zone.objects.count() == 2
