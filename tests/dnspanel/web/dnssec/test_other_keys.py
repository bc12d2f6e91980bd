"""Other signers' keys on a zone's DNSSEC page."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.models import Zone
from dnspanel.zones.signing import sign
from dnspanel.zones.signing.signalling import has_signalling
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.zones.conftest import zone as zone
from tests.people import NOW

PAGE = "/zones/example.test./dnssec/"
KEY = 257, 13, key_material.generate(13).public
TAG = key_material.key_tag(*KEY)


@pytest.fixture
def signed(zone: Zone, bob: User) -> Zone:
    sign.sign(zones=[zone], acting=Acting(bob, "web", NOW))
    return zone


def send(client: Client, path: str, **posted: Any) -> Any:
    return client.post(PAGE + path, {"form_id": uuid4(), **posted}, follow=True)


def test_a_key_of_another_signer_is_added_shown_and_taken_away(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    assert "Only this panel signs the zone." in client.get(PAGE).content.decode()
    record = f"{signed.name} 3600 IN DNSKEY {key_material.dnskey_text(*KEY)}"
    page = send(client, "other-keys/", dnskey=record).content.decode()
    assert "The other signer’s key was added" in page
    assert f"{signed.name} IN DS {key_material.ds_text(signed.name, *KEY)}" in page
    question = send(client, f"other-keys/{TAG}/remove/").content.decode()
    assert "wait until cached signatures have expired" in question
    assert queries.other_keys_of(signed)
    page = send(client, f"other-keys/{TAG}/remove/", confirmed="yes").content.decode()
    assert f"Key {TAG} from another signer removed" in page
    assert not queries.other_keys_of(signed)
    again = send(client, f"other-keys/{TAG}/remove/", confirmed="yes")
    assert again.status_code == 422
    assert b"no longer has this key from another signer" in again.content


def test_what_is_refused_stands_at_the_record(signed: Zone, bob: User, browser: Browser) -> None:
    response = send(browser(bob), "other-keys/", dnskey=f"other.test. IN DNSKEY {key_material.dnskey_text(*KEY)}")
    assert response.status_code == 422
    page = response.content.decode()
    assert "The key belongs to other.test." in page.partition('id="other_key_dnskey_error"')[2].partition("</p>")[0]
    assert '<details class="more" open>' in page


def test_signalling_names_are_switched_on_and_off(signed: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    for on in (True, False):
        page = send(client, "signalling/", **({"signals": "on"} if on else {})).content.decode()
        assert "Setting saved. Signalling records will be updated within one minute." in page
        assert has_signalling(signed) is on
        assert ("checked" in page.partition('name="signals"')[2].partition(">")[0]) is on
