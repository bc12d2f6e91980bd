"""A process inside a stack's panel that runs acts for tests, so that Django starts only once.

    python -m tests.faults.panel

reads one request per line, `{"act": "module:function", "facts": {...}}`, and answers with a line, `{"done": ...}` or
`{"error": class, "message": words}`. The functions are in `acts`; facts and results are JSON values.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack

Result = TypeVar("Result")


class ActFailed(Exception):
    """An act raised an exception. `kind` is the exception's class name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Panel:
    """A panel process. Threads can share it, and run their acts one after another."""

    def __init__(self, stack: Stack, *, env: Mapping[str, str] | None = None) -> None:
        self._stack, self._extra = stack, dict(env or {})
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id. Starts the process if it doesn't run."""
        return self._started().pid

    def do(self, act: Callable[..., Result], /, **facts: Any) -> Result:
        """Run a function of `acts` in the panel. Raise ActFailed if it raises, or PanelGone if the process dies."""
        request = json.dumps({"act": f"{act.__module__}:{act.__qualname__}", "facts": facts})
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(request + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if not answer:
                status = process.wait()
                self.close()
                raise PanelGone(status)
        reply = json.loads(answer)
        if "error" in reply:
            raise ActFailed(reply["error"], reply["message"])
        done: Result = reply["done"]
        return done

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(OSError):  # unread answers are no longer needed
                    if pipe is not None:
                        pipe.close()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            # Killed with the test run, like all processes of the supervisor. Preloaded libraries are only for the
            # program, not for the programs that switch the user.
            variables = ["env", *(f"{name}={value}" for name, value in self._extra.items())]
            command = ["setpriv", "--pdeathsig=KILL", "--", *variables, sys.executable, "-m", "tests.faults.panel"]
            self._process = subprocess.Popen(
                [*unprivileged.prefix(), *command],
                env=self._stack.env,
                cwd=unprivileged.CHECKOUT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process


class PanelGone(Exception):
    """The process was killed during an act, so the act's outcome is unknown."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the process ended with status {status}")


def serve() -> None:
    """Run the acts requested on standard input until it ends."""
    import django

    django.setup()
    from django.db import close_old_connections

    # Printed output of other code must not be mistaken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        module, _, name = request["act"].partition(":")
        close_old_connections()
        try:
            reply = {"done": getattr(importlib.import_module(module), name)(**request["facts"])}
        except Exception as exc:
            reply = {"error": type(exc).__name__, "message": str(exc)}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
