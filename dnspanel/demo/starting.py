"""Wait for processes to start, and print progress. Errors contain the end of the failed process's log."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from dnspanel.demo.supervision import NotStarted, Supervisor, last_lines

# Ten Django processes need minutes on a small machine that is busy with something else. A process that can never start
# is detected much earlier, because it ends repeatedly.
LONGEST_START = 900.0
# A process can end because of a race. supervisord then restarts it.
ENDS_ALLOWED = 2
PROGRESS_SECONDS = 10.0
LOOK_SECONDS = 0.5


class NotUp(Exception):
    """Raised if a process ended repeatedly while it started, or took too long to start."""

    def __init__(self, name: str, what: str, *, log: Path) -> None:
        super().__init__("\n".join([f"{name} {what}. The end of {log}:", *last_lines(log)]))


class Starting:
    """The start of a supervisor's processes. `ends` counts how often each process has ended since the first check."""

    def __init__(self, supervisor: Supervisor, *, say: Callable[[str], None]) -> None:
        self.ends: Counter[str] = Counter()
        self._supervisor = supervisor
        self._say = say
        self._runs: dict[str, tuple[int, int]] = {}

    def wait(self, name: str, is_up: Callable[[], bool], *, seconds: float = LONGEST_START) -> None:
        """Wait until the process is up. Raise NotUp after `seconds` seconds, or the errors of `look`."""
        began = time.monotonic()
        next_look, next_progress = began, began + PROGRESS_SECONDS
        while not is_up():
            now = time.monotonic()
            if now >= next_look:
                self.look()
                next_look = now + LOOK_SECONDS
            if now >= next_progress:
                self._say(f"Waiting for {name} since {now - began:.0f} s. Its log: {self._log(name)}")
                next_progress = now + PROGRESS_SECONDS
            if now - began > seconds:
                raise NotUp(name, f"did not start within {seconds:.0f} s", log=self._log(name))
            time.sleep(0.05)

    def look(self) -> None:
        """Count newly ended processes. Raise NotUp if one ended too often, or NotStarted if supervisord has ended."""
        if not self._supervisor.is_running:
            raise NotStarted(log=self._supervisor.log)
        for name, run in self._supervisor.runs().items():
            before = self._runs.get(name, run)
            was_replaced = before[0] != run[0] != 0 or (before[1] != run[1] and before[1] and run[1])
            if was_replaced and before[0]:  # otherwise this is the first start
                self.ends[name] += 1
                if self.ends[name] > ENDS_ALLOWED:
                    raise NotUp(name, f"ended {self.ends[name]} times while it started", log=self._log(name))
            self._runs[name] = run

    def _log(self, name: str) -> Path:
        return self._supervisor.logs / f"{name}.log"
