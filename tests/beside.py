"""A pytest plugin that runs `./dev check` in parallel with a full test run. Its complaints fail the run.

The check has a lower priority than the tests. Its result is reported after the last test, as if it were a test.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.run_results import report_result, runs_everything

ROOT = Path(__file__).resolve().parents[1]
LOG = ROOT / "var" / "test" / "check.log"
PLUGIN = "beside-check"
COMMAND = ["./dev", "check"]
# Tests that only compute have 5. With 19, the check would hardly have started when the tests end.
NICE = 10
# A command that still runs this many seconds after the last test hangs, because it has the processors for itself.
LONGEST_WAIT = 600.0


class Beside:
    """The command that runs beside the tests of a session."""

    def __init__(self, command: list[str], *, log: Path, longest_wait: float = LONGEST_WAIT) -> None:
        self.command = command
        self.log = log
        self.longest_wait = longest_wait
        self.process: subprocess.Popen[bytes] | None = None
        self.cpu = 0.0
        self._started = 0.0

    # First, before pytest-xdist starts its processes.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                ["nice", "-n", str(NICE), *self.command],
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        result = yield
        has_ended = self._wait()
        seconds = time.monotonic() - self._started
        name, output = " ".join(self.command), self.log.read_text(errors="replace").strip()
        complaint = ""
        if not has_ended:
            complaint = f"{output}\n{name} still ran {self.longest_wait:g} s after the last test, and was killed"
        elif self.process is not None and self.process.returncode:
            complaint = f"{output}\n{name} ended with status {self.process.returncode}"
        report_result(session, name, complaint=complaint, seconds=seconds)
        return result

    def _wait(self) -> bool:
        """Wait until the command ends. Return False if it had to be killed, because it took too long."""
        assert self.process is not None
        until, pid = time.monotonic() + self.longest_wait, 0
        while not pid and time.monotonic() < until:
            pid, ended, usage = os.wait4(self.process.pid, os.WNOHANG)
            if not pid:
                time.sleep(0.05)
        has_ended = bool(pid)
        if not has_ended:
            os.killpg(self.process.pid, signal.SIGKILL)
            _, ended, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(ended)
        self.cpu = usage.ru_utime + usage.ru_stime
        return has_ended

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End the command if the session was interrupted."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if runs_everything(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Beside(COMMAND, log=LOG), PLUGIN)
