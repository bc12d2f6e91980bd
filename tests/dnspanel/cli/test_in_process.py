"""Tests of the runner in the test's process: same result as a new process, and it always ends."""

import signal
import socket
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from dnspanel.zones.models import ChangeRun
from dnspanel.zones.runs import run_turns
from tests.dnspanel.cli import in_process
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import run_command, work_on


def test_both_ways_come_to_the_same(run: Run, run_apart: Run) -> None:
    assert run("zones", "create", "example.test").code == 0
    for words, input in (
        (["zones", "show", "example.test", "--output", "json"], None),
        (["zones", "delete", "example.test"], "n\n"),
        (["records", "set", "example.test", "www", "A", "-", "--ttl", "x"], "192.0.2.1\n"),
    ):
        assert run(*words, input=input) == run_apart(*words, input=input), words


def test_a_worker_that_fails_ends_the_command_that_waits_for_it(run: Run) -> None:
    def fail(number: int) -> None:
        raise ValueError(f"Run {number} does not work.")

    run("zones", "create", "a.test")
    with (
        pytest.raises(pytest.fail.Exception, match="does not work") as failed,
        contextmanager(work_on)(partial(run_turns.unfinished_ids, ChangeRun), fail),
    ):
        run("zones", "change", "-q", "zone:test", "--add-tag", "eu", "--job")
    assert isinstance(failed.value.__cause__, ValueError)
    assert run("whoami").code == 0


def test_a_command_that_does_not_end_fails_the_test(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(in_process, "LONGEST_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(pytest.fail.Exception, match="ran for more than"):
            run_command("whoami", environment={"DNSPANEL_URL": url, "DNSPANEL_TOKEN": "dnsp_x"}, home=tmp_path)
    assert signal.getsignal(signal.SIGALRM) is before
