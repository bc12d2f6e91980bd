"""The page that sets an expiry time for a record, and the places that display it.

Tests `rows.row_expiries` too.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Expiry, Zone
from dnspanel.zones.publishing.expiry import expiry_of, remove_due
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW, make_person

ZONE = "/zones/example.test./"
QUERY = "?name=www.example.test.&type=A"
PAGE = f"{ZONE}rrset/expiry/{QUERY}"
WWW = ("www.example.test.", rdtypes.A)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")


def test_a_time_is_set_shown_and_cancelled(zone: Zone, browser: Browser, bob: User, charlie: User) -> None:
    client = browser(bob)
    assert PAGE.replace("&", "&amp;") in client.get(f"{ZONE}rrset/{QUERY}").content.decode()
    at = timezone.now().replace(second=0, microsecond=0) + timedelta(days=3)
    response = client.post(PAGE, {"remove_at": f"{at:%Y-%m-%dT%H:%M}"}, follow=True)
    mark = f"Will be removed on {at:%Y-%m-%d %H:%M} UTC"
    assert f"www A will be removed on {at:%Y-%m-%d %H:%M} UTC." in response.content.decode()
    found = expiry_of(zone, WWW)
    assert found is not None
    assert (found.remove_at, found.set_by) == (at, bob)
    assert client.get(ZONE).content.decode().count(mark) == 1
    assert f"Change removal ({at:%Y-%m-%d %H:%M} UTC)" in client.get(f"{ZONE}history/record/{QUERY}").content.decode()
    assert mark in client.get(f"{ZONE}rrset/row/{QUERY}", headers=HTMX).content.decode()
    reading = browser(charlie).get(ZONE).content.decode()
    assert mark in reading
    assert "rrset/expiry" not in reading
    page = client.get(PAGE).content.decode()
    assert f'value="{at:%Y-%m-%dT%H:%M}"' in page
    assert "by bob" in page
    client.post(PAGE, {"act": "cancel"})
    assert expiry_of(zone, WWW) is None
    assert mark not in client.get(ZONE).content.decode()


@pytest.mark.parametrize("typed", ["", "soon", "2001-01-01T00:00", "2999-01-01T00:00"])
def test_what_is_no_time_from_now_on_is_said_at_the_field(typed: str, zone: Zone, browser: Browser, bob: User) -> None:
    response = browser(bob).post(PAGE, {"remove_at": typed})
    assert response.status_code == 422
    assert b'class="error" id="id_remove_at_error"' in response.content
    assert not Expiry.objects.exists()


def test_what_is_only_in_the_draft_cannot_expire(zone: Zone, browser: Browser, bob: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("new 300 A 192.0.2.3"), now=NOW, base_revision=zone.revision)
    page = f"{ZONE}rrset/expiry/?name=new.example.test.&type=A"
    client = browser(bob)
    assert "rrset/expiry" not in client.get(f"{ZONE}rrset/?name=new.example.test.&type=A").content.decode()
    for response in (client.get(page, follow=True), client.post(page, {"remove_at": "2999-01-01T00:00"}, follow=True)):
        assert (
            "new A is not published. Only published records can be removed automatically." in response.content.decode()
        )
    assert client.get(f"{ZONE}rrset/expiry/?name=www.other.test.&type=A").status_code == 404


@pytest.mark.parametrize("type_", ["SOA", "NS"])
def test_records_that_a_zone_needs_have_no_expiry(type_: str, zone: Zone, browser: Browser, bob: User) -> None:
    form = browser(bob).get(f"{ZONE}rrset/?name=example.test.&type={type_}").content.decode()
    assert "data-row-form" in form
    assert "rrset/expiry" not in form


def test_who_may_not_delete_the_record_gets_no_form(zone: Zone, browser: Browser) -> None:
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ, Right.CHANGE}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    client = browser(mia)
    assert "rrset/expiry" not in client.get(f"{ZONE}rrset/{QUERY}").content.decode()
    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, {"remove_at": "2999-01-01T00:00"}).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_why_a_record_stays_is_said_in_its_row_and_on_its_page(zone: Zone, browser: Browser, bob: User) -> None:
    query = "?name=example.test.&type=NS"
    at = timezone.now() + timedelta(minutes=5)
    client = browser(bob)
    client.post(f"{ZONE}rrset/expiry/{query}", {"remove_at": f"{at:%Y-%m-%dT%H:%M}"})
    assert remove_due(now=at) == 0
    refusal = Expiry.objects.get().refusal
    assert refusal
    assert "Expired but not removed: " in client.get(ZONE).content.decode()
    page = client.get(f"{ZONE}rrset/expiry/{query}").content.decode()
    assert "The panel tries again every hour" in page
