"""The order and the states of a zone's DNSSEC page: state, chain and DS first, rare settings folded."""

import re
from base64 import b64decode
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.fleet.dnssec.node_answers import NodeAnswer, Verdict
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.web.dnssec import pages
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import Zone
from dnspanel.zones.signing import other_signers, policies, rollovers, sign
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW

PAGE = "/zones/example.test./dnssec/"
BY = Acting(None, "web", NOW)
MOST_BYTES = 150_000


@pytest.fixture
def signed(zone: Zone) -> Zone:
    sign.sign(zones=[zone], acting=BY)
    return zone


def page_of(client: Client) -> str:
    return str(client.get(PAGE).content.decode())


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def chain_of(page: str) -> str:
    return text_of(page.partition('class="chain"')[2].partition(">")[2].partition("</ol>")[0])


def checked(zone: Zone, state: ParentState, ds: list[str], **more: Any) -> None:
    found = {"servers": {"ns.test. 192.0.2.1": ds}, "ttl": 60, "root": more.pop("root", "")}
    ParentCheck.objects.create(zone=zone, due_at=NOW, known_at=NOW, state=state, parent="test.", found=found, **more)


def test_state_chain_and_ds_come_before_keys_and_rare_settings(signed: Zone, browser: Browser, bob: User) -> None:
    page = page_of(browser(bob))
    parts = ['class="signing-state"', 'class="chain"', 'id="ds"', 'id="keys"', 'id="advanced"', 'id="policy-title"']
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert "Next step: add this DS at your registrar" in page
    [picture] = re.findall(r'<img class="qr" src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert b64decode(picture).startswith(b"<")
    [code] = re.findall(r'<pre id="([^"]+)" tabindex="0">example\.test\. [^<]* DS [^<]*</pre>', page)[:1]
    assert f'data-copy="{code}"' in page
    assert re.search(r'<details class="stack advanced" id="advanced">', page), "closed"
    assert chain_of(page).startswith("Root not checked yet Parent zone not checked yet DS not checked yet CSK")
    assert "not planned, because no policy limits the age of keys" in page
    refused = browser(bob).post(f"{PAGE}denial/", {"form_id": uuid4(), "denial": "nsec3", "salt": "abc"})
    assert re.search(r'id="advanced" open', refused.content.decode())


def test_the_button_in_the_head_signs_an_unsigned_zone(zone: Zone, browser: Browser, bob: User) -> None:
    page = page_of(browser(bob))
    assert re.search(r'<button class="btn btn-primary" type="submit" form="sign-form">', page)
    assert chain_of(page).endswith("No keys Answers nodes not checked yet")
    policies.create_policy(name="Standard", terms=Terms(), is_default=True, by=None, now=NOW)
    page = page_of(browser(bob))
    assert 'form="follow-form"' in page
    assert 'id="follow-form"' in page


def test_a_transferred_zone_is_signed_by_its_primary(zone: Zone, browser: Browser, bob: User) -> None:
    Zone.objects.filter(pk=zone.pk).update(transferred_from="192.0.2.99")
    page = page_of(browser(bob))
    assert "Only the zone’s primary can sign it" in page
    assert f'action="{PAGE}sign/"' not in page


def test_a_complete_chain_needs_nothing(signed: Zone, browser: Browser, bob: User) -> None:
    [key] = queries.keys_of(signed)
    checked(signed, ParentState.MATCHES, [key.ds[0]], root="secure")
    page = page_of(browser(bob))
    assert "Resolvers validate the zone: the chain from the root is complete." in page
    assert "Nothing to do: the parent has the DS." in page
    assert f"test. valid: has the DS DS {key.tag} valid: matches the key" in chain_of(page)


def test_a_wrong_ds_is_said_first_with_the_right_one(signed: Zone, browser: Browser, bob: User) -> None:
    checked(signed, ParentState.DIFFERS, [f"4711 13 2 {'ab' * 32}"], message="The DS at the parent test. is wrong.")
    page = page_of(browser(bob))
    assert "Validating resolvers cannot resolve this zone." in page
    assert "Next step: correct the DS at your registrar" in page
    assert "DS 4711 error: matches no key No key 4711" in chain_of(page)
    ParentCheck.objects.update(state=ParentState.BOGUS, found={"servers": {"a": ["1 13 2 ab"]}, "root": "bogus"})
    assert "The chain of trust breaks on the way from the root." in page_of(browser(bob))


def test_a_ds_of_an_unsigned_zone_breaks_it(zone: Zone, browser: Browser, bob: User) -> None:
    checked(zone, ParentState.DIFFERS, [f"4711 13 2 {'ab' * 32}"])
    assert "The parent zone has a DS, but the zone isn’t signed." in page_of(browser(bob))


def test_a_rollover_says_when_it_goes_on(signed: Zone, browser: Browser, bob: User) -> None:
    row = rollovers.begin(zone=signed, kind=Kind.CSK, acting=Acting(bob, "web", NOW))
    type(row).objects.update(earliest=NOW + timedelta(days=3650))
    page = page_of(browser(bob))
    assert "A key rollover is in progress." in page
    assert "not before 2036" in page
    assert "The rollover shows which DS to add or remove." in page
    assert page.index('id="rollover"') < page.index('id="keys"')


def test_the_next_rollover_has_a_date_if_a_policy_limits_the_age_of_keys(
    signed: Zone, browser: Browser, bob: User
) -> None:
    terms = Terms(ksk_days=3650)
    policies.create_policy(name="Standard", terms=terms, is_default=True, by=None, now=NOW)
    [key] = queries.keys_of(signed)
    facts = text_of(page_of(browser(bob)).partition('dnssec-facts"')[2].partition("</dl>")[0])
    assert f"Next rollover {key.created_at + timedelta(days=3650):%Y-%m-%d} key {key.tag}" in facts


def test_nodes_with_another_chain_are_named_in_the_picture(
    signed: Zone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    [key] = queries.keys_of(signed)
    found = [
        NodeAnswer("ns1", Verdict.VALIDATES, tags=(key.tag,)),
        NodeAnswer("ns2", Verdict.BOGUS, "the signature has expired", tags=(1,)),
    ]
    monkeypatch.setattr(pages, "ask_nodes", lambda zone, now: found)
    fragment = browser(bob).get(f"{PAGE}answers/", headers=HTMX).content.decode()
    assert fragment.startswith('<div class="stack-s" id="chain"')
    assert chain_of(fragment).endswith(f"CSK {key.tag} error: not on ns2 Answers error: valid on 1 of 2 nodes")
    assert "ns2: bogus the signature has expired" in text_of(fragment)


def test_a_page_with_the_most_keys_stays_small(signed: Zone, browser: Browser, alice: User) -> None:
    for number in range(19):
        sign.add_key(zone=signed, acting=BY, flags=257 if number < 9 else 256)
    for number in range(20):
        public = key_material.generate(13).public
        text = f"{signed.name} IN DNSKEY {key_material.dnskey_text(257 if number < 10 else 256, 13, public)}"
        other_signers.add_other_key(zone=signed, text=text, acting=BY)
    response = browser(alice).get(PAGE)
    page = response.content.decode()
    assert len(response.content) < MOST_BYTES
    assert "more keys" in chain_of(page)
    assert page.count("data-copy") > 60
