"""The lists of zones and RRsets, their search, and the editor's view of a zone."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import find_rrsets, queries, rrset_pages
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetRow
from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.publishing import edit, revision
from dnspanel.zones.rights import access
from replication.dns import names, rdtypes
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person

A = rdtypes.A


def found(user: User, search: str) -> list[str]:
    return [row.name for row in queries.zone_page(user=user, search=search).rows]


def want(author: User, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW)


def full_page(
    zone: Zone, author: User, filters: RRsetFilter = rrset_pages.EVERYTHING, limit: int = 100
) -> list[RRsetRow]:
    """Return the rows of all pages."""
    rows: list[RRsetRow] = []
    after = ""
    while True:
        page = rrset_pages.rrset_page(zone=zone, author=author, filters=filters, after=after, limit=limit)
        rows.extend(page.rows)
        after = page.next_after
        if not after:
            return rows


class TestZonePage:
    @pytest.fixture(autouse=True)
    def estate(self, make_zone: MakeZone) -> None:
        make_zone("www 300 A 192.0.2.7", name="shop.example.test.")
        make_zone("www 300 AAAA 2001:db8::7", "@ 300 TXT hello", name="blog.test.")
        make_zone("x 300 CNAME www.example.net.", name="my_shop.test.")
        edit.create_zone(zone=edit.NewZone("müller.test"), acting=Acting(None, "web", NOW))

    def test_zones_come_by_name_and_a_page_leads_to_the_next(self, bob: User) -> None:
        first = queries.zone_page(user=bob, limit=3)
        assert [row.name for row in first.rows] == ["blog.test.", "my_shop.test.", "shop.example.test."]
        rest = queries.zone_page(user=bob, limit=3, after=first.next_after)
        assert ([row.name for row in rest.rows], rest.next_after) == (["xn--mller-kva.test."], "")

    def test_a_row_says_what_a_list_shows_in_one_query(self, alice: User, bob: User) -> None:
        with CaptureQueriesContext(connection) as captured:
            row = queries.zone_page(user=bob).rows[0]
        assert len(captured) == 1
        assert (row.serial, row.revision, row.rrset_count, row.changed_by) == (1, 1, 4, "alice")

    def test_every_word_must_be_in_the_name(self, bob: User) -> None:
        assert found(bob, "SHOP") == ["my_shop.test.", "shop.example.test."]
        assert found(bob, "shop example") == ["shop.example.test."]
        assert found(bob, "nothing") == []

    @pytest.mark.parametrize("wild", ["%", "y%s", "p_te", "\\"])
    def test_wildcards_of_sql_mean_themselves(self, bob: User, wild: str) -> None:
        assert found(bob, wild) == []
        assert found(bob, "y_s") == ["my_shop.test."]

    def test_an_international_word_finds_its_a_label(self, bob: User) -> None:
        assert found(bob, "Müller") == ["xn--mller-kva.test."]

    @pytest.mark.parametrize(
        ("value", "zone"),
        [
            ("192.0.2.7", "shop.example.test."),
            ("2001:DB8:0::7", "blog.test."),
            ("hello", "blog.test."),
            ("WWW.example.net", "my_shop.test."),
        ],
    )
    def test_has_finds_the_zones_that_contain_a_record(self, bob: User, value: str, zone: str) -> None:
        assert found(bob, f"has:{value}") == [zone]
        assert found(bob, f"has:{value} nothing") == []

    def test_a_zero_byte_in_the_address_bar_finds_nothing(self, bob: User) -> None:
        assert found(bob, "shop\0zzz") == []
        assert queries.zone_page(user=bob, after="my\0").rows != ()

    def test_a_stranger_sees_none(self, dora: AnonymousUser) -> None:
        assert queries.zone_page(user=dora).rows == ()

    def test_the_trash_shows_the_newest_first_and_pages(self, bob: User) -> None:
        for days, zone in enumerate(Zone.objects.order_by("name")):
            edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW - timedelta(days=days // 2)))
        assert queries.zone_page(user=bob).rows == ()
        first = queries.trash_page(user=bob, limit=3)
        rest = queries.trash_page(user=bob, limit=3, after=first.next_after)
        names_ = [row.name for row in (*first.rows, *rest.rows)]
        assert names_ == ["my_shop.test.", "blog.test.", "xn--mller-kva.test.", "shop.example.test."]
        assert rest.next_after == ""
        assert queries.trash_page(user=bob, after="nonsense~7").rows == ()


FILL = """
    INSERT INTO zones_zone (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence, tags)
    SELECT made.name, made.name, 1, 1, 0, now(), now(), 0,
        CASE WHEN n % 1000 = 0 THEN ARRAY['shop'] ELSE '{}' END
    FROM generate_series(1, 10000) n
    CROSS JOIN LATERAL (SELECT 'z' || n || '.estate.test.') AS made (name)"""


@pytest.fixture
def plans(bob: User) -> Callable[[QuerySet[Zone]], str]:
    """Return a function that explains PostgreSQL's plan for a list's first page among many zones."""
    with connection.cursor() as cursor:
        cursor.execute(FILL)
        cursor.execute("ANALYZE zones_zone")
        cursor.execute("SET LOCAL enable_seqscan = off")  # in a small table, a sequential scan may be cheaper
    return lambda zones: zones.order_by("name")[:101].explain()


@pytest.mark.parametrize("search", ["tag:shop", "tag:nothing", "tag:shop estate"])
def test_zones_with_a_tag_are_found_by_its_index(
    bob: User, plans: Callable[[QuerySet[Zone]], str], search: str
) -> None:
    """The index omits zones without tags. Previously a condition did not say so, and the query read a million zones."""
    zones = queries.found_zones(access.zones_visible_to(bob).filter(name__gt=""), search)
    assert "zone_tags" in plans(zones)
    assert zones.count() == (0 if "nothing" in search else 10)


def test_who_sees_zones_by_a_tag_finds_them_by_its_index(plans: Callable[[QuerySet[Zone]], str]) -> None:
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(frozenset({Right.READ}), tags=frozenset({"shop"}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    zones = access.zones_visible_to(mia)
    assert "zone_tags" in plans(zones)
    assert zones.count() == 10


class TestRRsetPage:
    def test_rrsets_come_by_name_soa_and_ns_first_with_the_drafts_in_their_places(self, bob: User, zone: Zone) -> None:
        want(bob, zone, "a.www 300 A 192.0.2.3", "www 60 A 192.0.2.1", "@ 300 TXT text", "zz 300 A 192.0.2.4")
        draft.delete_rrset(author=bob, zone=zone, name="shop." + ZONE, type=rdtypes.CNAME, now=NOW)
        rows = [(names.relative_text(row.change.name, ZONE), row.change.type, row.mark) for row in full_page(zone, bob)]
        assert rows == [
            ("@", 6, None),
            ("@", 2, None),
            ("@", 15, None),
            ("@", 16, "added"),
            ("mail", 1, None),
            ("shop", 5, "deleted"),
            ("www", 1, "changed"),
            ("a.www", 1, "added"),
            ("zz", 1, "added"),
        ]

    def test_rows_carry_both_sides(self, bob: User, zone: Zone) -> None:
        want(bob, zone, "www 60 A 192.0.2.1")
        row = next(row for row in full_page(zone, bob) if row.mark)
        assert (row.change.before, row.change.after) == (
            rr("www 300 A 192.0.2.1 | 192.0.2.2"),
            rr("www 60 A 192.0.2.1"),
        )
        assert row.operation_id is not None
        assert row == rrset_pages.rrset_row(zone=zone, author=bob, name="www." + ZONE, type=A)
        assert rrset_pages.rrset_row(zone=zone, author=bob, name="none." + ZONE, type=A).change.after is None

    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    def test_pages_of_any_size_show_each_row_once(self, bob: User, zone: Zone, limit: int) -> None:
        want(bob, zone, "a 300 A 192.0.2.3", "www 60 A 192.0.2.1", "@ 300 TXT text", "zz 300 A 192.0.2.4")
        assert full_page(zone, bob, limit=limit) == full_page(zone, bob)

    def test_the_draft_of_another_person_is_not_seen(self, alice: User, bob: User, zone: Zone) -> None:
        want(alice, zone, "www 60 A 192.0.2.1")
        assert [row.mark for row in full_page(zone, bob)] == [None] * 6

    def test_a_row_published_by_others_since_the_edit_has_a_conflict(self, alice: User, bob: User, zone: Zone) -> None:
        want(bob, zone, "www 60 A 192.0.2.1", "mail 60 A 192.0.2.9")
        want(alice, zone, "www 61 A 192.0.2.1", "mail 60 A 192.0.2.9")
        revision.publish(acting=Acting(alice, "web", NOW))
        rows = {row.change.name: row for row in full_page(zone, bob)}
        assert (rows["www." + ZONE].mark, rows["www." + ZONE].conflict) == ("changed", True)
        assert (rows["mail." + ZONE].mark, rows["mail." + ZONE].conflict) == (None, False)

    @pytest.mark.parametrize(
        ("filters", "owners"),
        [
            (RRsetFilter(text="WWW"), ["shop", "www"]),
            (RRsetFilter(text="192.0.2.9"), ["mail"]),
            (RRsetFilter(text="203.0.113"), ["www", "new"]),
            (RRsetFilter(text="why"), ["new"]),
            (RRsetFilter(text="ttl"), []),
            (RRsetFilter(text=r"say \""), ["quoted"]),
            (RRsetFilter(text="%"), []),
            (RRsetFilter(types=frozenset({5, 16})), ["quoted", "shop"]),
            (RRsetFilter(in_draft=True), ["new", "quoted", "www"]),
            (RRsetFilter(in_draft=True, text="new"), ["new"]),
        ],
        ids=str,
    )
    def test_a_filter_looks_at_what_is_published_and_at_what_is_wanted(
        self, bob: User, zone: Zone, filters: RRsetFilter, owners: list[str]
    ) -> None:
        wanted = [
            rr("new 300 A 203.0.113.4", comment="this is why"),
            rr("www 60 A 203.0.113.5"),
            rr(r'quoted 60 TXT "say \"hi\""'),
        ]
        for rrset in wanted:
            draft.replace_rrset(author=bob, zone=zone, rrset=rrset, now=NOW)
        rows = [names.relative_text(row.change.name, ZONE) for row in full_page(zone, bob, filters)]
        assert sorted(rows) == sorted(owners)

    def test_a_page_takes_four_queries_at_most(self, bob: User, make_zone: MakeZone) -> None:
        zone = make_zone(*(f"h{i} 300 A 192.0.2.{i}" for i in range(1, 200)))
        want(bob, zone, "h3 60 A 192.0.2.3", "x 300 A 192.0.2.4")
        for filters, most in ((rrset_pages.EVERYTHING, 4), (RRsetFilter(text="h"), 4), (RRsetFilter(in_draft=True), 3)):
            with CaptureQueriesContext(connection) as captured:
                rrset_pages.rrset_page(zone=zone, author=bob, filters=filters)
            assert len(captured) <= most

    def test_a_cursor_that_is_none_of_ours_means_the_start(self, bob: User, zone: Zone) -> None:
        assert len(rrset_pages.rrset_page(zone=zone, author=bob, after="nonsense").rows) == 6


def test_a_page_of_a_large_zone_is_read_along_its_key(bob: User, zone: Zone) -> None:
    """To put SOA and NS first, the query sorts the RRsets of one name, never all RRsets of the zone."""
    rows = find_rrsets.in_display_order(RRset.objects.filter(zone=zone), (b"m", 1), None, 101)
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan", "sort"):  # PostgreSQL would use them in a small table
            cursor.execute(f"SET LOCAL enable_{way} = off")
    plan = rows.explain()
    assert "Incremental Sort" in plan
    assert "Presorted Key: owner_key" in plan


def test_types_are_counted_with_those_that_the_draft_adds(bob: User, alice: User, zone: Zone) -> None:
    want(bob, zone, "@ 300 TXT text", "new 300 A 192.0.2.3", "www 60 A 192.0.2.1")
    assert rrset_pages.type_counts(zone=zone, author=bob) == ((1, 3), (2, 1), (5, 1), (6, 1), (15, 1), (16, 1))
    assert rrset_pages.type_counts(zone=zone, author=alice) == rrset_pages.type_counts(zone=zone)


def test_types_are_counted_in_zones_that_are_not_too_large(zone: Zone) -> None:
    assert rrset_pages.type_counts(zone=zone) == ((1, 2), (2, 1), (5, 1), (6, 1), (15, 1))
    zone.rrset_count = rrset_pages.COUNTED_RRSETS + 1
    assert rrset_pages.type_counts(zone=zone) == ()


def test_a_draft_is_summed_up_per_zone(alice: User, bob: User, zone: Zone) -> None:
    want(bob, zone, "new 300 A 192.0.2.3", "www 60 A 192.0.2.1")
    draft.delete_rrset(author=bob, zone=zone, name="shop." + ZONE, type=rdtypes.CNAME, now=NOW)
    (counts,) = queries.draft_summary(author=bob)
    assert (counts.zone_name, counts.added, counts.changed, counts.removed, counts.total) == (ZONE, 1, 1, 1, 3)
    assert queries.draft_summary(author=alice) == ()
    assert queries.others_drafting(zone=zone, author=alice) == (("bob", 3),)
    assert queries.others_drafting(zone=zone, author=bob) == ()


def test_history_pages_backwards_by_number(bob: User, zone: Zone) -> None:
    for ttl in (61, 62, 63):
        want(bob, zone, f"www {ttl} A 192.0.2.1")
        revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(reason=f"ttl {ttl}"))
    first = queries.history_page(zone=zone, limit=2)
    assert [(row.number, row.reason, row.author) for row in first.rows] == [(4, "ttl 63", "bob"), (3, "ttl 62", "bob")]
    rest = queries.history_page(zone=zone, before=int(first.next_after), limit=2)
    assert [(row.number, row.kind) for row in rest.rows] == [(2, "change"), (1, "create")]
    assert rest.next_after == ""
