"""The RRsets of a zone in natural order of names, for small and large zones, with each RRset on exactly one page."""

from collections.abc import Callable

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import by_name, find_rrsets, rrset_pages
from dnspanel.zones.lists.by_name import Places, in_order, place_of
from dnspanel.zones.lists.rrset_order import RRsetColumn, RRsetOrder
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetRow
from dnspanel.zones.models import NamePlace, RRset, SearchProgress, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.store import store_rrsets
from replication.codec.keys import relative_key
from replication.dns import names
from replication.dns.rrset import make
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.dnspanel.zones.search.conftest import catch_up as catch_up
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db
OWNERS = ("h2", "h10", "h1", "h02", "h100", "a.h10", "b.h2", "h", "_dmarc", "www", "x9", "x11")
BY_NAME_DOWN = RRsetOrder(RRsetColumn.NAME, descending=True)


@pytest.fixture
def large(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch, catch_up: CatchUp) -> Zone:
    """Create a zone that counts as large, with places for all its names."""
    monkeypatch.setattr(display_order, "LARGE", 3)
    zone = make_zone(*(f"{owner} 300 A 192.0.2.1" for owner in OWNERS), "h10 300 TXT text", "www 60 AAAA 2001:db8::1")
    catch_up()
    return zone


def owner_of(row: RRsetRow) -> str:
    return names.owner_text(row.change.name, ZONE)


def pages(read: Callable[..., rrset_pages.RRsetPage], limit: int) -> list[RRsetRow]:
    rows: list[RRsetRow] = []
    after, turns = "", 0
    while True:
        page = read(after=after, limit=limit)
        rows += page.rows
        after, turns = page.next_after, turns + 1
        if not after:
            return rows
        assert turns < 100


def all_of(zone: Zone, author: User, limit: int, filters: RRsetFilter = rrset_pages.EVERYTHING) -> list[RRsetRow]:
    return pages(lambda **at: rrset_pages.rrset_page(zone=zone, author=author, filters=filters, **at), limit)


def keys_of(rows: list[RRsetRow]) -> list[tuple[bytes, int]]:
    return [(relative_key(row.change.name, ZONE), row.change.type) for row in rows]


def test_host2_stands_before_host10_and_the_apex_first(large: Zone, bob: User) -> None:
    expected = ["@", "@", "_dmarc", "h", "h1", "h2", "b.h2", "h02", "h10", "h10", "a.h10", "h100", "www", "www"]
    expected += ["x9", "x11"]
    for limit in (1, 3, 100):
        rows = all_of(large, bob, limit)
        assert [owner_of(row) for row in rows] == expected
        assert [row.change.type for row in rows[:2]] == [6, 2]
        down = pages(
            lambda **at: rrset_pages.sorted_rrset_page(zone=large, author=bob, order=BY_NAME_DOWN, **at), limit
        )
        assert [owner_of(row) for row in down] == expected[::-1]
        assert [row.change.type for row in down[-2:]] == [6, 2]


def test_a_jump_begins_where_the_name_is_or_would_be(large: Zone, bob: User) -> None:
    for at, first in (("h10", "h10"), ("h11", "h100"), ("h3", "h10"), ("h0", "h1"), ("zz", "")):
        after = rrset_pages.place_before(large, f"{at}.{ZONE}")
        rows = rrset_pages.rrset_page(zone=large, author=bob, after=after, limit=1).rows
        assert [owner_of(row) for row in rows] == ([first] if first else [])


@pytest.mark.django_db(transaction=True)
def test_what_was_published_since_stands_where_it_belongs(large: Zone, alice: User, bob: User) -> None:
    changes = {(f"{owner}.{ZONE}", 1): rr(f"{owner} 60 A 192.0.2.7") for owner in ("h3", "h11", "h10")}
    change_rrsets(
        zone=large, changes={**changes, (f"h1.{ZONE}", 1): None}, author=alice, channel="web", now=NOW, confirmed=True
    )
    zone = Zone.objects.get(pk=large.pk)
    assert not NamePlace.objects.filter(zone=zone, owner_key=relative_key(f"h3.{ZONE}", ZONE)).exists()
    expected = ["@", "@", "_dmarc", "h", "h2", "b.h2", "h02", "h3", "h10", "h10", "a.h10", "h11", "h100", "www", "www"]
    for limit in (1, 2, 100):
        assert [owner_of(row) for row in all_of(zone, bob, limit)] == [*expected, "x9", "x11"]


def test_what_a_draft_adds_stands_where_it_belongs(large: Zone, bob: User) -> None:
    for line in ("h3 60 A 192.0.2.7", "h10 60 A 192.0.2.8", "zz1 60 A 192.0.2.9"):
        draft.replace_rrset(author=bob, zone=large, rrset=rr(line), now=NOW)
    for limit in (1, 4, 100):
        found = [owner_of(row) for row in all_of(large, bob, limit)]
        assert found[found.index("h02") :] == [
            "h02",
            "h3",
            "h10",
            "h10",
            "a.h10",
            "h100",
            "www",
            "www",
            "x9",
            "x11",
            "zz1",
        ]
    assert [owner_of(row) for row in all_of(large, bob, 2, RRsetFilter(in_draft=True))] == ["h3", "h10", "zz1"]


@pytest.mark.parametrize("filters", [RRsetFilter(text="type:a"), RRsetFilter(types=frozenset({1}))], ids=str)
@pytest.mark.parametrize("most", [1, 4, 1000])
def test_a_filter_looks_at_a_bounded_number_of_names_and_finds_all_page_by_page(
    large: Zone, bob: User, monkeypatch: pytest.MonkeyPatch, filters: RRsetFilter, most: int
) -> None:
    monkeypatch.setattr(by_name, "MOST_COMPARED", most)
    monkeypatch.setattr(rrset_pages, "_few_of_large_zone", lambda *terms: None)
    expected = in_order([(relative_key(f"{owner}.{ZONE}", ZONE), 1) for owner in OWNERS], None)
    for limit in (1, 3, 100):
        assert keys_of(all_of(large, bob, limit, filters)) == expected
    rare = RRsetFilter(types=frozenset({16}))
    first = rrset_pages.rrset_page(zone=large, author=bob, filters=rare, limit=1)
    assert (first.stopped_at == "") is (most > 4)
    assert [owner_of(row) for row in all_of(large, bob, 1, rare)] == ["h10"]


def test_a_filter_that_finds_few_is_answered_in_full(large: Zone, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_name, "MOST_COMPARED", 1)
    for filters in (RRsetFilter(text="type:txt"), RRsetFilter(types=frozenset({16})), RRsetFilter(text="h10 type:txt")):
        page = rrset_pages.rrset_page(zone=large, author=bob, filters=filters)
        assert ([owner_of(row) for row in page.rows], page.stopped_at) == (["h10"], "")


@pytest.mark.parametrize("most", [3, 1000])
def test_a_large_zone_whose_names_have_no_places_yet_is_complete_too(
    large: Zone, bob: User, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    NamePlace.objects.all().delete()
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", most)
    found = keys_of(all_of(large, bob, 3))
    expected = in_order(found, None)
    assert len(found) == 16
    assert found == (expected if most > 16 else sorted(found, key=find_rrsets.display_key))
    if most == 3:
        with pytest.raises(rrset_pages.TooManyToSort):
            rrset_pages.sorted_rrset_page(zone=large, author=bob, order=BY_NAME_DOWN)
    between = rrset_pages.place_behind(large, (f"h2.{ZONE}", 1))
    rest = rrset_pages.rrset_page(zone=large, author=bob, after=between)
    assert keys_of(list(rest.rows)) == in_order(found, (relative_key(f"h2.{ZONE}", ZONE), 1))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    owners=st.lists(
        st.from_regex(r"([a-b]{0,2}[0-9]{0,3}\.){0,1}[a-b][0-9]{0,4}", fullmatch=True), unique=True, max_size=14
    ),
    limit=st.integers(1, 6),
    descending=st.booleans(),
    stale=st.booleans(),
)
def test_pages_have_every_rrset_once_in_one_order(
    large: Zone, bob: User, owners: list[str], limit: int, descending: bool, stale: bool
) -> None:
    """Tries random names, with stored places, without places, and with places of deleted names."""
    owners = [owner for owner in owners if not owner.startswith(".")]
    RRset.objects.filter(zone=large).exclude(name=ZONE).delete()
    if not stale:
        NamePlace.objects.filter(zone=large).exclude(owner_key=b"\0").delete()
    rrsets = [
        make(f"{owner}.{ZONE}", type_, 60, [text]) for owner in owners for type_, text in ((1, "192.0.2.1"), (16, "t"))
    ]
    store_rrsets.replace_rrsets((large.pk, ZONE, rrset) for rrset in rrsets)
    display_order.place_changed(large.pk, [relative_key(rrset.name, ZONE) for rrset in rrsets])
    SearchProgress.objects.update(sequence=large.sequence)
    read = lambda **at: rrset_pages.rrset_page(zone=large, author=bob, descending=descending, **at)  # noqa: E731
    found = keys_of(pages(read, limit))
    assert len(found) == len(rrsets) + 2
    assert found == in_order(set(found), None, descending=descending)
    assert len({place_of(key) for key in found}) == len(found)


def test_a_page_is_read_along_the_index_of_places(large: Zone) -> None:
    places = Places.of(large)
    assert places is not None
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan"):  # PostgreSQL would use them in a small table
            cursor.execute(f"SET LOCAL enable_{way} = off")
    plan = NamePlace.objects.filter(zone=large, place__gte=b"h").order_by("place", "owner_key")[99:100].explain()
    assert "Index Only Scan" in plan
    assert "Sort" not in plan
