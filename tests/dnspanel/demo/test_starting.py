"""Tests of messages during a stack's start: the process that is awaited, and the log of one that failed."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo.starting import NotUp, Starting
from dnspanel.demo.supervision import NotStarted, Supervisor

COMMANDS = {
    "slow": "sleep 1000",
    "broken": 'sh -c "echo no such library >&2; exit 3"',
    "broken-late": 'sh -c "sleep 0.6; echo the database is of another release; exit 1"',
    "other": "sleep 1000",
}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supervisor(directory: Path) -> Iterator[Supervisor]:
    made = Supervisor(directory, run=directory, commands=COMMANDS)
    made.open(env=os.environ)
    yield made
    made.close()


@pytest.fixture
def starting(supervisor: Supervisor, said: list[str]) -> Starting:
    return Starting(supervisor, say=said.append)


def test_a_process_that_is_up_is_not_waited_for(starting: Starting, said: list[str]) -> None:
    starting.wait("slow", lambda: True)
    assert (said, starting.ends) == ([], {})


def test_a_slow_process_is_waited_for_and_named(
    starting: Starting, supervisor: Supervisor, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dnspanel.demo.starting.PROGRESS_SECONDS", 0.2)
    supervisor.start(["slow"])
    starting.wait("slow", lambda: len(said) > 1)
    assert [text.startswith("Waiting for slow since ") for text in said] == [True, True]
    assert str(supervisor.logs / "slow.log") in said[0]


@pytest.mark.parametrize(
    ("name", "last_word"), [("broken", "no such library"), ("broken-late", "the database is of another release")]
)
@pytest.mark.parametrize("waited_for", ["the same", "other"])
def test_a_process_that_ends_again_and_again_is_named_with_its_own_log(
    starting: Starting, supervisor: Supervisor, name: str, last_word: str, waited_for: str
) -> None:
    """The error comes long before the timeout, even if another process is awaited."""
    supervisor.start([name, "other"])
    with pytest.raises(NotUp) as caught:
        starting.wait(name if waited_for == "the same" else "other", lambda: False)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"{name} ended 3 times while it started. The end of ")
    assert f"{name}.log" in lines[0]
    assert lines[-1] == last_word


def test_a_process_that_needs_too_long_is_named_with_its_own_log(starting: Starting, supervisor: Supervisor) -> None:
    supervisor.start(["slow"])
    with pytest.raises(NotUp, match=r"^slow did not start within 0 s\. The end of .*slow\.log:\n\(nothing\)$"):
        starting.wait("slow", lambda: False, seconds=0.1)


def test_a_process_that_only_began_did_not_end(starting: Starting, supervisor: Supervisor) -> None:
    """Regression test: `./dev run` reported that every process had ended 0 times."""
    starting.look()
    supervisor.start(["slow", "other"])
    starting.look()
    assert starting.ends == {}
    assert list(starting.ends) == []


def test_one_end_is_counted_and_forgiven(starting: Starting, supervisor: Supervisor) -> None:
    supervisor.start(["slow", "other"])
    starting.look()
    killed = supervisor.kill("slow")
    supervisor.wait_for_another("slow", than=killed)
    starting.look()
    starting.look()
    assert starting.ends == {"slow": 1}


def test_a_supervisor_that_is_gone_is_said_at_once(starting: Starting, supervisor: Supervisor) -> None:
    process = supervisor._process
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait()
    began = time.monotonic()
    with pytest.raises(NotStarted, match=r"The process supervisor stopped\. The end of .*supervisord\.log:"):
        starting.wait("slow", lambda: time.monotonic() > began + 60)
