"""Parts of a running stack die or lose data while edits continue. Afterward all promises hold."""

from collections.abc import Callable

import pytest

from dnspanel.demo.stack import Stack
from tests.faults.conftest import NewChecker
from tests.stack import until

pytestmark = pytest.mark.faults

OF_PANEL = ("publish", "push", "beat", "collector", "update", "web")


def kill_now(stack: Stack, name: str) -> None:
    """Kill the process, after waiting for its restart if it was just killed."""

    def killed() -> bool:
        try:
            stack.supervisor.kill(name)
        except ProcessLookupError:
            return False
        return True

    until(killed, seconds=30, what=f"{name} to kill")


def kill(*names: str) -> Callable[[Stack], None]:
    def outage(stack: Stack) -> None:
        for name in names:
            kill_now(stack, name)

    outage.__name__ = f"kill_{names[0]}" if len(names) == 1 else "kill_every_process_of_the_panel"
    return outage


# Processes that no row of the fault table kills.
OUTAGES = [kill("push"), kill(*OF_PANEL)]


@pytest.mark.turn(2, reason="processes that are killed while edits go on")
@pytest.mark.sample(1, reason="processes that are killed while edits go on")
@pytest.mark.parametrize("outage", OUTAGES, ids=lambda outage: outage.__name__)
def test_everything_converges_after(outage: Callable[[Stack], None], faulty: Stack, new_checker: NewChecker) -> None:
    with new_checker() as checker:
        for _ in range(2):
            checker.more(10)
            outage(faulty)
        checker.more(10)
    checker.judge()


@pytest.mark.turn(2, reason="edits while everything else is dead")
def test_edits_are_saved_with_everything_else_dead(faulty: Stack, new_checker: NewChecker) -> None:
    agents = [f"{name}-agent" for name in faulty.server_names]
    dead = ["redis", "publish", "push", "beat", "collector", *agents]
    with new_checker() as checker:
        faulty.supervisor.stop(dead)
        try:
            checker.more(20)
        finally:
            faulty.supervisor.start(dead)
    checker.judge()
    assert max(checker.silent.values()) < 10, f"a name server was silent: {checker.silent}"
