"""Run management commands in forked processes, so that commands don't have to load Django again.

The supervisord of a stack forks the server after it has loaded the panel (`dnspanel.demo.forking`). Each connection to
the server's socket is one command: a line of JSON with its arguments, `["manage.py", "migrate"]`. The reply is a line
of JSON with the result, or `null` if the code has changed since the server loaded it. If there is no server, the caller
runs the command itself.
"""

import json
import os
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

SOCKET_NAME = "commands.sock"


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command: its exit status and its output."""

    status: int
    out: str
    err: str


def ask(path: Path, words: Sequence[str]) -> Ended | None:
    """Run a command on the server and return its result, or None if there is no server or its code is outdated.

    If the server doesn't reply, for example because the command's process died, the status is 1.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return None
        with sock.makefile("rw") as lines:
            lines.write(json.dumps(list(words)) + "\n")
            lines.flush()
            answer = lines.readline()
    if not answer:
        return Ended(1, "", "It ended without an answer.")
    ended = json.loads(answer)
    return Ended(**ended) if ended else None


def listen(path: Path) -> socket.socket:
    """Return a socket that accepts connections at this path. The path must not exist."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


def serve(listener: socket.socket, *, run: Callable[[Sequence[str]], int], is_current: Callable[[], bool]) -> None:
    """Call `run` for each requested command in its own fork, and reply with the result. Never return.

    `run` returns the exit status. `is_current` returns True if the loaded code hasn't changed.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel then reaps ended forks
    while True:
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                _answer(connection, run=run, is_current=is_current)


def _answer(connection: socket.socket, *, run: Callable[[Sequence[str]], int], is_current: Callable[[], bool]) -> None:
    """Run the requested command and reply with the result, or `null` if the code has changed. End this process."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection.makefile("rw") as lines:
            words = json.loads(lines.readline())
            answer = None
            if is_current():
                outputs = [os.memfd_create(name) for name in ("out", "err")]
                for number, output in enumerate(outputs, start=1):
                    os.dup2(output, number)
                status = run(words)
                answer = {"status": status} | dict(zip(("out", "err"), map(_text, outputs), strict=True))
            lines.write(json.dumps(answer) + "\n")
    finally:
        os._exit(0)


def _text(output: int) -> str:
    return os.pread(output, os.fstat(output).st_size, 0).decode(errors="replace")
