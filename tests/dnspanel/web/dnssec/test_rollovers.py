"""Rollovers on a zone's DNSSEC page, and the list of all rollovers.

Tests `dnssec.display_rollover` and `dnssec.rollover_forms` too.
"""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import Rollover, Zone
from dnspanel.zones.signing import policies, rollovers, sign
from replication.codec.dnssec import Nsec3
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.web.test_every_url import member_of
from tests.dnspanel.zones.conftest import rr
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW, make_person
from tests.publishing import change_rrsets

PAGE = "/zones/example.test./dnssec/"


@pytest.fixture
def signed(zone: Zone, bob: User) -> Zone:
    sign.sign(zones=[zone], acting=Acting(bob, "web", NOW))
    return zone


def begin(zone: Zone, bob: User, kind: Kind = Kind.CSK) -> Rollover:
    return rollovers.begin(zone=zone, kind=kind, acting=Acting(bob, "web", NOW))


def send(client: Client, path: str, **posted: Any) -> Any:
    return client.post(PAGE + path, {"form_id": uuid4(), **posted}, follow=True)


def page_of(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_a_rollover_is_begun_followed_and_cancelled(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    page = page_of(client)
    assert 'id="rollover"' not in page
    assert "No rollovers yet." in client.get(PAGE + "rollover/", headers=HTMX).content.decode()
    assert '<option value="csk">' in page
    assert '<option value="zsk">' not in page  # the zone has no such key
    page = send(client, "rollover/begin/", kind="csk").content.decode()
    assert "Rollover started" in page
    assert "Waiting for all nodes to serve this step." in page
    assert 'aria-current="step"' in page
    assert "Start rollover" not in page
    for forbidden in ("Deactivate", "Delete…", "<summary>Add key"):  # refused actions are not offered
        assert forbidden not in page
    row = Rollover.objects.get()
    Rollover.objects.filter(pk=row.pk).update(
        waits_for="Caches may keep it.", earliest=NOW + timedelta(days=3650), add_ds=row.new_ds[:1], late=[]
    )
    card = client.get(PAGE + "rollover/", headers=HTMX).content.decode()
    assert "Not before" in card
    assert f"example.test. IN DS {row.new_ds[0]}" in card
    page = send(client, "rollover/cancel/").content.decode()
    assert "not checked yet" in page  # whether caches may have a DS for only the new key
    Rollover.objects.filter(pk=row.pk).update(parent_silent="")
    page = send(client, "rollover/cancel/").content.decode()
    assert "Rollover cancelled" in page
    assert len(queries.keys_of(signed)) == 1


def test_what_is_refused_is_said_at_the_form(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    response = send(client, "rollover/begin/", kind="algorithm")
    assert response.status_code == 422
    assert "Choose an algorithm that the zone" in response.content.decode()
    response = send(client, "rollover/begin/", kind="zsk")
    assert response.status_code == 422
    assert not Rollover.objects.exists()
    response = send(client, "rollover/cancel/")
    assert (response.status_code, "No rollover for" in response.content.decode()) == (422, True)


def test_who_withdraws_a_request_says_so(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    begin(signed, bob)
    assert "withdrawn" not in page_of(client)
    Rollover.objects.update(step="ds")
    assert "withdrawn" in page_of(client)
    response = send(client, "rollover/cancel/")
    assert "Withdraw the request at the parent" in response.content.decode()
    send(client, "rollover/cancel/", withdrawn="on")
    assert Rollover.objects.get().step == "withdraw"


def test_an_emergency_says_what_it_breaks_and_wants_the_name(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    before = queries.keys_of(signed)
    page = client.get(PAGE + "emergency/").content.decode()
    assert "answer SERVFAIL until" in page
    assert send(client, "emergency/", kind="csk", typed="example").status_code == 422
    assert queries.keys_of(signed) == before
    assert "Old key removed" in send(client, "emergency/", kind="csk", typed="example.test.").content.decode()
    [key] = queries.keys_of(signed)
    assert key.id != before[0].id


def test_what_stands_still_and_what_is_over_is_said(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    begin(signed, bob, Kind.INSECURE)
    Rollover.objects.update(is_stuck=True, waits_for="Key 7 is not used as this step needs it.")
    assert "Key 7 is not used" in page_of(client)
    assert "stuck" in client.get("/dnssec/rollovers/").content.decode()
    Rollover.objects.update(ended_at=NOW, is_cancelled=True)
    page = page_of(client)
    assert "Unsigning the zone, cancelled" in page
    assert "Start rollover" in page
    assert "No rollovers in progress" in client.get("/dnssec/rollovers/").content.decode()


def test_the_list_has_pages_and_only_what_one_may_know_of(
    make_zone: MakeZone, bob: User, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dnspanel.web.dnssec.rollovers.PAGE", 2)
    zones = [make_zone(name=f"z{number}.test.") for number in range(3)]
    sign.sign(zones=zones, acting=Acting(bob, "web", NOW))
    for each in zones:
        begin(each, bob)
    client = browser(bob)
    first = client.get("/dnssec/rollovers/").content.decode()
    assert [name in first for name in ("z0.test.", "z1.test.", "z2.test.")] == [True, True, False]
    after = Rollover.objects.order_by("pk")[1].pk
    assert f"?after={after}" in first
    second = client.get("/dnssec/rollovers/", {"after": str(after)}).content.decode()
    assert [name in second for name in ("z0.test.", "z1.test.", "z2.test.")] == [False, False, True]
    assert browser(make_person("erin", Role.MEMBER)).get("/dnssec/rollovers/").status_code == 403
    own = make_zone(name="own.test.")
    assert "No rollovers in progress" in browser(member_of(own)).get("/dnssec/rollovers/").content.decode()


def test_the_policy_waits_for_the_rollover(signed: Zone, bob: User, browser: Browser) -> None:
    terms = Terms(nsec3=Nsec3(), ksk_days=1)
    policies.create_policy(name="Standard", terms=terms, is_default=True, by=None, now=NOW)
    assert "Apply policy" in page_of(browser(bob))
    begin(signed, bob)
    page = page_of(browser(bob))
    assert "The policy will be applied afterwards" in page
    assert "Apply policy" not in page
    assert "exceeded the lifetime set in the policy" not in page


def test_a_zone_is_trusted_by_one_button_where_its_parent_is_here(
    make_zone: MakeZone, zone: Zone, bob: User, browser: Browser
) -> None:
    child = make_zone(name="sub.example.test.")
    path = "/zones/sub.example.test./dnssec/"
    sign.sign(zones=[child], acting=Acting(bob, "web", NOW))
    client = browser(bob)
    assert "Add DS to" not in client.get(path).content.decode(), "its parent is not known to delegate it"
    change_rrsets(
        zone=zone,
        changes={("sub.example.test.", 2): rr("sub 300 NS ns1.example.net.")},
        author=bob,
        channel="web",
        now=NOW,
    )
    assert "Add DS to example.test." in client.get(path).content.decode()
    posted = {"form_id": uuid4(), "kind": "secure"}
    page = client.post(f"{path}rollover/begin/", posted, follow=True).content.decode()
    assert "signed on all nodes" in page
    assert "Add DS to" not in page
    assert Rollover.objects.get().kind == Kind.SECURE


def test_what_holds_a_secondary_up_says_the_way_out(signed: Zone, bob: User, browser: Browser) -> None:
    begin(signed, bob)
    client = browser(bob)
    assert "delays the rollover" not in page_of(client)
    Rollover.objects.update(late_secondaries=["partner"], waits_for="partner answers with serial 1 instead of 2.")
    page = page_of(client)
    assert "partner answers with serial 1 instead of 2." in page
    assert 'remove the zone from it under <a href="/secondaries/">Secondaries</a>' in page
