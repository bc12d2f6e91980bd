"""Creation, deletion and restoration of zones."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import NameReserved, NameTaken, NotInTrash, RuleViolations, Unknown
from dnspanel.zones.log import history
from dnspanel.zones.models import LogHead, Operation, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns.rrset import RRset as Values
from replication.errors import BadName, BadRRset
from tests import zonegen
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW


def create(
    author: User | None, name: str, rrsets: Sequence[Values] | None = None, form_id: UUID | None = None
) -> Publication:
    acting = Acting(author, "web", NOW, form_id=form_id)
    return edit.create_zone(zone=edit.NewZone(name, rrsets), acting=acting)


def lines(zone: Zone) -> set[tuple[str, int, tuple[str, ...]]]:
    return {(row.name, row.type, tuple(row.rdata)) for row in RRset.objects.filter(zone=zone)}


def test_a_new_zone_gets_soa_and_ns_from_the_settings(bob: User, settings: Any) -> None:
    settings.DEFAULT_NAMESERVERS = ["ns1.panel.test", "ns2.panel.test."]
    settings.DEFAULT_HOSTMASTER = "admin.panel.test."
    publication = create(bob, "Example.TEST")
    zone = Zone.objects.get(name=ZONE)
    assert lines(zone) == {
        (ZONE, 6, ("ns1.panel.test. admin.panel.test. 2026112101 10800 3600 604800 3600",)),
        (ZONE, 2, ("ns1.panel.test.", "ns2.panel.test.")),
    }
    assert (zone.serial, zone.revision, zone.rrset_count, zone.sequence) == (2026112101, 1, 2, publication.sequence)
    assert zone.changed_by == bob
    assert list(Revision.objects.values_list("kind", "number", "added")) == [("create", 1, 2)]
    assert LogHead.objects.get().sequence == publication.sequence


def test_given_rrsets_stand_as_they_are(bob: User) -> None:
    rrsets = [
        rr("@ 3600 SOA a.invalid. hostmaster.test101.org. 0 10800 3600 604800 3600", origin="test101.org."),
        rr("@ 3600 NS ns1.test1.org.", origin="test101.org."),
        rr("www 3600 A 1.1.1.1 | 42.42.42.42", origin="test101.org."),
    ]
    create(bob, "test101.org.", rrsets=rrsets)
    zone = Zone.objects.get(name="test101.org.")
    assert {rrset_of(row) for row in RRset.objects.filter(zone=zone)} == set(rrsets)
    assert zone.serial == 0


def test_an_international_name_is_stored_as_its_a_label(bob: User) -> None:
    create(bob, "Müller.test")
    assert Zone.objects.get().name == "xn--mller-kva.test."


def test_a_taken_name_is_refused_and_parent_and_child_are_not(bob: User, zone: Zone) -> None:
    with pytest.raises(NameTaken, match=r"example\.test\."):
        create(bob, "EXAMPLE.test.")
    create(bob, "sub.example.test.")
    create(bob, "below.other.test.")
    create(bob, "other.test.")


@pytest.mark.parametrize("name", ["", "a..test", "x" * 64 + ".test"])
def test_what_is_no_name_is_refused(bob: User, name: str) -> None:
    with pytest.raises(BadName):
        create(bob, name)


def test_the_name_of_the_sentinel_zone_is_reserved(bob: User) -> None:
    with pytest.raises(NameReserved):
        create(bob, "Position.dnspanel.invalid")


def test_content_that_breaks_a_rule_makes_no_zone(bob: User) -> None:
    with pytest.raises(RuleViolations):
        create(bob, ZONE, rrsets=[rr("www 300 A 192.0.2.1"), rr("www 300 CNAME x.example.net.")])
    with pytest.raises(RuleViolations):
        create(bob, ZONE, rrsets=[rr("a.old 300 A 192.0.2.1"), rr("old 300 DNAME x.example.net.")])
    with pytest.raises(BadRRset, match="twice"):
        create(bob, ZONE, rrsets=[rr("www 300 A 192.0.2.1"), rr("www 300 A 192.0.2.2")])
    assert not Zone.objects.exists()


def test_the_same_form_sent_twice_makes_one_zone(bob: User) -> None:
    form_id = uuid4()
    first = create(bob, ZONE, form_id=form_id)
    assert create(bob, ZONE, form_id=form_id) == first
    assert Zone.objects.count() == 1


def test_many_zones_are_one_publication_and_few_queries(bob: User) -> None:
    estate = [edit.NewZone(name, rrsets) for name, rrsets in zonegen.estate(500)]
    with CaptureQueriesContext(connection) as queries:
        publication = edit.create_zones(zones=estate, acting=Acting(bob, "import", NOW))
    assert len(queries) <= 10
    assert Revision.objects.filter(publication=publication).count() == 500
    assert RRset.objects.count() == sum(len(zone.rrsets or ()) for zone in estate)
    zone = Zone.objects.get(name=estate[7].name)
    assert set(history.rrsets_at(zone=zone, number=1)) == set(estate[7].rrsets or ())


def test_of_many_zones_none_is_made_when_one_name_is_taken_or_given_twice(bob: User, zone: Zone) -> None:
    for taken in ([edit.NewZone("a.test."), edit.NewZone(ZONE)], [edit.NewZone("b.test."), edit.NewZone("b.test.")]):
        with pytest.raises(NameTaken) as caught:
            edit.create_zones(zones=taken, acting=Acting(bob, "import", NOW))
        assert caught.value.name == taken[1].name
    assert Zone.objects.count() == 1


def test_bulk_refuses_lua_and_names_outside_of_the_zone(alice: User, bob: User, settings: Any) -> None:
    stray, lua = rr("www.other.test. 300 A 192.0.2.1"), rr('www 300 LUA A "createReverse()"')
    for wrong in (stray, lua):
        with pytest.raises(RuleViolations):
            edit.create_zones(zones=[edit.NewZone(ZONE, [wrong])], acting=Acting(bob, "import", NOW))
    settings.ALLOW_LUA_RECORDS = True
    with pytest.raises(RuleViolations):  # an editor lacks the permission
        edit.create_zones(zones=[edit.NewZone(ZONE, [lua])], acting=Acting(bob, "import", NOW))
    edit.create_zones(zones=[edit.NewZone(ZONE, [lua])], acting=Acting(alice, "import", NOW))


def test_a_deleted_zone_lies_in_the_trash_with_everything_and_drafts_forget_it(bob: User, zone: Zone) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 60 A 192.0.2.8"), now=NOW)
    publication = edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW, "moved away"))
    zone.refresh_from_db()
    assert zone.deleted_at == NOW
    assert (zone.revision, zone.sequence) == (2, publication.sequence)
    assert RRset.objects.filter(zone=zone).count() == 6
    assert not Operation.objects.exists()
    with pytest.raises(Unknown):
        edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))


def test_a_zone_recreated_under_its_name_is_another_zone(bob: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    create(bob, ZONE)
    assert Zone.objects.get(name=ZONE, deleted_at=None).pk != zone.pk
    with pytest.raises(NameTaken):
        edit.restore_zone(zone=zone, author=bob, channel="web", now=NOW)


def test_a_restored_zone_is_as_it_was_with_a_higher_serial(bob: User, zone: Zone) -> None:
    before = lines(zone)
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    form_id = uuid4()
    first = edit.restore_zone(zone=zone, author=bob, channel="web", now=NOW, form_id=form_id)
    assert edit.restore_zone(zone=zone, author=bob, channel="web", now=NOW, form_id=form_id) == first
    zone.refresh_from_db()
    assert (zone.deleted_at, zone.revision, zone.serial) == (None, 3, 2)
    assert {line for line in lines(zone) if line[1] != 6} == {line for line in before if line[1] != 6}
    old_soa = next(r for r in history.rrsets_at(zone=zone, number=1) if r.type == 6)
    assert (ZONE, 6, old_soa.rdata) in before
    with pytest.raises(NotInTrash):
        edit.restore_zone(zone=zone, author=bob, channel="web", now=NOW)


def test_the_trash_is_emptied_of_what_is_older_than_thirty_days(bob: User, make_zone: MakeZone) -> None:
    old, young = make_zone(name="old.test."), make_zone(name="young.test.")
    edit.delete_zone(zone=old, acting=Acting(bob, "web", NOW - timedelta(days=31)))
    edit.delete_zone(zone=young, acting=Acting(bob, "web", NOW - timedelta(days=29)))
    assert edit.empty_trash(now=NOW) == 1
    assert list(Zone.objects.values_list("name", flat=True)) == ["young.test."]
