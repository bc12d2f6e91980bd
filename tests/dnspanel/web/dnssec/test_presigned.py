"""The DNSSEC page of a presigned zone."""

from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.web.dnssec import pages
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import Browser
from tests.dnspanel.zones.conftest import presigned_zone

PAGE = "/zones/example.test./dnssec/"


@pytest.fixture
def presigned(alice: User) -> Zone:
    return presigned_zone(alice, "www 300 A 192.0.2.1")


def page_of(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_it_says_when_signatures_end_and_offers_no_keys(
    presigned: Zone, bob: User, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = page_of(browser(bob))
    assert "Signed outside this panel" in page
    for forbidden in ("<summary>Add key", "Start rollover", f"Sign {presigned.name}", "CDS records", "Unsign zone…"):
        assert forbidden not in page
    key = queries.other_keys_of(presigned)[0]
    assert f"{presigned.name} IN DNSKEY {key.dnskey}" in page
    ends: list[Any] = [datetime.fromisoformat("2099-01-02T03:04:00Z"), datetime.fromisoformat("2020-01-02T03:04:00Z")]
    monkeypatch.setattr(pages, "signatures_end", lambda zone: ends.pop(0))
    page = page_of(browser(bob))
    assert "2099-01-02 03:04 UTC" in page
    assert "Sign the zone again" not in page
    assert "Sign the zone again" in page_of(browser(bob))


def test_signatures_are_dropped_after_a_question(presigned: Zone, bob: User, browser: Browser) -> None:
    client = browser(bob)
    question = client.post(f"{PAGE}drop/").content.decode()
    assert "First remove the DS" in question.replace("\n", " ")
    assert queries.signing_of(presigned).presigned
    page = client.post(f"{PAGE}drop/", {"confirmed": "yes"}, follow=True).content.decode()
    assert "Signatures removed from" in page
    assert not queries.signing_of(presigned).is_signed
    again = client.post(f"{PAGE}drop/", {"confirmed": "yes"})
    assert again.status_code == 422
    assert b"is not signed" in again.content


def test_of_many_keys_the_first_are_listed_and_the_others_counted(alice: User, bob: User, browser: Browser) -> None:
    keys = " | ".join(key_material.dnskey_text(257, 15, bytes([number]) * 32) for number in range(23))
    presigned_zone(alice, f"@ 3600 DNSKEY {keys}")
    page = " ".join(page_of(browser(bob)).split())
    assert page.count("IN DNSKEY 257 3 15") == 20
    assert "3 more DNSKEY records" in page
