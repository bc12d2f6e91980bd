"""The default TTL for new records of a zone."""

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.web.zone_tabs import default_ttl as page
from dnspanel.zones.lists import selection
from dnspanel.zones.models import Operation
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

ZONE = "/zones/example.test./"
DEFAULT = f"{ZONE}settings/ttl/"


def test_new_records_begin_with_it_and_no_record_changes(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    assert "get a TTL of 3600 s" in client.get(f"{ZONE}settings/").content.decode()
    assert client.post(DEFAULT, {"default_ttl": "5m"})["Location"] == f"{ZONE}settings/"
    zone.refresh_from_db()
    assert zone.default_ttl == 300
    client.post(f"{ZONE}quick/", {"line": "new A 192.0.2.2"})
    client.post(f"{ZONE}quick/", {"line": "own 60 A 192.0.2.2"})
    client.post(f"{ZONE}paste/", {"text": "pasted A 192.0.2.3", "act": "add"})
    drafted = {each.name.split(".")[0]: each.wanted["ttl"] for each in Operation.objects.all()}
    assert drafted == {"new": 300, "own": 60, "pasted": 300}
    client.post(DEFAULT, {"default_ttl": ""})
    zone.refresh_from_db()
    assert zone.default_ttl is None
    acts = AuditEntry.objects.filter(action="zone.default-ttl").order_by("pk").values_list("details", flat=True)
    assert list(acts) == [{"ttl": 300, "before": None}, {"ttl": None, "before": 300}]


def test_records_with_the_old_one_get_it_too_if_that_is_ticked(
    browser: Browser, make_zone: MakeZone, bob: User
) -> None:
    make_zone("www 3600 A 192.0.2.1", "other 60 A 192.0.2.1")
    client = browser(bob)
    assert client.post(DEFAULT, {"default_ttl": "300", "others": "on"})["Location"] == f"{ZONE}review/"
    drafted = {(each.name, each.type): each.wanted["ttl"] for each in Operation.objects.all()}
    assert drafted[("www.example.test.", 1)] == 300
    assert set(drafted.values()) == {300}
    assert ("other.example.test.", 1) not in drafted
    answer = client.post(DEFAULT, {"default_ttl": "77", "others": "on"}, follow=True)
    assert Operation.objects.filter(wanted__ttl=77).count() == len(drafted)
    assert answer.redirect_chain[0][0] == f"{ZONE}review/"


def test_too_many_for_a_draft_stay_and_that_is_told(
    browser: Browser, make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = make_zone("www 3600 A 192.0.2.1")
    monkeypatch.setattr(selection, "MOST_SELECTED", 1)
    monkeypatch.setattr(page, "MOST_SELECTED", 1)
    answer = browser(bob).post(DEFAULT, {"default_ttl": "300", "others": "on"}, follow=True)
    assert "More than 1 records have a TTL of 3600 s" in answer.content.decode()
    zone.refresh_from_db()
    assert zone.default_ttl == 300
    assert not Operation.objects.exists()


@pytest.mark.parametrize("typed", ["soon", "-1", "99999999999"])
def test_what_is_no_ttl_is_refused_at_its_field(browser: Browser, make_zone: MakeZone, bob: User, typed: str) -> None:
    make_zone()
    answer = browser(bob).post(DEFAULT, {"default_ttl": typed})
    assert answer.status_code == 422
    assert 'id="id_default_ttl_error"' in answer.content.decode()


def test_fields_of_a_ttl_offer_some(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    """TTL fields use a datalist, which works without JavaScript and mouse. Fragments refer to their page's list."""
    make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    row = f"{ZONE}rrset/?name=www.example.test.&type=A"
    for page_with_field in (row, f"{ZONE}rrset/form/?name=www.example.test.&type=A"):
        content = client.get(page_with_field).content.decode()
        assert 'list="ttls"' in content
        assert content.count('<datalist id="ttls">') == 1
    assert 'list="ttls"' in client.get(row, headers=HTMX).content.decode()
    assert client.get(ZONE).content.decode().count('<datalist id="ttls">') == 1
