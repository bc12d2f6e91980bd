"""Records with complaints of the checks."""

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.zones.complaints import warned
from dnspanel.zones.complaints.warned import warned_rrset_page
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import find_rrsets
from dnspanel.zones.lists.rrset_pages import RRsetFilter
from dnspanel.zones.models import Zone
from dnspanel.zones.order import display_order
from replication.dns import rdata
from tests.dnspanel.zones.conftest import ZONE, MakeZone, presigned_zone, rr
from tests.people import NOW

LINES = (
    "a 300 CNAME gone",
    "b 300 A 192.0.2.1",
    "c 300 MX 10 b",
    "d 300 MX 10 gone",
    "mail 300 A 192.0.2.2",
    "sub 300 NS ns.sub | ns2.example.net.",
    "x.sub 300 A 192.0.2.3",
    "z 300 CNAME b",
)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("@ 3600 NS ns1.example.net.", *LINES)


def found(zone: Zone, author: User, text: str = "has:warning", after: str = "") -> tuple[list[str], str, str]:
    page = warned_rrset_page(zone=zone, author=author, filters=RRsetFilter(text=text), now=NOW, after=after)
    rows = [
        f"{row.change.name.removesuffix(ZONE).rstrip('.') or '@'} {rdata.type_to_text(row.change.type)}"
        for row in page.rows.rows
    ]
    return rows, page.rows.next_after, page.rows.stopped_at


def test_records_with_a_warning_are_found_with_it(zone: Zone, bob: User) -> None:
    assert found(zone, bob)[0] == ["@ NS", "a CNAME", "d MX", "sub NS", "x.sub A"]
    page = warned_rrset_page(zone=zone, author=bob, filters=RRsetFilter(text="has:warning"), now=NOW)
    assert "gone" in page.messages["d." + ZONE, 15]


def test_other_terms_narrow_it_and_a_hyphen_turns_it_round(zone: Zone, bob: User) -> None:
    assert found(zone, bob, "type:mx has:warning")[0] == ["d MX"]
    assert found(zone, bob, "has:Warning -type:mx,ns")[0] == ["a CNAME", "x.sub A"]
    assert found(zone, bob, "-has:warning type:mx,a")[0] == ["b A", "c MX", "mail A"]


def test_a_record_is_judged_as_the_draft_leaves_what_is_around_it(zone: Zone, bob: User, alice: User) -> None:
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("gone 300 A 192.0.2.9"), now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name="b." + ZONE, type=1, now=NOW)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 300 NS ns1.example.net. | ns2.example.net."), now=NOW)
    assert found(zone, bob)[0] == ["c MX", "sub NS", "x.sub A", "z CNAME"]
    assert found(zone, alice)[0] == ["@ NS", "a CNAME", "d MX", "sub NS", "x.sub A"]


def test_a_page_looks_at_a_bounded_number_and_says_how_far(
    zone: Zone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = found(zone, bob)[0]
    monkeypatch.setattr(warned, "MOST_CHECKED", 2)
    rows, after, stopped_at = found(zone, bob)
    assert (rows, stopped_at) == (["@ NS"], ZONE)
    places = [stopped_at]
    while after:
        more, after, stopped_at = found(zone, bob, after=after)
        rows += more
        places += [stopped_at] if stopped_at else []
    assert rows == everything
    assert places == sorted(places, key=lambda name: name.split(".")[::-1])
    assert len(places) > 2


def test_a_page_of_many_finds_ends_behind_its_last_row(zone: Zone, bob: User) -> None:
    filters = RRsetFilter(text="has:warning")
    page = warned_rrset_page(zone=zone, author=bob, filters=filters, now=NOW, limit=2)
    assert len(page.rows.rows) == 2
    assert page.rows.stopped_at == ""
    assert found(zone, bob, after=page.rows.next_after)[0] == ["d MX", "sub NS", "x.sub A"]


def test_a_page_of_many_finds_is_followed_in_the_order_that_it_is_in(
    make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of a large zone have no display places at first, so they come in canonical order, h10 before h2."""
    zone = make_zone(*(f"h{number} 300 CNAME gone" for number in (1, 2, 10)))
    monkeypatch.setattr(display_order, "LARGE", 0)
    monkeypatch.setattr(find_rrsets, "MOST_COMPARED", 3)
    rows, after = [], ""
    while True:
        filters = RRsetFilter(text="has:warning", types=frozenset({5}))
        page = warned_rrset_page(zone=zone, author=bob, filters=filters, now=NOW, after=after, limit=2)
        rows += [row.change.name for row in page.rows.rows]
        if not (after := page.rows.next_after):
            break
    assert rows == [f"h1.{ZONE}", f"h10.{ZONE}", f"h2.{ZONE}"]


def test_the_number_of_queries_does_not_depend_on_that_of_records(
    make_zone: MakeZone, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = [f"cut{number} 300 NS ns.gone{number} | ns2.example.net." for number in range(40)]
    zone = make_zone(*many, *(f"alias{number} 300 CNAME to{number}" for number in range(40)))
    with django_assert_max_num_queries(25):
        assert len(found(zone, bob)[0]) == 80


def test_the_signatures_that_a_zone_came_with_are_no_reason_to_complain(alice: User) -> None:
    """Previously each record of a presigned zone was reported as unchangeable."""
    zone = presigned_zone(alice, "b 300 A 192.0.2.1", "d 300 MX 10 gone")
    assert found(zone, alice)[0] == ["d MX"]
