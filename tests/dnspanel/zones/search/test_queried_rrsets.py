"""The filter `queried:`, which finds RRsets by the questions that nodes counted."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.rrset_pages import RRsetFilter, rrset_page
from dnspanel.zones.models import CountingNode, QueriedRRset, Zone
from dnspanel.zones.search.everywhere import rrsets_found
from dnspanel.zones.search.queried_rrsets import MOST_DAYS, counting_now
from dnspanel.zones.search.terms import parse
from replication.codec.keys import relative_key
from replication.dns import rdata
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.search.conftest import CatchUp

pytestmark = pytest.mark.django_db


def count_since(days: float, name: str = "ns1", **fields: Any) -> None:
    now = timezone.now()
    CountingNode.objects.create(node_id=len(name), name=name, since=now - timedelta(days=days), until=now, **fields)


def ask(zone: Zone, name: str, days: int, times: int = 1) -> None:
    """Store queries for the A records at a name."""
    day = timezone.now().date() - timedelta(days=days)
    QueriedRRset.objects.create(
        zone_id=zone.pk, owner_key=relative_key(f"{name}.{zone.name}", zone.name), type=1, day=day, times=times
    )


@pytest.fixture
def zone(make_zone: MakeZone, catch_up: CatchUp, settings: Any) -> Zone:
    settings.COUNT_QUERIES = True
    zone = make_zone("www 60 A 192.0.2.1", "old 60 A 192.0.2.2", "never 60 A 192.0.2.3", "www 60 TXT 'a'")
    catch_up()
    ask(zone, "www", 1)
    ask(zone, "old", 40)
    return zone


def found(bob: User, zone: Zone, filters: RRsetFilter) -> list[str]:
    rows = rrset_page(zone=zone, author=bob, filters=filters).rows
    keys = [row.change.key for row in rows]
    return [f"{name.removesuffix(zone.name)}{rdata.type_to_text(type)}" for name, type in keys if name != zone.name]


def test_rrsets_are_found_by_their_last_question(zone: Zone, bob: User) -> None:
    count_since(91.5)
    assert found(bob, zone, RRsetFilter("queried:<7d")) == ["www.A"]
    assert found(bob, zone, RRsetFilter("queried:>7d")) == ["never.A", "old.A", "www.TXT"]
    assert found(bob, zone, RRsetFilter("queried:>60d type:a")) == ["never.A"]
    assert found(bob, zone, RRsetFilter("-queried:<60d type:a")) == ["never.A"]
    assert found(bob, zone, RRsetFilter("type:a", unqueried_days=30)) == ["never.A", "old.A"]
    day = timezone.now().date() - timedelta(days=40)
    assert found(bob, zone, RRsetFilter(f"queried:{day}")) == ["old.A"]
    rows = rrsets_found(person=bob, search=parse("queried:>60d type:a"), now=timezone.now()).rows
    assert [each.rrset.name for each in rows] == [f"never.{zone.name}"]
    assert [each.name for each in queries.zone_page(user=bob, search="queried:<7d").rows] == [zone.name]


def test_a_time_that_was_not_counted_is_refused_with_the_first_day(zone: Zone, bob: User) -> None:
    count_since(91.5)
    count_since(20, "ns22")
    first = timezone.now().date() - timedelta(days=19)
    for text in ("queried:>90d", "queried:<90d", "-queried:<90d"):
        with pytest.raises(SearchTooGeneral, match=f"queried:>={first}"):
            found(bob, zone, RRsetFilter(text))
    assert found(bob, zone, RRsetFilter("queried:>19d type:a")) == ["never.A", "old.A"]
    counting = counting_now()
    assert counting is not None
    assert (counting.days, counting.first_day) == (19, first)


def test_nothing_is_claimed_while_a_node_does_not_count(zone: Zone, bob: User, settings: Any) -> None:
    with pytest.raises(SearchTooGeneral, match="no node has reported"):
        found(bob, zone, RRsetFilter("queried:>7d"))
    count_since(91.5, missed_seconds=42)
    count_since(91.5, "ns333", problem="no capability")
    CountingNode.objects.filter(name="ns333").update(until=timezone.now() - timedelta(days=1))
    with pytest.raises(SearchTooGeneral, match="ns333: no capability"):
        found(bob, zone, RRsetFilter("queried:>7d"))
    counting = counting_now()
    assert counting is not None
    assert counting.days == 0
    assert counting.problem == "ns333: no capability"
    CountingNode.objects.filter(name="ns333").update(has_left=True)
    counting = counting_now()
    assert counting is not None
    assert (counting.days, counting.missed_seconds) == (MOST_DAYS, 42)
    settings.COUNT_QUERIES = False
    with pytest.raises(SearchTooGeneral, match="aren’t counted"):
        found(bob, zone, RRsetFilter("queried:>7d"))
