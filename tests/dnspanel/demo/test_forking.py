"""Tests of the Procfile commands that run as forks of supervisord, and of the end of such a fork."""

import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dnspanel.demo import forking
from dnspanel.demo.forking import Forked, Loaded, forked_of
from dnspanel.demo.stack import PANEL
from dnspanel.demo.supervision import Supervisor, procfile


def argv_of(command: str) -> list[str]:
    """Return the command line that supervisord would execute for a Procfile command."""
    supervisor = Supervisor(Path("/stack"), run=Path("/stack"), commands={})
    return shlex.split(supervisor._program("name", command)["command"])


def test_every_process_of_the_panel_is_a_fork_and_no_other_is() -> None:
    forked = [name for name, command in procfile().items() if forked_of(argv_of(command), {})]
    assert forked == [name for name in PANEL if name != "proxy"]


def test_a_fork_has_the_words_of_the_command_with_variables_replaced() -> None:
    command = (
        'python -m dnspanel.watchdog bulk -- nice -n 5 celery -A dnspanel --at "$PLACE" -c ${COUNT:-2} ${EMPTY:-3}'
    )
    assert forked_of(argv_of(command), {"PLACE": "a place", "COUNT": "7", "EMPTY": ""}) == Forked(
        "bulk", ("celery", "-A", "dnspanel", "--at", "a place", "-c", "7", "3"), 5, signal.SIGTERM
    )


@pytest.mark.parametrize(
    "command",
    [
        "celery -A dnspanel worker",
        "python -m dnspanel.watchdog proxy -- nginx",
        "python -m dnspanel.watchdog push -- celery -A dnspanel worker; true",
        "python -m dnspanel.watchdog push -- celery -A $(cat name)",
        "env A=b python -m dnspanel.watchdog push -- celery -A dnspanel worker",
    ],
)
def test_what_only_a_shell_understands_is_executed(command: str) -> None:
    assert forked_of(argv_of(command), {}) is None


def test_code_that_has_changed_since_it_was_loaded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = Loaded()
    assert not loaded.is_current()
    loaded.at = forking._newest_code()
    assert loaded.is_current()
    monkeypatch.setattr(forking, "_newest_code", lambda: loaded.at + 1)
    assert not loaded.is_current()


def raise_key_error() -> None:
    raise KeyError


@pytest.mark.parametrize(
    ("program", "status"),
    [
        (lambda: None, 0),
        (lambda: sys.exit(3), 3),
        (lambda: sys.exit("a reason"), 1),
        (lambda: sys.exit(), 0),
        (raise_key_error, 1),
    ],
)
def test_a_fork_ends_with_the_status_of_its_program(
    monkeypatch: pytest.MonkeyPatch, program: Callable[[], object], status: int
) -> None:
    monkeypatch.setattr("atexit._run_exitfuncs", lambda: None)
    monkeypatch.setattr("threading._shutdown", lambda: None)
    assert forking._run_to_end(program) == status


def test_a_fork_shows_its_own_command_and_environment(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        forking._show_command(["celery", "beat"])
        (tmp_path / "words").write_bytes(Path("/proc/self/cmdline").read_bytes())
        os._exit(0)
    os.waitpid(pid, 0)
    assert (tmp_path / "words").read_bytes().rstrip(b"\0") == b"celery\0beat"
