"""A real stack's metrics: all those that rules and dashboards use exist, and change."""

import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from dnspanel.demo.stack import Stack
from tests.deploy.exported import DASHBOARDS, dashboard_expressions, exported, named, rule_expressions
from tests.stack import ask_all, make_person, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow


def fetch(url: str, token: str = "") -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


def samples(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    make_person(stack, "scraper")
    return run_inside(stack, "tokens.make_token_for_metrics")


def test_everything_that_rules_and_dashboards_name_is_exported(stack: Stack, token: str) -> None:
    wait_until_in_sync(stack)
    there = exported(fetch(f"{stack.url}/metrics", token))
    for node in stack.nodes:
        there |= exported(fetch(f"http://127.0.0.1:{node.metrics_port}/metrics"))
    wanted = named(rule_expressions()).union(*(named(dashboard_expressions(path)) for path in DASHBOARDS))
    assert wanted - there == set()


def test_the_panel_and_the_agents_count_what_happens(stack: Stack, token: str) -> None:
    wait_until_in_sync(stack)

    def panel() -> dict[tuple[str, ...], float]:
        return samples(fetch(f"{stack.url}/metrics", token))

    def is_told() -> bool:
        found = panel()
        return all(found.get(("dnspanel_node_up", node.name)) == 1 for node in stack.nodes) and all(
            found.get(("dnspanel_node_disk_bytes", node.name), 0) > 0 for node in stack.nodes
        )

    until(is_told, seconds=20, what="the collector told of every node")
    before = panel()
    for _ in range(30):
        ask_all(stack, "www.example.test.")
    name = stack.nodes[0].name
    udp = ("dnspanel_node_queries_total", name, "udp")
    until(lambda: panel()[udp] >= before.get(udp, 0) + 30, seconds=15, what="the panel counts the questions")
    found = panel()
    assert found[("dnspanel_publications_total",)] == found[("dnspanel_node_position", name)]
    assert found[("dnspanel_heartbeat_timestamp_seconds", "watch")] > 0
    assert found[("dnspanel_heartbeat_timestamp_seconds", "collector")] > 0
    assert found[("dnspanel_push_latency_proofs",)] > 0
    own = samples(fetch(f"http://127.0.0.1:{stack.nodes[0].metrics_port}/metrics"))
    assert own[("dnspanel_agent_position",)] == found[("dnspanel_node_position", name)]
    assert own[("dnspanel_powerdns_queries_total", "udp")] >= 30
    assert own[("dnspanel_agent_memory_bytes",)] < 64 << 20
