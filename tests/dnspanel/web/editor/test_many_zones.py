"""One change to records of many zones, found by a search and ticked: a preview first, then the draft."""

import re

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.lists.selection import MOST_SELECTED
from dnspanel.zones.models import Operation, Zone
from tests.dnspanel.web.conftest import Browser, MakeZone

pytestmark = pytest.mark.django_db

MANY = "/changes/many/"
TTL = {"act": "ttl", "ttl": "1h"}


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    return [
        make_zone("www 300 A 192.0.2.1", "ftp 300 A 192.0.2.2"),
        make_zone("www 300 A 192.0.2.1", "t 300 TXT old", name="other.test."),
    ]


def seen_in(page: str) -> str:
    found = re.search(r'name="seen" value="([0-9a-f]+)"', page)
    assert found
    return found[1]


@pytest.mark.usefixtures("zones")
def test_all_that_a_search_finds_is_shown_and_then_put_into_the_draft(browser: Browser, bob: User) -> None:
    client = browser(bob)
    form = client.get(MANY, {"q": "type:a"}).content.decode()
    assert 'value="type:a"' in form
    page = client.post(MANY, {**TTL, "all": "1", "q": "192.0.2.1"}).content.decode()
    assert "<strong>2 records</strong> in" in page
    assert "<strong>2 zones</strong> would" in page
    assert Operation.objects.count() == 0
    data = {**TTL, "all": "1", "q": "192.0.2.1", "preview": "1", "seen": seen_in(page)}
    response = client.post(MANY, data, follow=True)
    assert response.redirect_chain == [("/changes/", 302)]
    assert "2 records in 2 zones changed in your draft." in response.content.decode()
    assert sorted(op.name for op in Operation.objects.all()) == ["www.example.test.", "www.other.test."]


@pytest.mark.usefixtures("zones")
def test_what_is_ticked(browser: Browser, bob: User) -> None:
    ticked = {"act": "off", "rr": ["other.test. t.other.test. 16", "example.test. ftp.example.test. 1", "nonsense"]}
    page = browser(bob).post(MANY, ticked).content.decode()
    assert "<strong>2 records</strong> in" in page
    browser(bob).post(MANY, {**ticked, "preview": "1", "seen": seen_in(page)})
    assert Operation.objects.count() == 2


@pytest.mark.usefixtures("zones")
def test_what_is_not_what_was_shown_is_shown_again(browser: Browser, bob: User) -> None:
    data = {"act": "values", "lines": "192.0.2.8\n192.0.2.9", "all": "1", "q": "name:ftp", "preview": "1"}
    page = browser(bob).post(MANY, {**data, "seen": "0" * 24}).content.decode()
    assert "again" in page
    assert "192.0.2.9" in page
    assert Operation.objects.count() == 0


@pytest.mark.usefixtures("zones")
def test_what_would_be_no_value_is_named(browser: Browser, bob: User) -> None:
    page = browser(bob).post(MANY, {"act": "add", "lines": "nonsense", "all": "1", "q": "name:www"}).content.decode()
    assert "No changes" in page
    assert "www.other.test. A" in page


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"q": ""}, "Enter a search"),
        ({"q": "type:nonsense"}, "type: needs record types"),
        ({"q": "typ:a"}, "Did you mean type:?"),
        ({"q": "x", "ttl": "soon"}, "Enter seconds"),
        ({"q": "x", "act": "add"}, "1 to 100 values"),
        ({"q": "type:a", "act": "burn"}, "burn"),
    ],
)
def test_a_wrong_field_is_said_and_what_was_typed_stays(
    browser: Browser, bob: User, data: dict[str, str], words: str
) -> None:
    response = browser(bob).post(MANY, {**TTL, "all": "1", **data})
    page = response.content.decode()
    assert response.status_code == 422
    assert words in page
    assert f'value="{data["q"]}"' in page


@pytest.mark.usefixtures("zones")
def test_too_many_are_refused(browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dnspanel.zones.runs.many_zones.MOST_SELECTED", 2)
    response = browser(bob).post(MANY, {**TTL, "all": "1", "q": "type:a"})
    assert f"more than {MOST_SELECTED:,} records" in response.content.decode()
    assert response.status_code == 422


@pytest.mark.usefixtures("zones")
def test_without_a_tick_nothing_is_done(browser: Browser, bob: User) -> None:
    response = browser(bob).post(MANY, {**TTL, "q": "www"}, follow=True)
    assert response.redirect_chain == [("/search/?q=www", 302)]
    assert "Nothing was selected" in response.content.decode()


@pytest.mark.usefixtures("zones")
def test_the_search_has_ticks_for_who_may_change_records(browser: Browser, bob: User, charlie: User) -> None:
    page = browser(bob).get("/search/", {"q": "type:a"}).content.decode()
    assert page.count("data-tick") == 4  # three records, and the box that ticks all
    assert 'value="other.test. www.other.test. 1"' in page
    assert f'action="{MANY}"' in page
    assert "data-tick" not in browser(charlie).get("/search/", {"q": "type:a"}).content.decode()
