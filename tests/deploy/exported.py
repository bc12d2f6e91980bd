"""The metrics that rules and dashboards name, and the metrics of an exposition."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
DASHBOARDS = sorted((DEPLOY / "grafana").glob("*.json"))
# Prometheus's own metric for successful scrapes.
_OWN = {"up"}


def rule_expressions() -> list[str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule["expr"] for group in groups for rule in group["rules"]]


def dashboard_expressions(path: Path) -> list[str]:
    """Return the expressions of a dashboard's panels and variables."""
    board: dict[str, Any] = json.loads(path.read_text())
    panels = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    variables = [variable["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    return [*panels, *variables]


def named(expressions: list[str]) -> set[str]:
    """Return the names of metrics in these expressions."""
    return {name for expression in expressions for name in re.findall(r"\bdnspanel_\w+", expression)} - _OWN


def exported(exposition: str) -> set[str]:
    """Return the names of an exposition's metrics, including those without samples."""
    return set(re.findall(r"^# TYPE (\S+) ", exposition, re.MULTILINE))
