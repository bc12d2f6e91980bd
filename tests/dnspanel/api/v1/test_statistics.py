"""Tests of the fleet's counters."""

import time
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.fleet import telemetry
from dnspanel.fleet.nodes import node_lifecycle
from tests.dnspanel.api.v1.calls import Caller, caller
from tests.dnspanel.fleet.conftest import MakeNode, active_node, live_redis, waiting_node
from tests.dnspanel.fleet.test_telemetry import sample
from tests.people import NOW

__all__ = ["active_node", "live_redis", "waiting_node"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_redis")]


@pytest.fixture
def ask(bob: User) -> Caller:
    return caller(bob, permissions=[Permission.FLEET])


@pytest.fixture
def fleet(live_redis: None, active_node: MakeNode) -> None:
    """Create two active nodes with samples, and one retired node."""
    now = int(time.time())
    one, two, gone = (active_node(f"ns{n}", agent_port=8533 + n) for n in (1, 2, 3))
    node_lifecycle.retire(node=gone, now=NOW, by=None)
    telemetry.keep_samples(node_id=one.pk, samples=[sample(now - 1, 10), sample(now, 20)])
    telemetry.keep_samples(node_id=two.pk, samples=[sample(now, 100, uptime=50, tcp=7, latency_us=750)])
    telemetry.keep_samples(node_id=gone.pk, samples=[sample(now, 1000)])


def by_name(items: Any) -> dict[str, Any]:
    return {item["name"]: item["value"] for item in items}


@pytest.mark.usefixtures("fleet")
def test_counters_are_summed_over_the_nodes_that_take_pushes(ask: Caller) -> None:
    found = by_name(ask.value("GET", "/statistics"))
    assert (found["udp-queries"], found["tcp-queries"]) == ("130", "7")
    assert (found["packetcache-hit"], found["noerror-packets"]) == ("9", "124")
    assert (found["uptime"], found["latency"]) == ("50", "500")
    assert found["response-by-rcode"] == [
        {"name": "No Error", "value": "124"},
        {"name": "Query Refused", "value": "6"},
    ]


@pytest.mark.usefixtures("fleet")
def test_every_item_has_the_shape_of_its_type(ask: Caller) -> None:
    for item in ask.value("GET", "/statistics?includerings=false"):
        assert item.keys() == {"name", "type", "value"}
        assert item["type"] == ("StatisticItem" if isinstance(item["value"], str) else "MapStatisticItem")


@pytest.mark.usefixtures("fleet")
def test_one_statistic_can_be_asked_for(ask: Caller) -> None:
    assert ask.value("GET", "/statistics?statistic=udp-queries") == [
        {"name": "udp-queries", "type": "StatisticItem", "value": "130"}
    ]


@pytest.mark.parametrize("name", ["nope", "response-by-rcode", "%00"])
def test_an_unknown_one_is_refused(name: str, ask: Caller) -> None:
    assert ask.error("GET", f"/statistics?statistic={name}") == "Unknown statistic name"


def test_a_fleet_that_nobody_heard_of_has_counted_nothing(ask: Caller) -> None:
    found = by_name(ask.value("GET", "/statistics"))
    assert found.pop("response-by-rcode") == []
    assert set(found.values()) == {"0"}


def test_without_redis_the_answer_is_empty_and_not_an_error(ask: Caller, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert by_name(ask.value("GET", "/statistics"))["udp-queries"] == "0"


def test_a_token_that_may_not_see_nodes_sees_no_numbers_of_theirs(bob: User) -> None:
    assert caller(bob).error("GET", "/statistics", status=403)
