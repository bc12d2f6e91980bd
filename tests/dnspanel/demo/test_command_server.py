"""Tests of commands in forks of a server: output, exit code, and a server that isn't available."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dnspanel.demo import command_server
from dnspanel.demo.command_server import Ended, ask


@contextmanager
def server(path: Path, *, run: Callable[[Sequence[str]], int], is_current: bool = True) -> Iterator[None]:
    """Run a server in a fork of this process."""
    listener = command_server.listen(path)
    pid = os.fork()
    if pid == 0:
        try:
            command_server.serve(listener, run=run, is_current=lambda: is_current)
        finally:
            os._exit(1)
    listener.close()
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def print_arguments(words: Sequence[str]) -> int:
    os.write(1, " ".join(words).encode())
    os.write(2, str(os.getpid()).encode())
    return len(words)


def test_a_command_is_a_process_whose_status_and_output_come_back(directory: Path) -> None:
    path = directory / "socket"
    with server(path, run=print_arguments):
        first, second = ask(path, ["a", "ü b"]), ask(path, ["c"])
    assert first is not None
    assert second is not None
    assert (first.status, first.out, second.status, second.out) == (2, "a ü b", 1, "c")
    assert len({first.err, second.err, str(os.getpid())}) == 3


def test_a_command_that_is_killed_has_failed(directory: Path) -> None:
    path = directory / "socket"
    with server(path, run=lambda words: os.kill(os.getpid(), signal.SIGKILL) or 0):
        assert ask(path, ["a"]) == Ended(1, "", "It ended without an answer.")


def test_changed_code_is_not_run(directory: Path) -> None:
    path = directory / "socket"
    with server(path, run=print_arguments, is_current=False):
        assert ask(path, ["a"]) is None


def test_a_server_that_is_gone_runs_nothing(directory: Path) -> None:
    path = directory / "socket"
    assert ask(path, ["a"]) is None
    with server(path, run=print_arguments):
        pass
    assert ask(path, ["a"]) is None
