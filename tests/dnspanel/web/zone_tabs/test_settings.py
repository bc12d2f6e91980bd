"""The settings tab with a zone's tags and team. `test_members` tests the rights that they give."""

from dnspanel.accounts.models import User
from tests.dnspanel.web.conftest import Browser, MakeZone

SETTINGS = "/zones/example.test/settings/"


def test_settings_are_a_tab_for_who_may_set_them(
    browser: Browser, make_zone: MakeZone, bob: User, charlie: User
) -> None:
    zone = make_zone()
    page = browser(bob).get(SETTINGS).content.decode()
    assert '<a href="/zones/example.test./settings/" aria-current="page"> Settings </a>' in page
    assert "/settings/" not in browser(charlie).get("/zones/example.test/").content.decode()
    answer = browser(bob).post(SETTINGS, {"tags": "shop, eu", "team": ""})
    assert answer["Location"] == "/zones/example.test./"
    zone.refresh_from_db()
    assert zone.tags == ["eu", "shop"]


def test_a_refused_tag_keeps_what_was_typed_in_the_tab(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    make_zone()
    answer = browser(bob).post(SETTINGS, {"tags": "no:colon", "team": ""})
    assert answer.status_code == 422
    assert b'value="no:colon"' in answer.content
    assert b'id="zone-head"' in answer.content
