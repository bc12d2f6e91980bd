"""The dashboard's fleet card with the sums of all nodes' measurements."""

import pytest
from django.test import override_settings
from django.utils import timezone

from dnspanel.fleet import telemetry
from dnspanel.fleet.reads.queries import head, node_statuses
from dnspanel.fleet.telemetry import Sample
from dnspanel.web.dashboard import fleet_now as module
from dnspanel.web.dashboard.fleet_now import FleetNow, fleet_now
from tests.dnspanel.fleet.conftest import MakeNode

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("live_redis")]


def sample(at: int, questions: int, latency: int) -> Sample:
    rcodes = {"NOERROR": questions - 10, "NXDOMAIN": 10}
    return Sample(at, 1.0, 1000, questions, 0, rcodes, 90, 10, 5, 5, latency, 48_000_000)


def card() -> FleetNow:
    return fleet_now(node_statuses(now=timezone.now()), head())


def test_numbers_of_all_nodes_are_summed(active_node: MakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [active_node(f"ns{number}") for number in (1, 2, 3)]
    now = int(timezone.now().timestamp())
    telemetry.keep_samples(node_id=nodes[0].pk, samples=[sample(now - 2, 100, 300), sample(now - 1, 120, 300)])
    telemetry.keep_samples(node_id=nodes[1].pk, samples=[sample(now - 2, 50, 900), sample(now - 1, 80, 900)])
    monkeypatch.setattr(module, "MOST_NODES", 2)
    found = card()
    assert (found.qps, found.slowest, found.more, len(found.nodes)) == ("200", "ns2, 0.90 ms", 1, 2)
    assert [part.rcode for part in found.bar] == ["noerror", "nxdomain"]
    assert [part.share for part in found.bar] == ["90 %", "10 %"]
    assert found.spark_top == "200"
    assert len(found.spark) == 1
    assert found.has_numbers


def test_without_redis_the_card_says_so(active_node: MakeNode) -> None:
    active_node("ns1")
    with override_settings(REDIS_URL="redis://127.0.0.1:1/0"):
        found = card()
    assert (found.qps, found.slowest, found.bar, found.has_numbers) == ("–", "", (), False)
