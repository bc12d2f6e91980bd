"""The search for RRsets in all zones that a person sees."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Person, Right, actor_of_token
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import RRset, SearchText, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.search import everywhere, search_texts, texts_upkeep
from dnspanel.zones.search.everywhere import BEFORE_ALL, Place, place_of, rrsets_found
from dnspanel.zones.search.terms import parse
from replication.dns.rrset import Notes, format_notes
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db

READ = frozenset({Right.READ})


@pytest.fixture
def zones(make_zone: MakeZone) -> dict[str, Zone]:
    """Create zones for searches. blog.test. has a tag; an RRset in shop.test. has a tag and a value comment."""
    made = {
        name: make_zone(*lines, name=name)
        for name, lines in {
            "shop.test.": (
                "www 300 A 192.0.2.7",
                "mail 60 A 192.0.2.9",
                "@ 300 MX 10 mail",
                '@ 300 TXT "v=spf1 include:spf.example.net -all"',
                "xn--bcher-kva 300 CNAME www",
            ),
            "blog.test.": ("www 300 AAAA 2001:db8:1::7", "shop 300 CNAME www.shop.test."),
            "2.0.192.in-addr.arpa.": ("7 300 PTR www.shop.test.",),
            "large.test.": tuple(f"h{number:02} 300 A 203.0.113.{number}" for number in range(40)),
        }.items()
    }
    Zone.objects.filter(name="blog.test.").update(tags=["home"])
    notes = format_notes(Notes(("customer", "home"), (("192.0.2.9", "Second Rack"),)))
    RRset.objects.filter(name="mail.shop.test.").update(notes=notes)
    return made


def found(person: Person, search: str, limit: int = 50) -> list[str]:
    names: list[str] = []
    after, pages = BEFORE_ALL, 0
    while True:
        page = rrsets_found(person=person, search=parse(search), now=NOW, after=after, limit=limit)
        names += [row.rrset.name for row in page.rows if row.rrset.type not in (2, 6)]
        pages += 1
        assert pages < 200
        if page.next_after is None:
            return names
        assert page.next_after > after
        after = page.next_after


SEARCHES = {
    "192.0.2.7": ["www.shop.test.", "7.2.0.192.in-addr.arpa."],
    "192.0.2.0/24": ["mail.shop.test.", "www.shop.test."],
    "2001:db8::/32": ["www.blog.test."],
    "www": [
        "xn--bcher-kva.shop.test.", "www.shop.test.", "shop.blog.test.", "www.blog.test.", "7.2.0.192.in-addr.arpa.",
    ],
    "www.shop.test": ["xn--bcher-kva.shop.test.", "www.shop.test.", "shop.blog.test.", "7.2.0.192.in-addr.arpa."],
    "w.sho": ["xn--bcher-kva.shop.test.", "www.shop.test.", "shop.blog.test.", "7.2.0.192.in-addr.arpa."],
    "blog.test": [],
    "shop.test": [
        "shop.test.", "shop.test.", "xn--bcher-kva.shop.test.", "shop.blog.test.", "7.2.0.192.in-addr.arpa.",
    ],
    "b\u00fcch": ["xn--bcher-kva.shop.test."],
    "SPF.example": ["shop.test."],
    "type:mx": ["shop.test."],
    "type:a ttl:<100": ["mail.shop.test."],
    "zone:blog type:cname": ["shop.blog.test."],
    "h1 -h10 203.0.113.11": ["h11.large.test."],
    "h1 zone:large type:a ttl:300 -h11 -h12 -h13 -h14 -h15 -h16 -h17 -h18": ["h10.large.test.", "h19.large.test."],
    "absent-everywhere": [],
    "tag:none-has-it": [],
    "tag:Customer": ["mail.shop.test."],
    "tag:home type:a": ["mail.shop.test."],
    "tag:home -type:a": ["www.blog.test.", "shop.blog.test."],
    "comment:rack": ["mail.shop.test."],
    "rack": ["mail.shop.test."],
    "type:nonsense": [],
    "zz": [],
}  # fmt: skip


@pytest.mark.sample(3, reason="pages of a search for records, by how old the texts are")
@pytest.mark.parametrize("state", ["without texts", "texts", "blocks", "half of the texts", "old texts"])
@pytest.mark.parametrize("limit", [2, 50])
def test_a_search_finds_the_same_however_far_the_texts_are(
    state: str, limit: int, zones: dict[str, Zone], bob: User, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 7 if state != "texts" else 500)
    monkeypatch.setattr(everywhere, "_FEWEST_BLOCKS", 2)
    monkeypatch.setattr(everywhere, "MOST_COMPARED", 30)
    if state != "without texts":
        catch_up()
    if state == "old texts":
        for zone in zones.values():
            edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
            edit.restore_zone(zone=Zone.objects.get(pk=zone.pk), author=bob, channel="web", now=NOW)
        SearchText.objects.update(text="\nnothing of what is published\n")
    if state == "half of the texts":
        SearchText.objects.filter(zone__in=[zones["shop.test."].pk, zones["large.test."].pk]).delete()
        monkeypatch.setattr(
            search_texts,
            "progress",
            lambda: search_texts.Progress(
                True,
                frozenset(zone.pk for zone in zones.values()),
                frozenset({zones["shop.test."].pk, zones["large.test."].pk}),
            ),
        )
    for search, names in SEARCHES.items():
        assert sorted(found(bob, search, limit)) == sorted(names), search


def test_a_person_finds_what_they_see(zones: dict[str, Zone], catch_up: CatchUp, dora: object) -> None:
    catch_up()
    mia = make_person("mia", Role.MEMBER)
    assert found(mia, "www") == []
    grant = Grant(READ, zones=frozenset({zones["blog.test."].pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    assert found(User.objects.get(pk=mia.pk), "www") == ["shop.blog.test.", "www.blog.test."]


def test_a_token_finds_the_names_that_it_sees(zones: dict[str, Zone], catch_up: CatchUp, bob: User) -> None:
    catch_up()
    scope = (Grant(READ, zones=frozenset({zones["large.test."].pk}), names=("h3*",)),)
    new = create_token(owner=bob, terms=TokenTerms("x", scope=scope), by=bob, now=NOW)
    actor = actor_of_token(new.token)
    assert actor is not None
    assert found(actor, "203.0.113.0/24", limit=3) == [f"h3{number}.large.test." for number in range(10)]


def test_a_page_ends_when_enough_was_compared_and_says_where(
    zones: dict[str, Zone], bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(everywhere, "_FEWEST_BLOCKS", 1)
    monkeypatch.setattr(everywhere, "MOST_COMPARED", 1)
    page = rrsets_found(person=bob, search=parse("zz"), now=NOW)
    assert (page.rows, page.looked_to) == ((), "shop.test.")
    assert page.next_after == Place(zones["shop.test."].pk + 1, b"", 0)


def test_a_page_takes_no_more_blocks_than_it_may_compare(
    zones: dict[str, Zone], bob: User, catch_up: CatchUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Previously a page read 86,000 RRsets of a zone with 1,000,000 to display 50."""
    monkeypatch.setattr(texts_upkeep, "NAMES_OF_BLOCK", 7)
    monkeypatch.setattr(everywhere, "_OF_BLOCK", 7)
    monkeypatch.setattr(everywhere, "MOST_COMPARED", 10)
    catch_up()
    page = rrsets_found(person=bob, search=parse("zone:large zz"), now=NOW)
    assert page.looked_to == "large.test."
    assert page.next_after is not None
    assert page.next_after.owner_key == b"h13\0"  # the second block has ended


def test_a_page_costs_as_many_queries_whatever_there_is(zones: dict[str, Zone], bob: User, catch_up: CatchUp) -> None:
    catch_up()
    with CaptureQueriesContext(connection) as captured:
        rrsets_found(person=bob, search=parse("www"), now=NOW)
    assert len(captured) == 4  # two for the progress, the texts, the RRsets


@pytest.mark.parametrize("text", ["", "x", "1-zz-1", "1-00", "99999999999-00-1", "1-00-70000", "-1-00-1"])
def test_a_place_that_is_none_of_ours_is_the_beginning(text: str) -> None:
    assert place_of(text) == BEFORE_ALL


def test_a_place_is_written_and_read() -> None:
    place = Place(7, b"\x03www", 28)
    assert place_of(place.to_text()) == place
