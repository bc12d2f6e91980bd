"""A zone's primaries, in the settings tab and in the strip above the zone's pages.

Tests `frame.primaries_form` and `editor.transferred_from` too.
"""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.primaries import apply_transfer, set_up_primaries
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.primaries.conftest import ZONE, Primary, row_of, take_turn
from tests.dnspanel.primaries.conftest import primary as primary
from tests.dnspanel.primaries.conftest import transferred as transferred
from tests.dnspanel.transfer.powerdns_estate import TSIG_SECRET
from tests.dnspanel.web.conftest import YES, Browser, MakeZone
from tests.dnspanel.zones import ruled
from tests.own_certificates import own_certificate
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

DETAIL, PAGE = f"/zones/{ZONE}/", f"/zones/{ZONE}/primaries/"
TERMS = {"addresses": "9.9.9.9\n[2620:fe::fe]:5300", "tsig_algorithm": "hmac-sha512"}


def words(content: bytes) -> str:
    return " ".join(content.decode().split())


def test_a_zone_that_came_says_from_where_and_offers_no_change(
    transferred: Zone, primary: Primary, browser: Browser, alice: User, charlie: User
) -> None:
    page = words(browser(alice).get(DETAIL).content)
    assert "This is a secondary zone." in page
    assert f'The zone is transferred from <span class="mono wrap">{primary.address}</span>' in page
    assert f'Serial <span class="mono">{row_of(transferred).serial}</span>' in page
    assert PAGE in page
    for offer in ("/zones/abroad.test./review/", "/zones/abroad.test./paste/", "rrset/?name=www"):
        assert offer not in page
    reader = words(browser(charlie).get(DETAIL).content)
    assert "This is a secondary zone." in reader
    assert "confirmed" not in reader
    assert PAGE not in reader
    assert browser(charlie).get(PAGE).status_code == 403
    page = words(browser(alice).get(PAGE).content)
    assert "(AXFR, " in page
    assert TSIG_SECRET not in page


def test_what_is_wrong_is_said_and_an_expired_zone_is_told_as_that(
    transferred: Zone, browser: Browser, alice: User
) -> None:
    TransferredZone.objects.update(addresses=["127.0.0.1:1024"], notices_refused=1234, notice_refused_from="192.0.2.9")
    assert "127.0.0.1 port 1024" in take_turn(transferred, after=timedelta(hours=1))
    client = browser(alice)
    page = words(client.get(DETAIL).content)
    assert 'class="strip is-warn" id="transferred-from"' in page
    assert "Transfers started failing" in page
    assert "127.0.0.1 port 1024 didn’t respond." in page
    assert "Refused from other servers: 1,234" in words(client.get(PAGE).content)
    assert apply_transfer.expire_due(now=NOW + timedelta(days=1)) == 1
    page = words(client.get(DETAIL).content)
    assert 'class="strip is-bad" id="transferred-from"' in page
    assert "This zone has expired, so nodes no longer answer for it." in page


def test_a_zone_here_comes_from_elsewhere_once_that_was_asked(
    make_zone: MakeZone, browser: Browser, alice: User, settings: Any
) -> None:
    zone, client = make_zone("www 300 A 192.0.2.1", name=ZONE), browser(alice)
    assert "This panel is the primary of the zone" in words(client.get(f"/zones/{ZONE}/settings/").content)
    effects = words(client.post(PAGE, TERMS).content)
    assert "The first transfer will replace all of the zone’s records in this panel." in effects
    assert not TransferredZone.objects.exists()
    answer = client.post(PAGE, {**TERMS, **YES, "tsig_name": "Transfer.Key", "tsig_secret": TSIG_SECRET})
    assert answer["Location"] == PAGE
    row = row_of(zone)
    assert (row.addresses, row.tsig_name, row.tsig_algorithm) == (
        ["9.9.9.9", "[2620:fe::fe]:5300"],
        "transfer.key.",
        "hmac-sha512",
    )
    # An empty secret keeps the stored one.
    assert client.post(PAGE, {**TERMS, "addresses": "9.9.9.9", "tsig_name": "transfer.key"})["Location"] == PAGE
    after = row_of(zone)
    assert (after.addresses, bytes(after.tsig_secret or b"")) == (["9.9.9.9"], bytes(row.tsig_secret or b""))


def test_it_comes_over_tls_by_names_and_shows_the_panels_certificate(
    make_zone: MakeZone, browser: Browser, alice: User
) -> None:
    zone, client, own = make_zone(name=ZONE), browser(alice), own_certificate("ns1.abroad.test")
    form = {**TERMS, **YES, "tls_names": "ns1.abroad.test", "tls_certificates": own.certificate}
    assert "Enable TLS, or clear them" in words(client.post(PAGE, form).content)
    form = {**form, "uses_tls": "on", "shows_certificate": "on", "addresses": "9.9.9.9"}
    assert client.post(PAGE, form)["Location"] == PAGE
    row = row_of(zone)
    assert (row.uses_tls, row.tls_names, row.shows_certificate) == (True, ["ns1.abroad.test"], True)
    page = words(client.get(PAGE).content)
    assert "TLS only" in page
    assert "CA for the panel’s certificate" in page
    assert page.count("BEGIN CERTIFICATE") == 2, "theirs in its field, and ours"
    assert client.post(PAGE, {**form, "tls_names": "", "tls_certificates": ""}).status_code == 422


def test_what_cannot_be_is_told_at_its_field_and_keeps_what_was_typed(
    make_zone: MakeZone, browser: Browser, alice: User
) -> None:
    make_zone(name=ZONE)
    answer = browser(alice).post(PAGE, {**TERMS, **YES, "addresses": "ns1.example.net", "tsig_name": "key.test"})
    assert answer.status_code == 422
    page = words(answer.content)
    assert "ns1.example.net isn’t a valid address" in page
    assert "Enter the key secret in Base64." in page
    assert 'value="key.test"' in page


def test_a_zone_is_asked_for_taken_over_and_given_back(transferred: Zone, browser: Browser, alice: User) -> None:
    client = browser(alice)
    assert client.post(f"{PAGE}ask/", {"all": "yes"})["Location"] == PAGE
    assert row_of(transferred).wants_all
    effects = words(client.post(f"{PAGE}take-over/").content)
    assert "The zone will become editable in this panel." in effects
    transferred.refresh_from_db()
    assert transferred.transferred_from
    assert client.post(f"{PAGE}take-over/", YES)["Location"] == PAGE
    transferred.refresh_from_db()
    assert not transferred.transferred_from
    assert "This panel is now the primary of this zone" in words(client.get(PAGE).content)
    assert "/zones/abroad.test./review/" in words(client.get(DETAIL).content)
    for act in ("ask/", "take-over/"):
        page = words(client.post(f"{PAGE}{act}", YES, follow=True).content)
        assert "isn’t transferred from another server. This panel is its primary." in page
    assert "The next transfer will replace" in words(client.post(f"{PAGE}give-back/").content)
    assert client.post(f"{PAGE}give-back/", YES)["Location"] == PAGE
    transferred.refresh_from_db()
    assert transferred.transferred_from
    assert "was not taken over from another server" in words(client.post(f"{PAGE}give-back/", YES, follow=True).content)


def test_a_zone_that_waits_says_so_and_is_not_taken_over(browser: Browser, alice: User) -> None:
    set_up_primaries.create_transferred_zone(
        name=ZONE, terms=Terms(["9.9.9.9"]), acting=Acting(alice, Channel.WEB, NOW)
    )
    client = browser(alice)
    assert "This zone is waiting for its first transfer." in words(client.get(DETAIL).content)
    page = words(client.get(PAGE).content)
    assert "none yet" in page
    assert "Change to primary…" not in page
    assert "because it was never transferred" in words(client.post(f"{PAGE}take-over/", YES, follow=True).content)


def test_a_zone_with_rules_gets_another_primary_past_them_by_who_may_govern_it(
    make_zone: MakeZone, browser: Browser, alice: User, bob: User
) -> None:
    zone = make_zone(name=ZONE)
    ruled.need_approval(zone, alice)
    refused = browser(bob).post(PAGE, {**TERMS, **YES})
    assert refused.status_code == 422
    assert "cannot get another primary while its changes need approval" in words(refused.content)
    assert "Bypass rules" not in words(refused.content)
    client = browser(alice)
    assert "Bypass rules" in words(client.get(PAGE).content)
    said = {"past_rules": "on", "reason": "The house burns"}
    assert client.post(PAGE, {**TERMS, **YES, **said})["Location"] == PAGE
    TransferredZone.objects.update(serial=7)
    assert "Bypass rules" in words(client.get(PAGE).content)
    take_over, give_back = f"{PAGE}take-over/", f"{PAGE}give-back/"
    assert "cannot get another primary" in words(client.post(take_over, YES, follow=True).content)
    assert "This panel is now the primary" in words(client.post(take_over, {**YES, **said}, follow=True).content)
    assert "cannot get another primary" in words(browser(bob).post(give_back, YES, follow=True).content)
    assert browser(bob).post(give_back, {**YES, **said}).status_code == 403
    assert "is a secondary zone again" in words(client.post(give_back, {**YES, **said}, follow=True).content)
    past = words(client.get("/requests/").content)
    assert past.count("The house burns") >= 3, "each act is in the list"
