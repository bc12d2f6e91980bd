"""The panel takes counts of queries from nodes over real TLS. Tests `store.store_queries` too."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dnspanel.fleet import tasks
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.query_reports import take_reports
from dnspanel.zones.models import CountingNode, QueriedRRset
from dnspanel.zones.store.store_queries import KEPT_DAYS, LONGEST_GAP
from replication.wire.protocol import QueryReport
from tests.dnspanel.fleet.conftest import EnrolledAgent, Served

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
FIVE = timedelta(minutes=5)

Serve = Callable[..., Served]


@pytest.fixture(autouse=True)
def counting(settings: Any) -> None:
    settings.COUNT_QUERIES = True


def report(number: int, *counts: tuple[int, str, int, int], problem: str = "", seconds: float = 300) -> QueryReport:
    return QueryReport(f"a-{number}", 1000.0, 1000.0 + seconds, problem, counts)


def stored() -> dict[tuple[int, bytes, int, int], int]:
    """Return the counts by zone, owner key, type and day of the month."""
    return {(row.zone_id, bytes(row.owner_key), row.type, row.day.day): row.times for row in QueriedRRset.objects.all()}


def complete(name: str = "ns1") -> tuple[datetime, datetime, float]:
    row = CountingNode.objects.get(name=name)
    return row.since, row.until, row.missed_seconds


def test_the_counts_of_all_nodes_are_added_up_by_day(served: Serve) -> None:
    one, two = served("ns1"), served("ns2")
    one.agent.query_reports = [
        report(1, (7, b"www\0".hex(), 1, 5), (7, "00", 6, 1)),
        report(2, (7, b"www\0".hex(), 1, 4)),
    ]
    two.agent.query_reports = [report(1, (7, b"www\0".hex(), 1, 30)), report(2)]
    assert take_reports(now=NOON) == 2
    assert stored() == {(7, b"www\0", 1, 30): 35, (7, b"\0", 6, 30): 1}
    take_reports(now=NOON + timedelta(days=1))
    assert stored() == {(7, b"www\0", 1, 30): 35, (7, b"\0", 6, 30): 1, (7, b"www\0", 1, 1): 4}
    Node.objects.filter(name="ns2").update(state=NodeState.RETIRED)
    take_reports(now=NOON + timedelta(days=KEPT_DAYS + 1))
    assert stored() == {(7, b"www\0", 1, 1): 4}
    assert CountingNode.objects.get(has_left=True).name == "ns2"


def test_a_repeated_report_is_counted_once(served: Serve) -> None:
    agent = served().agent
    agent.query_reports = [report(1, (7, b"www\0".hex(), 1, 5))] * 2
    take_reports(now=NOON)
    take_reports(now=NOON + FIVE)
    take_reports(now=NOON + 2 * FIVE)
    assert stored() == {(7, b"www\0", 1, 30): 5}


def test_a_short_gap_is_summed_up_and_a_long_one_begins_anew(served: Serve) -> None:
    agent = served().agent
    agent.query_reports = [report(number) for number in range(1, 9)]
    take_reports(now=NOON)
    take_reports(now=NOON + FIVE)
    assert complete() == (NOON, NOON + FIVE, 0)
    at = NOON + 3 * FIVE  # the agent was restarted, and has counted for five minutes
    take_reports(now=at)
    assert complete() == (NOON, at, 300)
    agent.query_reports[1:1] = [report(20, (7, "00", 2, 9), problem="9 questions could not be counted")]
    take_reports(now=at + FIVE)
    assert complete() == (NOON, at, 300)
    assert CountingNode.objects.get().problem.startswith("9 questions")
    assert stored() == {(7, b"\0", 2, 30): 9}, "what was counted is kept"
    later = at + LONGEST_GAP + 2 * FIVE
    take_reports(now=later)
    assert complete() == (later - FIVE, later, 0)


def test_an_agent_that_counts_nothing_is_never_complete(served: Serve) -> None:
    agent = served().agent
    agent.query_reports = [QueryReport("", 0, 0, "the agent may not read packets", ())]
    take_reports(now=NOON)
    take_reports(now=NOON + timedelta(days=2))
    assert complete() == (NOON, NOON, 0)
    assert CountingNode.objects.get().problem == "the agent may not read packets"


def test_a_node_that_joins_is_complete_from_the_time_of_the_others(served: Serve) -> None:
    served().agent.query_reports = [report(number) for number in range(1, 9)]
    take_reports(now=NOON)
    take_reports(now=NOON + FIVE)
    served("ns2").agent.query_reports = [report(1)]
    take_reports(now=NOON + 2 * FIVE)
    assert complete("ns2") == (NOON, NOON + 2 * FIVE, 0)


def test_an_old_agent_and_one_that_is_away_do_not_stop_the_others(served: Serve) -> None:
    old, away, good = served("ns1"), served("ns2"), served("ns3")
    good.agent.query_reports = [report(1, (7, "00", 2, 1))]
    away.agent.stop()
    assert old.agent.query_reports == []
    assert take_reports(now=NOON) == 1
    assert stored() == {(7, b"\0", 2, 30): 1}


def test_all_counts_are_removed_when_counting_is_switched_off(served: Serve, settings: Any) -> None:
    served().agent.query_reports = [report(1, (7, "00", 2, 1))]
    tasks.count_queries()
    assert QueriedRRset.objects.count() == CountingNode.objects.count() == 1
    settings.COUNT_QUERIES = False
    tasks.count_queries()
    assert QueriedRRset.objects.count() == CountingNode.objects.count() == 0


def test_a_real_agent_answers(enrolled_agent: Callable[..., EnrolledAgent]) -> None:
    enrolled_agent()
    take_reports(now=NOON)
    row = CountingNode.objects.get()
    assert "counters" in row.problem or "may not read packets" in row.problem
