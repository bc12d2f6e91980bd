"""Rules and dashboards name only metrics that the panel and agents export."""

import json
from pathlib import Path

import pytest

from dnspanel.monitoring.metrics import exposition
from replication.agent.agent_metrics import MetricsServer
from replication.agent.powerdns.observe import Counters
from replication.wire.protocol import Status
from tests.deploy.exported import DASHBOARDS, dashboard_expressions, exported, named, rule_expressions
from tests.people import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def known() -> set[str]:
    status = Status("ns1", None, b"", b"", 4, "new")
    counters = Counters(0, 0, 1, 5, 6, 1, 2, 3, 4, 1500, 1 << 20, {"NOERROR": 11})
    with MetricsServer(("127.0.0.1", 0), status=lambda: status, counters=lambda: counters) as server:
        return exported(exposition(NOW).decode()) | exported(server.exposition().decode())


def test_rules_name_only_what_is_exported(known: set[str]) -> None:
    assert named(rule_expressions()) - known == set()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_dashboards_name_only_what_is_exported(path: Path, known: set[str]) -> None:
    names = named(dashboard_expressions(path))
    assert len(names) > 15
    assert names - known == set()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_dashboards_are_whole(path: Path) -> None:
    board = json.loads(path.read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    for panel in board["panels"]:
        position = panel["gridPos"]
        assert position["x"] + position["w"] <= 24
        assert panel["type"] == "row" or panel["targets"]
    taken = [(x, y) for panel in board["panels"] for p in [panel["gridPos"]]
             for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]  # fmt: skip
    assert len(taken) == len(set(taken)), "panels lie on one another"
    assert {variable["name"] for variable in board["templating"]["list"]} >= {"datasource"}


def test_there_are_two_dashboards() -> None:
    assert [path.name for path in DASHBOARDS] == ["fleet.json", "node.json"]
