"""Zones found by a search, page by page."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.lists import queries
from dnspanel.zones.models import SearchText, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.search import texts_upkeep, zone_conditions, zones_by_name
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.people import NOW

pytestmark = pytest.mark.django_db

LINES = {
    "a.test.": ("www 300 A 192.0.2.7", "@ 300 MX 10 mail", "mail 60 A 198.51.100.9"),
    "b.test.": ("www 300 AAAA 2001:db8:1::7", "@ 3600 CAA 0 issue ca.test"),
    "c.test.": ('@ 900 TXT "v=spf1 -all"', "zz 30 CNAME www"),
    "d.test.": tuple(f"h{number:02} 300 A 203.0.113.{number}" for number in range(20)),
}
FOUND = {
    "": "abcd",
    "type:mx": "a",
    "-type:mx": "bcd",
    "type:a,aaaa -type:mx": "bd",
    "type:a": "ad",
    "type:naptr": "",
    "ttl:<100": "ac",
    "ttl:60": "a",
    "ttl:70": "",
    "-ttl:<100": "bd",
    "ttl:61..299": "",
    "ttl:901..3599": "",
    "type:a ttl:<100": "a",
    "type:cname ttl:60": "",
    "name:zz": "c",
    "name:www -name:mail": "b",
    "value:spf": "c",
    "value:pf": "c",
    "-value:spf": "abd",
    "value:h19": "",
    "name:h19": "d",
    "203.0.113.0/24": "d",
    "-203.0.113.0/24": "abc",
    "192.0.2.0/24 type:mx": "a",
    "192.0.2.0/24 type:caa": "",
    "-has:192.0.2.7": "bcd",
    "has:203.0.113.4 name:h05": "d",
    "comment:x": "",
    "-comment:x": "abcd",
    "zone:test -type:txt -type:mx": "bd",
    "type:nonsense": "",
}


@pytest.fixture
def zones(make_zone: MakeZone) -> dict[str, Zone]:
    return {name: make_zone(*lines, name=name) for name, lines in LINES.items()}


def paged(bob: User, search: str, limit: int) -> str:
    """Return the first letters of the zones found on all pages. Each page's position must grow."""
    found, after = "", ""
    for _ in range(20):
        page = queries.zone_page(user=bob, search=search, after=after, limit=limit)
        found += "".join(row.name[0] for row in page.rows)
        if not page.next_after:
            return found
        assert page.next_after > after
        after = page.next_after
    raise AssertionError(f"{search} has no end")


@pytest.mark.sample(3, reason="pages of a search for zones, by how far they look and how old the texts are")
@pytest.mark.parametrize("state", ["without texts", "texts", "blocks", "old texts"])
@pytest.mark.parametrize(
    ("limit", "first", "most", "few"), [(1, 1, 1, 0), (2, 1, 2, 100), (50, 500, 20_000, 100), (1, 2, 3, 100)]
)
def test_pages_find_the_same_however_far_they_look_and_the_texts_are(
    state: str,
    limit: int,
    first: int,
    most: int,
    few: int,
    zones: dict[str, Zone],
    bob: User,
    catch_up: CatchUp,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 7 if state == "blocks" else 500)
    monkeypatch.setattr(zones_by_name, "_FIRST", first)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED", most)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED_BY_TYPE", most)
    monkeypatch.setattr(zones_by_name, "_OFTEN", 100)
    monkeypatch.setattr(zone_conditions, "FEW_TEXTS", few)
    if state != "without texts":
        catch_up()
    if state == "old texts":
        for zone in zones.values():
            edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
            edit.restore_zone(zone=Zone.objects.get(pk=zone.pk), author=bob, channel="web", now=NOW)
        SearchText.objects.update(text="\nnothing of what is published\n", types=[99], ttls=[99])
    for search, letters in FOUND.items():
        assert paged(bob, search, limit) == letters, search
        assert "".join(zone.name[0] for zone in queries.found_zones(Zone.objects.order_by("name"), search)) == letters


def test_a_page_ends_when_enough_zones_were_asked_and_says_where(
    zones: dict[str, Zone], bob: User, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    monkeypatch.setattr(zones_by_name, "_FIRST", 1)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED_BY_TYPE", 3)
    page = queries.zone_page(user=bob, search="-type:a,aaaa,txt")
    assert (page.rows, page.next_after, page.looked_to) == ((), "c.test.", "c.test.")
    page = queries.zone_page(user=bob, search="-type:a,aaaa,txt", after=page.next_after)
    assert (page.rows, page.next_after, page.looked_to) == ((), "", "")


def test_what_few_zones_hold_is_found_in_one_page_wherever_it_is(
    zones: dict[str, Zone], bob: User, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    monkeypatch.setattr(zones_by_name, "_FIRST", 1)
    monkeypatch.setattr(zones_by_name, "_OFTEN", 1)
    monkeypatch.setattr(zones_by_name, "MOST_COMPARED", 1)
    page = queries.zone_page(user=bob, search="name:h19")
    assert ([row.name for row in page.rows], page.looked_to) == (["d.test."], "")


def test_a_page_asks_for_the_first_zones_the_index_and_those_it_names(
    zones: dict[str, Zone], bob: User, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up()
    monkeypatch.setattr(zones_by_name, "_FIRST", 1)
    monkeypatch.setattr(zones_by_name, "_OFTEN", 1)
    for search, queries_of_it in {"": 1, "tag:x": 1, "name:h19": 6}.items():
        with CaptureQueriesContext(connection) as captured:
            queries.zone_page(user=bob, search=search)
        assert len(captured) == queries_of_it, search
