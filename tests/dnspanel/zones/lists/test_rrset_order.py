"""A zone's RRsets, sorted by each column in both directions, page by page, with the author's draft applied."""

from typing import Any

import pytest
from django.db.models import QuerySet

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import find_rrsets, rrset_order, rrset_pages
from dnspanel.zones.lists.by_name import place_of
from dnspanel.zones.lists.rrset_order import (
    AS_EDITED,
    RRsetColumn,
    RRsetOrder,
    SortedKey,
    TooManyToSort,
    rrset_order_of,
)
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetRow
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.publishing import revision
from dnspanel.zones.search import search_texts, texts_upkeep
from replication.codec.keys import relative_key
from replication.dns import names, rdtypes
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.dnspanel.zones.search.conftest import catch_up as catch_up
from tests.people import NOW
from tests.publishing import change_rrsets

ORDERS = [RRsetOrder(column, descending) for column in RRsetColumn for descending in (False, True)]


@pytest.fixture
def zone(make_zone: MakeZone, alice: User, bob: User) -> Zone:
    """Create a zone with equal values in each column, and Bob's draft that adds, changes and deletes some RRsets."""
    lines = {number: f"h{number} {300 + number % 3} A 192.0.2.{90 + number % 4}" for number in (*range(9), 10, 11)}
    before = lines | {number: f"h{number} 999 A 192.0.2.1" for number in (3, 4, 5)}
    zone = make_zone(*before.values(), "h1 60 AAAA 2001:db8::1", "txt 60 TXT abc", "ß 60 TXT ü")
    for numbers in ((5,), (3, 4)):
        changed = [rr(lines[number]) for number in numbers]
        change_rrsets(zone=zone, changes={(r.name, r.type): r for r in changed}, author=alice, channel="web", now=NOW)
        zone = Zone.objects.get(pk=zone.pk)
    for wanted in (
        rr("h0 5 A 10.0.0.1", comment="urgent"),
        rr("new 7 A 192.0.2.91"),
        rr("h2 302 A 192.0.2.92"),
        rr("txt 60 TXT zzz", comment="étoile"),
    ):
        draft.replace_rrset(author=bob, zone=zone, rrset=wanted, now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name=f"h8.{ZONE}", type=rdtypes.A, now=NOW)
    return zone


def key_of(row: RRsetRow) -> tuple[bytes, int]:
    return relative_key(row.change.name, ZONE), row.change.type


def sort_key(order: RRsetOrder, row: RRsetRow) -> object:
    rrset = row.change.after or row.change.before
    assert rrset is not None
    return {
        RRsetColumn.NAME: place_of(key_of(row))[:2],
        RRsetColumn.TYPE: rrset.type,
        RRsetColumn.TTL: rrset.ttl,
        RRsetColumn.VALUE: rrset.rdata[0],
        RRsetColumn.COMMENT: rrset.comment,
        RRsetColumn.CHANGED: row.changed_in if row.operation_id is None else 2**31,
    }[order.column]


def pages(zone: Zone, author: User, order: RRsetOrder, filters: RRsetFilter, limit: int) -> list[RRsetRow]:
    rows: list[RRsetRow] = []
    after = ""
    while True:
        page = rrset_pages.sorted_rrset_page(
            zone=zone, author=author, order=order, filters=filters, after=after, limit=limit
        )
        rows += page.rows
        after = page.next_after
        if not after:
            return rows


@pytest.mark.sample(3, reason="orders of a zone's records, filtered and not")
@pytest.mark.parametrize(
    "filters", [RRsetFilter(), RRsetFilter(text="type:a"), RRsetFilter(in_draft=True)], ids=["all", "search", "draft"]
)
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.column}-{'down' if order.descending else 'up'}")
def test_each_order_has_the_rows_of_the_editor_once(
    zone: Zone, bob: User, order: RRsetOrder, filters: RRsetFilter
) -> None:
    rows = rrset_pages.rrset_page(zone=zone, author=bob, filters=filters).rows
    assert len(rows) >= 4
    by_name = sorted(rows, key=lambda row: place_of(key_of(row)))
    expected = sorted(by_name, key=lambda row: sort_key(order, row), reverse=order.descending)  # type: ignore[arg-type]
    if order.column is RRsetColumn.COMMENT:
        expected.sort(key=lambda row: sort_key(order, row) == "")
    assert pages(zone, bob, order, filters, limit=2) == expected


@pytest.mark.sample(3, reason="orders of a large zone's records")
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.column}-{'down' if order.descending else 'up'}")
def test_in_a_large_zone_what_is_the_same_in_a_column_comes_by_canonical_order(
    zone: Zone, bob: User, order: RRsetOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    if order.column is RRsetColumn.NAME:
        return
    rows = rrset_pages.rrset_page(zone=zone, author=bob).rows
    expected = sorted(sorted(rows, key=key_of), key=lambda row: sort_key(order, row), reverse=order.descending)  # type: ignore[arg-type,return-value]
    if order.column is RRsetColumn.COMMENT:
        expected.sort(key=lambda row: sort_key(order, row) == "")
    monkeypatch.setattr(display_order, "LARGE", 0)
    assert pages(zone, bob, order, RRsetFilter(), limit=2) == expected


@pytest.mark.sample(3, reason="orders of a large zone's records that texts of searches help to find")
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
@pytest.mark.parametrize("blocks", [1, 60])
@pytest.mark.parametrize(
    "order",
    [order for order in ORDERS if order.column in {RRsetColumn.TYPE, RRsetColumn.TTL, RRsetColumn.COMMENT}],
    ids=lambda order: f"{order.column}-{'down' if order.descending else 'up'}",
)
def test_the_texts_of_searches_say_where_in_a_large_zone_a_value_is(
    make_zone: MakeZone,
    bob: User,
    monkeypatch: pytest.MonkeyPatch,
    catch_up: CatchUp,
    order: RRsetOrder,
    blocks: int,
    limit: int,
) -> None:
    """The value may be at many, some or one of the names. Bob's drafted values are at their own places."""
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 2)
    monkeypatch.setattr(search_texts, "MOST_BLOCKS", blocks)
    monkeypatch.setattr(rrset_order, "_FIRST_BLOCKS", 1)
    ttls = (300, 300, 300, 60, 300, 7, 300, 60, 300, 8, 300, 9)
    zone = make_zone(*(f"h{number:02} {ttl} A 192.0.2.{number}" for number, ttl in enumerate(ttls)), "h03 60 TXT text")
    zone.rrsets.filter(name=f"h05.{ZONE}").update(comment="a comment")
    catch_up()
    for line in ("h09 60 A 192.0.2.9", "new 5 TXT text"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
    monkeypatch.setattr(display_order, "LARGE", 0)
    expected = pages(zone, bob, order, RRsetFilter(), 100)
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 1)
    compared_all = rrset_order._first

    def of_draft(rows: "QuerySet[Any]", *terms: Any) -> list[SortedKey]:
        assert rows.model is Operation
        return compared_all(rows, *terms)

    monkeypatch.setattr(rrset_order, "_first", of_draft)
    assert pages(zone, bob, order, RRsetFilter(), limit) == expected


def test_what_a_filter_finds_as_published_is_sorted_by_what_the_draft_makes_of_it(zone: Zone, bob: User) -> None:
    """The search finds h0 by its published address, but sorts it by its drafted TTL."""
    found = pages(zone, bob, RRsetOrder(RRsetColumn.TTL), RRsetFilter(text="192.0.2.90"), limit=2)
    assert [names.owner_text(row.change.name, ZONE) for row in found] == ["h0", "h4", "h8"]


def test_a_column_of_a_zone_too_large_for_it_is_refused_until_a_search_finds_few(
    zone: Zone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 3)
    monkeypatch.setitem(rrset_order.MOST_SORTED, RRsetColumn.VALUE, 5)
    for filters in (RRsetFilter(), RRsetFilter(text="h")):
        with pytest.raises(TooManyToSort):
            rrset_pages.sorted_rrset_page(zone=zone, author=bob, order=RRsetOrder(RRsetColumn.VALUE), filters=filters)
    assert rrset_pages.sorted_rrset_page(zone=zone, author=bob, order=RRsetOrder(RRsetColumn.TTL)).rows
    mine = RRsetFilter(in_draft=True)
    assert rrset_pages.sorted_rrset_page(zone=zone, author=bob, order=RRsetOrder(RRsetColumn.VALUE), filters=mine).rows


@pytest.mark.parametrize(
    "after", ["nonsense", "zz.00-1", "-1.00-1", f"{b'99999999999'.hex()}.00-1", "31.00-x", "ff.00-1"]
)
def test_what_is_no_cursor_is_the_beginning(zone: Zone, bob: User, after: str) -> None:
    order = RRsetOrder(RRsetColumn.TTL)
    first = rrset_pages.sorted_rrset_page(zone=zone, author=bob, order=order)
    assert rrset_pages.sorted_rrset_page(zone=zone, author=bob, order=order, after=after) == first


def test_an_order_is_read_from_a_url() -> None:
    assert rrset_order_of("-ttl") == RRsetOrder(RRsetColumn.TTL, descending=True)
    for text in ("", "colour", "--ttl"):
        assert rrset_order_of(text) == AS_EDITED


@pytest.mark.django_db(transaction=True)
def test_each_rrset_knows_the_revision_that_changed_it_last(zone: Zone, alice: User) -> None:
    def changed_in() -> dict[str, int]:
        rows = rrset_pages.rrset_page(zone=zone, author=alice).rows
        found = {names.owner_text(row.change.name, ZONE): row.changed_in for row in rows if row.change.type == 1}
        return {name: found[name] for name in ("h6", "h7")}

    assert changed_in() == {"h6": 1, "h7": 1}
    for number, line in enumerate(("h7 60 A 192.0.2.1", "h6 60 A 192.0.2.1", "h7 61 A 192.0.2.1"), start=4):
        draft.replace_rrset(author=alice, zone=zone, rrset=rr(line), now=NOW)
        revision.publish(acting=Acting(alice, "web", NOW), consent=revision.Consent(accept_warnings=True))
        assert changed_in()[line[:2]] == number
    assert changed_in() == {"h6": 5, "h7": 6}
    newest = pages(zone, alice, RRsetOrder(RRsetColumn.CHANGED, descending=True), RRsetFilter(text="h type:a"), limit=3)
    assert newest[0].changed_in == 6
    assert [row.changed_in for row in newest] == sorted((row.changed_in for row in newest), reverse=True)


@pytest.mark.parametrize("looked_at", [1, 3, 5, 8, 100])
def test_in_a_large_zone_what_changed_last_is_found_among_the_newest_changes(
    make_zone: MakeZone, alice: User, bob: User, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    zone = make_zone(*(f"h{number} 300 A 192.0.2.{number}" for number in range(12)))
    for owners in ((1, 2, 3), (2,), (5, 6, 7, 8), (3, 9), (6,)):
        changed = [rr(f"h{number} {60 + zone.revision} A 192.0.2.{number}") for number in owners]
        change_rrsets(zone=zone, changes={(r.name, r.type): r for r in changed}, author=alice, channel="web", now=NOW)
        zone = Zone.objects.get(pk=zone.pk)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("h9 5 A 192.0.2.9"), now=NOW)
    newest = RRsetOrder(RRsetColumn.CHANGED, descending=True)
    monkeypatch.setattr(display_order, "LARGE", 0)
    expected = [pages(zone, person, newest, RRsetFilter(), limit=3) for person in (alice, bob)]
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 1)
    monkeypatch.setattr(rrset_order, "_CHANGES_LOOKED_AT", looked_at)
    for limit in (1, 3, 50):
        assert [pages(zone, person, newest, RRsetFilter(), limit=limit) for person in (alice, bob)] == expected
    compared: list[object] = []
    monkeypatch.setattr(rrset_order, "_by_change", lambda *terms: compared.append(terms) or [])
    rrset_pages.sorted_rrset_page(zone=zone, author=alice, order=newest, limit=1)
    assert bool(compared) is (looked_at == 1)  # only the newest revision has two changes, SOA and h6
    compared.clear()
    rrset_pages.sorted_rrset_page(zone=zone, author=alice, order=newest, limit=50)
    assert bool(compared) is (looked_at < 100)  # 5 revisions with 17 changes; all other values are original
