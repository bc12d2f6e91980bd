"""Prometheus rules, checked by Prometheus's own tool, with their test cases."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.exported import RULES, named, rule_expressions

PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian package prometheus) is not installed")


def promtool(*arguments: str, cwd: Path = RULES.parent) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(PROMTOOL), *arguments], cwd=cwd, capture_output=True, text=True, timeout=300)


def test_the_rules_are_rules() -> None:
    done = promtool("check", "rules", "alerts.yml")
    assert (done.returncode, done.stderr) == (0, ""), done
    assert f"{len(rule_expressions())} rules found" in done.stdout
    assert len(named(rule_expressions())) > 25


@pytest.mark.parametrize("cases", ["alerts_test.yml", "alerts_days_test.yml"])
def test_the_rules_do_what_their_cases_say(cases: str) -> None:
    done = promtool("test", "rules", cases)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.turn(3, reason="alert rules whose cases are wrong")
def test_a_case_that_is_wrong_fails(tmp_path: Path) -> None:
    """Shows that the rules' test cases can fail."""
    for file in ("alerts.yml", "alerts_test.yml"):
        text = (RULES.parent / file).read_text()
        (tmp_path / file).write_text(text.replace("dnspanel_node_lag_seconds > 30", "dnspanel_node_lag_seconds > 300"))
    assert promtool("test", "rules", "alerts_test.yml", cwd=tmp_path).returncode != 0


def test_the_example_configuration_is_one(tmp_path: Path) -> None:
    for file in ("alerts.yml", "prometheus.yml"):
        shutil.copy(RULES.parent / file, tmp_path)
    (tmp_path / "token").write_text("dnsp_x")
    done = promtool("check", "config", "prometheus.yml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 rule files found" in done.stdout
