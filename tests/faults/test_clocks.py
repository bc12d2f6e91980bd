"""Row 33: wrong clocks in the panel and on a node, and a clock set back under load."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from dnspanel.demo.supervision import procfile
from tests.faults import acts, clocks
from tests.faults.checker import Panels
from tests.faults.conftest import NewChecker, stopped
from tests.faults.member import Member
from tests.faults.panel import Panel
from tests.stack import until

pytestmark = pytest.mark.faults

HOUR, DAY = 3600, 86_400


@pytest.fixture(autouse=True)
def _fake_clocks() -> None:
    try:
        clocks.shifted(0)
    except clocks.NoFakeClock as exc:
        pytest.skip(str(exc))


@contextlib.contextmanager
def under(stack: Stack, env: Mapping[str, str], *names: str) -> Iterator[None]:
    """Restart these panel processes with additional environment variables inside the block."""
    with stopped(stack, *names), contextlib.ExitStack() as running:
        for name in names:
            out = running.enter_context((stack.supervisor.logs / f"{name}-clock.log").open("ab"))
            words = ["env", *(f"{key}={value}" for key, value in env.items()), "sh", "-c", f"exec {procfile()[name]}"]
            process = subprocess.Popen(
                [*unprivileged.prefix(), "setpriv", "--pdeathsig=KILL", "--", *words],
                env=stack.env,
                cwd=unprivileged.CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
            running.callback(process.wait)
            running.callback(process.kill)
        yield


@pytest.mark.row(33)
@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_node_whose_clock_is_wrong_is_in_sync_all_the_same(
    seconds: int, panel: Panel, member: Member, new_checker: NewChecker
) -> None:
    member.kill_agent()
    member.start_agent(env=clocks.shifted(seconds))
    with new_checker(member.server) as checker:
        checker.more(20)
        member.wait_until_in_sync()
        sentence = str(panel.do(acts.positions)["nodes"][member.name][3])
        assert "day" not in sentence
        assert "-" not in sentence.replace("dns-", "")
    checker.judge()


@pytest.mark.row(33)
@pytest.mark.parametrize(
    ("days", "words"), [(400, "the node’s clock is 400 days ahead"), (-400, "the node’s clock is 400 days behind")]
)
def test_a_node_for_whose_clock_the_panels_certificate_is_not_valid_says_so(
    days: int, words: str, panel: Panel, member: Member
) -> None:
    """Previously the node was *offline* without a reason."""

    def display() -> tuple[str, str]:
        _, _, word, sentence = panel.do(acts.positions)["nodes"][member.name]
        return word, str(sentence)

    member.kill_agent()
    member.start_agent(env=clocks.shifted(days * DAY))
    until(lambda: display()[0] == "offline" and words in display()[1], seconds=90, what=lambda: str(display()))
    member.kill_agent()
    member.start_agent()
    member.wait_until_in_sync()


@pytest.mark.row(33)
def test_a_clock_that_is_set_back_under_load_changes_no_order(
    faulty: Stack, panels: Panels, member: Member, new_checker: NewChecker
) -> None:
    file = faulty.directory / "clock"
    clocks.set_clock(file, HOUR)
    member.kill_agent()
    member.start_agent(env=clocks.settable(file))
    with new_checker(member.server) as checker:
        checker.more(15)
        clocks.set_clock(file, -HOUR)
        checker.more(40)
        clocks.set_clock(file, 0)
        member.wait_until_in_sync()
    checker.judge()


@pytest.mark.row(33)
@pytest.mark.parametrize("seconds", [DAY, -DAY])
def test_a_panel_whose_clock_is_a_day_off_keeps_the_order(
    seconds: int, faulty: Stack, panels: Panels, new_checker: NewChecker
) -> None:
    """A day ahead, all works. A day behind, certificates are not valid yet, so nothing is delivered or lost."""
    env = clocks.shifted(seconds)
    with Panel(faulty, env=env) as edits:
        wrong = Panels(panels.test, edits, panels.watch)
        with under(faulty, env, "publish", "push"):
            checker = new_checker(panels=wrong)
            with checker:
                checker.more(20)
                if seconds > 0:
                    sequence = checker.edits[-1].sequence or 0
                    checker.wait_until_everywhere(sequence, names=faulty.node_names)
        checker.judge()
