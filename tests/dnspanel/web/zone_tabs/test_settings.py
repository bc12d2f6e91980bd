"""The settings tab with a zone's tags and team. `test_members` tests the rights that they give."""

from dnspanel.accounts.models import AuditEntry, User
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


def test_the_rules_for_serials_are_saved_and_an_unknown_rule_is_refused(
    browser: Browser, make_zone: MakeZone, bob: User
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    client, url = browser(bob), "/zones/example.test./settings/serials/"
    answer = client.post(url, {"soa_edit_api": "EPOCH", "soa_edit": "INCEPTION-EPOCH"}, follow=True)
    page = answer.content.decode()
    assert "Serial rules for example.test. saved." in page
    assert "<option selected>EPOCH</option>" in page
    zone.refresh_from_db()
    assert (zone.soa_edit_api, zone.soa_edit) == ("EPOCH", "INCEPTION-EPOCH")
    assert AuditEntry.objects.filter(action="zone.serials").count() == 1
    answer = client.post(url, {"soa_edit_api": "RANDOM"}, follow=True)
    assert "can’t be RANDOM" in answer.content.decode()
    zone.refresh_from_db()
    assert zone.soa_edit_api == "EPOCH"
