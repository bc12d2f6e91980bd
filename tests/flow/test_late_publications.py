"""Publications that don't reach the nodes: each process on the way hangs while edits arrive, and is reported."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dnspanel.demo.stack import Stack
from tests.stack import new_stack, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow

ZONE = "late.test."
EDITS = 10
LATE = {"panel.late", "panel.process:push", "panel.process:publish"}


@pytest.fixture(scope="module")
def canary_stack() -> Iterator[Stack]:
    """Start a stack with a canary, three nodes and one zone, and wait until no alert is open."""
    with new_stack("late", sample_zones=False, traffic=False) as stack:
        run_inside(stack, "stages.create", ZONE)
        wait_until_in_sync(stack, seconds=60)
        # A stack is a copy of one that ran earlier, so at first all its processes seem to have been away.
        until(lambda: look(stack)["alerts"] == {}, seconds=240, what="no alert is left of the start")
        yield stack


@contextmanager
def hanging(stack: Stack, process: str) -> Iterator[None]:
    """Stop the process inside the block. Afterward, wait until the fleet is in sync and no publication waits."""
    pid = stack.supervisor.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_until_in_sync(stack, seconds=90)
    until(lambda: look(stack)["place"] is None, seconds=30, what="nothing waits any more")


def look(stack: Stack) -> dict[str, Any]:
    found: dict[str, Any] = run_inside(stack, "late_publications.look")
    return found


def edit(stack: Stack, name: str) -> int:
    """Publish several edits of this name. Return the first sequence."""
    made = run_inside(stack, "stages.change_many_times", ZONE, f"{name}.{ZONE}", EDITS)
    return int(made[0])


@pytest.mark.sample(1, reason="places at which publications wait")
@pytest.mark.parametrize(
    ("process", "place", "words"), [("push", "push", "worker “push”"), ("publish", "encoder", "the encoder")]
)
def test_a_worker_that_hangs_is_named_by_page_alert_and_metrics(
    canary_stack: Stack, process: str, place: str, words: str
) -> None:
    """Previously, with the worker "push" stopped for seven minutes, pages said "Live 4 of 4", without an alert."""
    with hanging(canary_stack, process):
        first = edit(canary_stack, process)
        # The worker counts as working until it misses the next roll call.
        until(lambda: look(canary_stack)["place"] == [place, "", False], seconds=60, what=f"{process} is the place")
        run_inside(canary_stack, "late_publications.age", first, 70)
        until(lambda: any(words in each for each in look(canary_stack)["alerts"].values()), seconds=40, what="an alert")
        seen = look(canary_stack)
        assert sum(words in each for each in seen["alerts"].values()) == 1
        also = [key for key in seen["alerts"] if key.startswith("node.standing") or key == "panel.log_age"]
        assert not also, "one cause is one alert"
        assert (seen["pill"][0], words in seen["pill"][1]) == (0, True)
        [late] = [
            line for line in seen["metrics"].splitlines() if line.startswith("dnspanel_publications_late_seconds{")
        ]
        assert f'place="{place}"' in late
        assert float(late.split()[-1]) > 60
    until(lambda: not look(canary_stack)["alerts"].keys() & LATE, seconds=150, what="the alert is over")


@pytest.mark.sample(1, reason="places at which publications wait")
@pytest.mark.parametrize(("agent", "place"), [("ring0", "canary"), ("ns2", "node")])
def test_an_agent_that_hangs_is_named_and_is_one_alert(canary_stack: Stack, agent: str, place: str) -> None:
    with hanging(canary_stack, f"{agent}-agent"):
        first = edit(canary_stack, agent)
        until(lambda: look(canary_stack)["place"] == [place, agent, True], seconds=40, what=f"{agent} is the place")
        until(lambda: f"node.standing:{agent}" in look(canary_stack)["alerts"], seconds=40, what="an alert")
        run_inside(canary_stack, "late_publications.age", first, 600)
        seen = look(canary_stack)
        assert seen["alerts"][f"node.standing:{agent}"].startswith(f"{agent} is offline")
        assert f"{agent} offline" in seen["pill"][1]
        assert f'dnspanel_node_up{{node="{agent}"}} 0.0' in seen["metrics"]
        assert "panel.late" not in seen["alerts"]
    key = f"node.standing:{agent}"
    until(lambda: key not in look(canary_stack)["alerts"], seconds=150, what="the alert is over")
