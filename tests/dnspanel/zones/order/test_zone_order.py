"""The list of zones, sorted by each column in both directions, page by page. Tests `order.sort_order` too."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from dnspanel.accounts.models import Role, Team, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.lists import queries
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.order import zone_order
from dnspanel.zones.order.zone_order import ZoneColumn, ZoneOrder, named_behind, order_of
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from dnspanel.zones.values.natural_order import natural_text
from tests import database
from tests.people import NOW, make_person

ORDERS = [ZoneOrder(column, descending) for column in ZoneColumn for descending in (False, True)]


def name_of(order: ZoneOrder) -> str:
    return f"{order.column}-{'down' if order.descending else 'up'}"


def make_zones() -> None:
    """Create eleven zones that have equal values in all columns except the name."""
    alice, bob = make_person("alice", Role.ADMINISTRATOR), make_person("bob", Role.EDITOR)
    for number in (*range(9), 10, 11):
        edit.create_zone(
            zone=edit.NewZone(f"z{number}.test."), acting=Acting((alice, bob, None)[number % 3], Channel.WEB, NOW)
        )
    teams = [Team.objects.create(name=name, created_at=NOW) for name in ("beta", "Alpha")]
    for number, zone in enumerate(Zone.objects.order_by("-name")):
        Zone.objects.filter(pk=zone.pk).update(
            rrset_count=number // 2 + 2,
            serial=(10, 9, 100)[number % 3],
            changed_at=NOW + timedelta(microseconds=number // 4),
            team=teams[number % 2] if number < 6 else None,
        )
    signed = Zone.objects.filter(name__in=["z1.test.", "z6.test.", "z7.test."])
    sign.sign(zones=list(signed), acting=Acting(author=alice, channel="web", now=NOW))


@pytest.fixture(scope="class")
def zones(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Create the zones of `make_zones` once for all tests of a class."""
    with database.lasting_rows(django_db_blocker):
        make_zones()
        yield


@pytest.fixture
def editor() -> User:
    return User.objects.get(username="bob")


def expected(order: ZoneOrder) -> list[str]:
    """Return the names as Python sorts them: by the column in this direction, then by name in ascending order."""

    def key(zone: Zone) -> object:
        return {
            ZoneColumn.NAME: natural_text(zone.name),
            ZoneColumn.DNSSEC: hasattr(zone, "signing") and zone.signing.is_signed,
            ZoneColumn.RRSETS: zone.rrset_count,
            ZoneColumn.SERIAL: zone.serial,
            ZoneColumn.CHANGED: zone.changed_at,
            ZoneColumn.AUTHOR: zone.changed_by.username.lower() if zone.changed_by else "",
            ZoneColumn.TEAM: zone.team.name.lower() if zone.team else "",
            ZoneColumn.SYNC: zone.sequence,
        }[order.column]

    is_natural = order.column in {ZoneColumn.NAME, ZoneColumn.DNSSEC}  # read in index order of names
    by_name = sorted(Zone.objects.all(), key=lambda zone: natural_text(zone.name) if is_natural else zone.name)
    return [zone.name for zone in sorted(by_name, key=key, reverse=order.descending)]  # type: ignore[arg-type]


BY_SAMPLE = [
    order
    for order in ORDERS
    if order.column in zone_order._KEYS or (order.column in zone_order._NAMED and not order.descending)
]


@pytest.mark.django_db
@pytest.mark.usefixtures("zones")
class TestPages:
    @pytest.mark.sample(3, reason="orders of the list of zones")
    @pytest.mark.parametrize("order", ORDERS, ids=name_of)
    def test_pages_of_each_order_have_every_zone_once(self, editor: User, order: ZoneOrder) -> None:
        found, after = [], ""
        while True:
            with CaptureQueriesContext(connection) as captured:
                page = queries.zone_page(user=editor, order=order, after=after, limit=2)
            assert len(captured) <= 5  # names, sample, first by sample, first of all, list
            found += [row.name for row in page.rows]
            after = page.next_after
            if not after:
                break
        # A stable sort with `reverse` keeps the order of equal items.
        assert found == expected(order)

    @pytest.mark.sample(3, reason="orders of the list of zones that begin with a sample of them")
    @pytest.mark.parametrize("order", BY_SAMPLE, ids=name_of)
    @pytest.mark.parametrize("place", [1, 3, 11, 12])
    def test_a_sample_says_what_need_not_be_compared_and_nothing_else(
        self, monkeypatch: pytest.MonkeyPatch, order: ZoneOrder, place: int
    ) -> None:
        """Tests sampled bounds that include too few zones for a page, bounds that include all, and no bound at all."""
        alice = User.objects.get(username="alice")
        monkeypatch.setattr(zone_order, "_SAMPLE_PERCENT", 100)
        monkeypatch.setattr(zone_order, "_OF_SAMPLE", place)
        with CaptureQueriesContext(connection) as captured:
            page = queries.zone_page(user=alice, order=order, limit=4)
        assert [row.name for row in page.rows] == expected(order)[:4]
        assert sum("TABLESAMPLE" in query["sql"] for query in captured) == 1
        with CaptureQueriesContext(connection) as captured:
            queries.zone_page(user=alice, order=order, after=page.next_after, limit=4)
            queries.zone_page(user=alice, order=order, search="z", limit=4)
        assert not any("TABLESAMPLE" in query["sql"] for query in captured)

    def test_a_search_and_what_a_person_sees_stay_as_they_are(self, editor: User, dora: object) -> None:
        order = ZoneOrder(ZoneColumn.RRSETS, descending=True)
        page = queries.zone_page(user=editor, search="team:beta", order=order)
        assert [row.team for row in page.rows] == ["beta"] * 3
        assert queries.zone_page(user=dora, order=order).rows == ()  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "after", ["nonsense", "x z1.test.", "-1 z1.test.", "9999999999999999999999 z1.test.", "1 \0"]
    )
    def test_what_is_no_cursor_is_the_beginning_or_a_place_behind_nothing(self, editor: User, after: str) -> None:
        for column in (ZoneColumn.RRSETS, ZoneColumn.CHANGED, ZoneColumn.DNSSEC):
            assert queries.zone_page(user=editor, order=ZoneOrder(column), after=after).next_after == ""


def test_an_order_is_read_from_a_url() -> None:
    assert order_of("-rrsets") == ZoneOrder(ZoneColumn.RRSETS, descending=True)
    assert order_of("team") == ZoneOrder(ZoneColumn.TEAM)
    for text in ("", "colour", "--name", "rrsets; DROP"):
        assert order_of(text) == ZoneOrder()


def test_zone2_stands_before_zone10_whichever_way_it_came(bob: User) -> None:
    for name in ("zone10.test.", "zone2.test."):
        edit.create_zone(zone=edit.NewZone(name), acting=Acting(bob, Channel.WEB, NOW))
    Zone.objects.create(name="zone3.test.", serial=1, created_at=NOW, changed_at=NOW)
    rows = queries.zone_page(user=bob).rows
    assert [row.name for row in rows] == ["zone2.test.", "zone3.test.", "zone10.test."]
    behind = queries.zone_page(user=bob, after="zone9.test.").rows
    assert [row.name for row in behind] == ["zone10.test."]


def test_the_list_is_read_along_the_index_of_names(bob: User) -> None:
    with connection.cursor() as cursor:
        for way in ("seqscan", "bitmapscan", "sort"):  # PostgreSQL would use them in a small table
            cursor.execute(f"SET LOCAL enable_{way} = off")
    zones = Zone.objects.filter(named_behind("z"), deleted_at=None).order_by("sort_name")
    assert "zone_sort_name" in zones[:101].explain()
