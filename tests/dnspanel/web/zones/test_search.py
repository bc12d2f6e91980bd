"""The search page for all zones and records. Tests `frame.totals` and `search.suggestions` too."""

import html
import re

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import Role, User
from dnspanel.web.frame.rows import row_id
from dnspanel.web.zones import search
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.lists import queries
from dnspanel.zones.search import everywhere, search_texts, texts_upkeep, zone_conditions, zones_by_name
from dnspanel.zones.search.terms import FILTERS, parse
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW, make_person

SEARCH, LIST = "/search/", "/zones/"


@pytest.fixture
def estate(make_zone: MakeZone) -> None:
    make_zone("www 300 A 192.0.2.7", "@ 300 MX 10 mx.example.net.", "note 300 TXT hello-world")
    make_zone("example 300 CNAME www.example.test.", name="other.test.")
    texts_upkeep.catch_up(now=NOW)


def rows_of(page: str) -> list[str]:
    return re.findall(r'<a class="row-link mono" [^>]*title="([^"]+)"', page)


def test_zones_and_records_are_found_with_their_zone(estate: None, browser: Browser, bob: User) -> None:
    page = browser(bob).get(SEARCH, {"q": "example type:mx,cname"}).content.decode()
    assert 'id="zone-' in page
    assert rows_of(page) == ["example.test.", "example.other.test."]  # its MX, and an alias in another zone
    assert '<a href="/zones/other.test./">other.test.</a>' in page
    assert 'value="example type:mx,cname"' in page


def test_records_with_a_warning_say_what_it_is_and_before_that_how_far_the_checks_are(
    make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    make_zone("a 300 MX 10 gone", "b 300 A 192.0.2.1")
    client = browser(bob)
    for path in (SEARCH, LIST):
        answer = client.get(path, {"q": "has:warning"})
        assert answer.status_code == 422
        assert "because only 0 of 1" in html.unescape(answer.content.decode())
    while complaints_upkeep.catch_up(now=NOW):
        pass
    page = client.get(SEARCH, {"q": "has:warning"}).content.decode()
    assert rows_of(page) == ["a.example.test."]
    assert "have an address" in page
    assert 'id="unchecked"' not in page
    make_zone(name="new.test.")
    for path in (SEARCH, LIST):
        assert 'id="unchecked"' in client.get(path, {"q": "has:warning"}).content.decode()


def test_utf_8_text_is_found_and_displayed_in_letters(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    # Results displayed the bytes as escapes (`\195`), and marked nothing in it.
    make_zone('note 300 TXT "Hilfe für alle"')
    texts_upkeep.catch_up(now=NOW)
    client = browser(bob)
    assert "Hilfe <mark>für</mark> alle" in client.get(SEARCH, {"q": "für"}).content.decode()
    assert "Hilfe für alle" in client.get("/zones/example.test./").content.decode()


def test_a_click_leads_to_the_row_in_its_zone(estate: None, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(SEARCH, {"q": "192.0.2.7"}).content.decode()
    [address] = re.findall(r'<a class="row-link mono" href="([^"]+)"', page)
    path, _, anchor = html.unescape(address).partition("#")
    assert anchor == row_id("www.example.test.", 1)
    zone = client.get(path).content.decode()
    assert f'id="{anchor}"' in zone
    assert row_id("note.example.test.", 16) not in zone  # the table starts at this row
    assert 'id="starts-at"' in zone


def test_records_are_grouped_by_zone_with_the_match_marked_and_totals(
    estate: None, make_zone: MakeZone, browser: Browser, bob: User
) -> None:
    make_zone("hello 300 TXT hello-moon", name="hello.test.")
    page = browser(bob).get(SEARCH, {"q": "hello"}).content.decode()
    zones = re.findall(r'<th colspan="4" scope="rowgroup">\s*<a href="[^"]*">(.*?)</a>', page)
    assert zones == ["example.test.", "<mark>hello</mark>.test."]
    assert '"<mark>hello</mark>-world"' in html.unescape(page)
    assert '<span class="quiet small">1 zone</span>' in page
    assert '<span class="quiet small">2 records</span>' in page


def test_a_list_says_how_many_zones_there_are(
    make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(103):
        make_zone(name=f"z{number}.test.")
    client = browser(bob)

    def total(path: str, **query: str) -> str:
        return re.findall(
            r'class="(?:list-total )?quiet small">([^<]*zones?)</', client.get(path, query).content.decode()
        )[0]

    assert total(LIST) == total(SEARCH, q="test") == "103 zones"
    assert total(LIST, after="z5.test.") == "103 zones"
    assert total(LIST, q="z101") == "1 zone"
    monkeypatch.setattr(queries, "MOST_COUNTED", 100)
    assert total(LIST) == total(SEARCH, q="test") == "More than 100 zones"


def test_enter_opens_the_zone_or_record_with_this_name(estate: None, browser: Browser, bob: User) -> None:
    def opened(text: str) -> str:
        return str(browser(bob).get(SEARCH, {"q": text, "open": "exact"}).headers.get("Location", "the search"))

    assert opened("example.test") == opened(" EXAMPLE.test.") == "/zones/example.test./"
    assert opened("www.example.test") == f"/zones/example.test./?at=www#{row_id('www.example.test.', 1)}"
    assert opened("example") == opened("nowhere.example.test") == opened("192.0.2.7") == opened("") == "the search"
    mia = make_person("mia", Role.MEMBER)
    assert browser(mia).get(SEARCH, {"q": "example.test", "open": "exact"}).status_code == 200


def test_found_zones_are_marked_and_filters_are_offered(estate: None, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(SEARCH, {"q": "other"}).content.decode()
    assert "<mark>other</mark>.test." in page
    assert "Results for “other”" in page
    assert 'href="/search/?q=other+-type%3Atxt"' in page
    assert 'href="/search/?q=+type%3Amx"' in client.get(SEARCH).content.decode()


def test_each_filter_has_an_example_that_can_be_searched_for() -> None:
    found = parse(search.EXAMPLES)
    assert not found.faults
    assert not found.unknown
    assert {term.filter for term in found.terms} == set(FILTERS)


def test_a_search_without_results_offers_shorter_ones_and_the_trash(estate: None, browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(SEARCH, {"q": "nowhere type:mx"}).content.decode()
    assert 'id="search-words"' not in page
    for query in ("q=nowhere", "q=type%3Amx"):
        assert f'<a href="/search/?{query}">Search without' in page
    assert '<a href="/zones/trash/?q=nowhere+type%3Amx">Search the trash</a>' in page
    assert "Search without" not in client.get(SEARCH, {"q": "nowhere"}).content.decode()


def test_the_next_rows_follow(make_zone: MakeZone, browser: Browser, bob: User) -> None:
    make_zone(*(f"h{number:03} 300 A 192.0.2.{number}" for number in range(120)))
    client = browser(bob)
    page, seen = client.get(SEARCH, {"q": "192.0.2.0/24"}).content.decode(), []
    for _ in range(3):
        seen += rows_of(page)
        more = re.search(r'hx-get="([^"]+)"\s+hx-target="#found-more"', page)
        if more is None:
            break
        page = client.get(SEARCH + html.unescape(more[1]), headers={**HTMX, "HX-Target": "found-more"}).content.decode()
    assert len(seen) == len(set(seen)) == 120


def test_each_state_says_what_it_is(estate: None, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser(bob)
    assert "Find zones and records" in client.get(SEARCH).content.decode()
    assert "No results" in client.get(SEARCH, {"q": "nowhere"}).content.decode()
    wrong = client.get(SEARCH, {"q": "type:mxx"})
    assert wrong.status_code == 422
    assert "Did you mean type:mx?" in wrong.content.decode()
    assert "Did you mean <code>type:</code>?" in client.get(SEARCH, {"q": "typ:mx"}).content.decode()
    monkeypatch.setattr(everywhere, "MOST_COMPARED", 1)
    monkeypatch.setattr(everywhere, "_FEWEST_BLOCKS", 1)
    assert "Searched up to" in client.get(SEARCH, {"q": "zz"}).content.decode()
    monkeypatch.setattr(zones_by_name, "_FIRST", 1)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED", 1)
    listed = client.get(LIST, {"q": "value:zz"})
    assert "Searched up to" in listed.content.decode()
    page = client.get(SEARCH, {"q": "value:zz zone:test"}).content.decode()
    assert "No matching zones up to" in page
    assert "No results" not in page
    end = client.get(LIST, {"q": "value:zz", "after": "zzz."}, headers={**HTMX, "HX-Target": "zone-more"})
    assert "End of results" in end.content.decode()
    monkeypatch.setattr(zone_conditions, "MANY_ZONES", 0)
    refused = client.get(SEARCH, {"q": "ex"})
    assert refused.status_code == 422
    assert "is too broad for this many zones" in refused.content.decode()


def test_what_is_not_looked_through_yet_is_told(
    estate: None, make_zone: MakeZone, browser: Browser, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("new.test.", "newer.test."):
        make_zone("www 300 A 192.0.2.7", name=name)
    monkeypatch.setattr(search_texts, "MOST_NEW_ZONES", 1)
    assert "yet include changes in 1 or more zones" in browser(bob).get(SEARCH, {"q": "192.0.2.7"}).content.decode()


def test_a_stranger_to_zones_finds_none(estate: None, browser: Browser) -> None:
    mia = make_person("mia", Role.MEMBER)
    assert "No results" in browser(mia).get(SEARCH, {"q": "example"}).content.decode()


def test_a_page_costs_the_same_whatever_is_found(
    estate: None, browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = browser(bob)
    with django_assert_max_num_queries(24):
        client.get(SEARCH, {"q": "example"})
