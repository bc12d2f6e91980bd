"""A process with the panel's environment that runs functions. It starts Django once, and forks for each call.

    python -m tests.interpreter

reads one request per line, `{"name": "catalogs.follow", "args": [...]}`, runs that function of `tests.inside`, and
answers with one line, `{"status": 0, "result": ..., "out": ..., "err": ...}`.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from dnspanel.demo import unprivileged


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a call: its exit status (negative: the signal that killed it), its result and its output."""

    status: int
    result: Any
    out: str
    err: str


class Interpreter:
    """An interpreter process, started by the first call. Threads can share it, and their calls run one at a time."""

    def __init__(self, env: Mapping[str, str], *, prefix: Sequence[str] = ()) -> None:
        self._env = dict(env)
        self._prefix = prefix
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def run(self, name: str, *args: Any) -> Ended:
        """Run the function of `tests.inside` with this name (module and function), and return the outcome."""
        with self._lock:
            process = self._process = self._process or self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"name": name, "args": args}) + "\n")
            process.stdin.flush()
            return Ended(**json.loads(process.stdout.readline()))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        command = ["setpriv", "--pdeathsig=KILL", "--", sys.executable, "-m", "tests.interpreter"]
        return subprocess.Popen(
            [*self._prefix, *command],
            env=self._env,
            cwd=unprivileged.CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def serve() -> None:
    """Run the requests from standard input until it ends."""
    import django

    django.setup()
    for line in sys.stdin:
        request = json.loads(line)
        with contextlib.ExitStack() as files:
            out, err, result = (files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3))
            status = _run(request["name"], request["args"], out, err, result)
            returned = json.loads(_text(result) or "null")
            answer = {"status": status, "result": returned, "out": _text(out), "err": _text(err)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _run(name: str, args: Sequence[Any], out: IO[str], err: IO[str], result: IO[str]) -> int:
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    status = 1
    try:
        for file, number in ((out, 1), (err, 2)):
            os.dup2(file.fileno(), number)
        module, _, function = name.partition(".")
        returned = getattr(importlib.import_module(f"tests.inside.{module}"), function)(*args)
        result.write(json.dumps(returned, default=str))
        result.flush()
        status = 0
    except SystemExit as exc:
        status = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


if __name__ == "__main__":
    serve()
