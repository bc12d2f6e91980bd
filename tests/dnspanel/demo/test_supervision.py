"""Tests of Procfile processes: parsed, started, restarted, and always stopped."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo import supervision
from dnspanel.demo.stack import PANEL
from dnspanel.demo.supervision import Supervisor


@pytest.fixture
def supervisor(directory: Path) -> Iterator[Supervisor]:
    commands = {
        "one": "sleep 1000",
        "two": "sleep 1000",
        "broken": "false",
        "chatty": """printf '%s\n' '100% "quoted"' "$WORD\"""",
    }
    made = Supervisor(directory, run=directory, commands=commands)
    made.open(env={**os.environ, "WORD": "words"})
    yield made
    made.close()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pid: int) -> None:
    deadline = time.monotonic() + 5
    while is_alive(pid):
        assert time.monotonic() < deadline, f"process {pid} is still there"
        time.sleep(0.02)


def wait_until_it_sleeps(pid: int | None) -> None:
    """Wait until the process runs `sleep`: a signal between fork and exec would be lost."""
    deadline = time.monotonic() + 5
    while not Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"sleep"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_procfile_names_every_process_of_the_panel_and_of_its_servers() -> None:
    nodes = [f"{name}-{part}" for name in ("ns1", "ns2", "ns3", "ring0") for part in ("pdns", "agent")]
    front = ["front1-agent", "front1-dnsdist"]
    assert list(supervision.procfile()) == ["postgres", "redis", *PANEL, *nodes, *front, "traffic"]


def test_nothing_runs_before_it_is_started(supervisor: Supervisor) -> None:
    assert set(supervisor.states().values()) == {"STOPPED"}
    assert supervisor.pid("one") is None


def test_a_killed_process_is_back_within_two_seconds(supervisor: Supervisor) -> None:
    supervisor.start(["one"])
    killed = supervisor.kill("one")
    assert supervisor.wait_for_another("one", than=killed, seconds=2.5) != killed


def test_a_process_that_fails_again_and_again_is_not_given_up(supervisor: Supervisor) -> None:
    supervisor.start(["broken"])
    time.sleep(3)  # supervisord gives up after three starts with pauses of at least a second
    assert supervisor.states()["broken"] != "FATAL"


def test_a_stopped_process_stays_away_until_it_is_started(supervisor: Supervisor) -> None:
    supervisor.start(["one"])
    wait_until_it_sleeps(supervisor.pid("one"))
    supervisor.stop(["one"])
    time.sleep(1.5)  # a killed process would be back by then
    assert supervisor.pid("one") is None
    supervisor.start(["one"])
    assert supervisor.pid("one")


def test_starting_twice_or_stopping_twice_does_no_harm(supervisor: Supervisor) -> None:
    supervisor.start(["one"])
    pid = supervisor.pid("one")
    supervisor.start(["one"])
    assert supervisor.pid("one") == pid
    wait_until_it_sleeps(pid)
    supervisor.stop(["one"])
    supervisor.stop(["one"])


def test_quotes_percent_signs_and_variables_of_a_command_reach_the_shell(supervisor: Supervisor) -> None:
    supervisor.start(["chatty"])
    log = supervisor.logs / "chatty.log"
    deadline = time.monotonic() + 5
    while not (log.exists() and log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert log.read_text().splitlines()[:2] == ['100% "quoted"', "words"]


def test_closing_stops_everything(supervisor: Supervisor) -> None:
    supervisor.start(["one", "two"])
    pids = [supervisor.pid("one"), supervisor.pid("two")]
    supervisor.close()
    assert not supervisor.is_running
    for pid in pids:
        assert pid is not None
        assert not is_alive(pid)


def test_a_killed_supervisor_leaves_no_orphans(supervisor: Supervisor) -> None:
    supervisor.start(["one"])
    pid = supervisor.pid("one")
    assert pid is not None
    wait_until_it_sleeps(pid)  # only then does it ask the kernel for a signal
    assert supervisor._process is not None
    os.kill(supervisor._process.pid, signal.SIGKILL)
    wait_until_dead(pid)


def test_no_process_runs_as_root(supervisor: Supervisor) -> None:
    supervisor.start(["one"])
    pid = supervisor.pid("one")
    assert Path(f"/proc/{pid}").stat().st_uid != 0
