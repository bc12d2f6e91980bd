"""The page that shows and sets a zone's transfers without a key, and NOTIFY receivers other than secondaries."""

from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.secondaries import keyless
from dnspanel.secondaries.models import NoticeAddress, OpenZone
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import NOW

ZONE = "/zones/example.test./"
PAGE = f"{ZONE}settings/transfers/"


@pytest.fixture(autouse=True)
def at_home(settings: Any) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]


def test_it_is_changed_and_shown_with_who_set_it(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    make_zone()
    client = browser(bob)
    assert "none (a key is required)" in client.get(f"{ZONE}settings/").content.decode()
    typed = {"networks": "192.0.2.0/24\n2001:db8::1", "addresses": "127.0.0.1:5300"}
    assert client.post(PAGE, typed)["Location"] == PAGE
    assert OpenZone.objects.get().networks == ["192.0.2.0/24", "2001:db8::1/128"]
    NoticeAddress.objects.update(notify_error="Nobody answers.")
    for url in (PAGE, f"{ZONE}settings/"):
        page = client.get(url).content.decode()
        assert "192.0.2.0/24, 2001:db8::1/128" in page
        assert "127.0.0.1:5300" in page
        assert page.count(bob.username) >= 2
        assert "Nobody answers." in page
    assert client.post(PAGE, {"networks": "", "addresses": ""}).status_code == 302
    assert not OpenZone.objects.exists()
    assert not NoticeAddress.objects.exists()


def test_what_is_refused_stays_typed_and_changes_nothing(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    make_zone()
    client = browser(bob)
    response = client.post(PAGE, {"networks": "192.0.2.0/24", "addresses": "10.0.0.1"})
    assert response.status_code == 422
    assert "10.0.0.1 is not a public address" in response.content.decode()
    response = client.post(PAGE, {"networks": "everybody", "addresses": ""})
    assert "everybody isn’t a valid network" in response.content.decode()
    assert not OpenZone.objects.exists()


def test_what_was_set_before_anybody_kept_by_whom_is_shown_so(
    browser: Browser, make_zone: MakeZone, alice: User, bob: User
) -> None:
    zone = make_zone()
    keyless.open_to(zone=zone, networks=["192.0.2.1"], by=alice, now=NOW)
    OpenZone.objects.update(set_at=None, set_by=None)
    assert "set before the panel recorded authors" in browser(bob).get(PAGE).content.decode()
