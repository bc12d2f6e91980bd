"""The trash: dates, search, content of a deleted zone, restoration and final deletion."""

import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.publish.models import Segment
from dnspanel.zones.acting import Acting
from dnspanel.zones.audit import audit_links
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW, make_person

TRASH = "/zones/trash/"


@pytest.fixture
def trashed(make_zone: MakeZone, bob: User) -> Zone:
    """Create a deleted zone with addresses at www."""
    zone = make_zone("www 300 A 192.0.2.1 | 192.0.2.2")
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    zone.refresh_from_db()
    return zone


def encode_and_link() -> None:
    """Mark everything as encoded by the publisher, and link all acts into the audit chain."""
    newest = Publication.objects.latest("sequence")
    Segment.objects.create(
        epoch=newest.epoch, schema=4, first=1, last=newest.sequence, object_name="x", size=1, digest=b"", sealed_at=NOW
    )
    audit_links.link_new_acts()


def test_one_name_twice_in_the_trash_is_told_apart_by_its_dates(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    """Previously both zones showed the same text, "2 days ago"."""
    for hours in (0, 1):
        zone = make_zone()
        edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW + timedelta(hours=hours)))
    trash = re.sub(r"<time[^>]*>", "", browser(bob).get("/zones/trash/").content.decode())
    assert f"{NOW:%Y-%m-%d %H:%M:%S}" in trash
    assert f"{NOW + timedelta(hours=1):%Y-%m-%d %H:%M:%S}" in trash


def test_a_zone_comes_back_from_the_trash(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone()
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    address = reverse("zone-restore", args=[zone.pk])
    assert browser(bob).post(address)["Location"] == reverse("zone-detail", args=[zone.name])
    assert Zone.objects.get(pk=zone.pk).deleted_at is None


def test_a_zone_whose_name_is_taken_stays_in_the_trash(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    zone = make_zone()
    edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW))
    make_zone()
    client = browser(bob)
    assert client.post(reverse("zone-restore", args=[zone.pk]))["Location"] == "/zones/trash/"
    assert b"a zone with this name already exists. Nothing was changed." in client.get("/zones/trash/").content
    assert Zone.objects.get(pk=zone.pk).deleted_at == NOW


def test_it_says_when_a_zone_was_deleted_and_when_it_is_gone(trashed: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(TRASH).content.decode()
    assert f"{NOW:%Y-%m-%d %H:%M:%S}" in page
    assert f"{NOW + timedelta(days=30):%Y-%m-%d %H:%M}" in page


def test_zones_are_found_in_it_by_words_and_filters(
    trashed: Zone, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    other = make_zone(name="other.test.")
    edit.delete_zone(zone=other, acting=Acting(bob, Channel.WEB, NOW))
    client = browser(bob)
    for query in ("example", "has:192.0.2.1"):
        page = client.get(TRASH, {"q": query}).content.decode()
        assert "example.test." in page
        assert "other.test." not in page
    list_ = client.get(TRASH, {"q": "nowhere"}, headers=HTMX | {"HX-Target": "trash-list"}).content.decode()
    assert list_.lstrip().startswith('<section id="trash-list"')
    assert "No deleted zones match" in list_


def test_the_list_takes_a_fixed_number_of_queries(
    make_zone: MakeZone, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(12):
        zone = make_zone(name=f"z{number}.test.")
        edit.delete_zone(zone=zone, acting=Acting(bob, Channel.WEB, NOW + timedelta(hours=number)))
    client = browser(bob)
    with django_assert_max_num_queries(12):
        client.get(TRASH)


def test_what_it_holds_is_read_before_anybody_decides(trashed: Zone, browser: Browser, charlie: User) -> None:
    page = browser(charlie).get(reverse("zone-trashed", args=[trashed.pk])).content.decode()
    for words in ("192.0.2.2", "SOA", "by bob", f"{NOW + timedelta(days=30):%Y-%m-%d %H:%M} UTC"):
        assert words in page
    assert "Delete permanently" not in page  # a reader isn't allowed to
    assert browser(make_person("mia", Role.MEMBER)).get(f"{TRASH}{trashed.pk}/").status_code == 404


def test_it_goes_for_good_once_its_name_is_typed(trashed: Zone, browser: Browser, bob: User) -> None:
    encode_and_link()
    client, address = browser(bob), reverse("zone-gone", args=[trashed.pk])
    form = {"form_id": str(uuid4())}
    wrong = client.post(address, form | {"typed": "other.test"})
    assert wrong.status_code == 422
    assert "Enter example.test. to confirm." in wrong.content.decode()
    assert client.post(address, form | {"typed": "example.test"})["Location"] == TRASH
    assert not Zone.objects.filter(pk=trashed.pk).exists()
    entry = AuditEntry.objects.get(action="zone.gone")
    assert (entry.user, entry.target, entry.details["rrsets"]) == (bob, "example.test.", 3)
    assert client.post(address, form | {"typed": "example.test"}).status_code == 404


def test_it_does_not_go_before_the_nodes_can_know(trashed: Zone, browser: Browser, bob: User) -> None:
    """The log is encoded from rows, so deleting the row early would hide the zone's deletion from the nodes."""
    form = {"form_id": str(uuid4()), "typed": "example.test"}
    page = browser(bob).post(reverse("zone-gone", args=[trashed.pk]), form)
    assert page.status_code == 422
    assert "still being processed" in page.content.decode()
    assert Zone.objects.filter(pk=trashed.pk).exists()
