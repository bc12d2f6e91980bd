"""Check the panel's parts in threads, so that callers wait for at most PATIENCE_SECONDS."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

# Seconds that a caller waits for a check. A part that does not answer in time counts as faulty.
PATIENCE_SECONDS = 0.8
NO_ANSWER = f"did not answer within {PATIENCE_SECONDS:g} s"


class State(StrEnum):
    """The state of a part. A part that can't be checked because another part is unreachable is UNKNOWN, not FAULT."""

    OK, FAULT, UNKNOWN = "ok", "fault", "unknown"


@dataclass(frozen=True, slots=True)
class Part:
    """The state of one part of the panel. Only operators can see `reason`, because it can contain addresses."""

    state: State
    reason: str = ""


OK = Part(State.OK)
Found = Mapping[str, Part]


class Check:
    """A check of some parts. It runs in at most one thread of the process at a time.

    Callers that arrive during a run wait for its result. A result is reused for `fresh_seconds`. If no result arrives
    in time, callers get the states in `silence`. If the check raises an error, all its parts are faulty.
    """

    def __init__(self, silence: Mapping[str, State], ask: Callable[[], Found], *, fresh_seconds: float = 0.0) -> None:
        self._silence, self._ask, self._fresh_seconds = silence, ask, fresh_seconds
        self._lock = threading.Lock()
        self._run: _Run | None = None

    def begin(self) -> "_Run":
        """Start the check in a thread, unless it is running or its last result is still fresh. Return immediately."""
        with self._lock:
            run = self._run
            if run is None or (run.ended.is_set() and time.monotonic() - run.ended_at >= self._fresh_seconds):
                run = self._run = _Run()
                threading.Thread(target=self._answer, args=(run,), name="health check", daemon=True).start()
            return run

    def wait_for_answer(self) -> Found:
        """Return the last result if it is fresh, or else the next one, or `silence` if none arrives in time."""
        run = self.begin()
        # Count from the run's start: if a check hangs, later callers do not wait again.
        if run.ended.wait(max(0.0, run.began_at + PATIENCE_SECONDS - time.monotonic())):
            return run.found
        return {name: Part(state, NO_ANSWER) for name, state in self._silence.items()}

    def _answer(self, run: "_Run") -> None:
        try:
            run.found = self._ask()
        except Exception as exc:
            run.found = dict.fromkeys(self._silence, Part(State.FAULT, reason_of(exc)))
        run.ended_at = time.monotonic()
        run.ended.set()


class _Run:
    def __init__(self) -> None:
        self.began_at = time.monotonic()
        self.ended_at = 0.0
        self.ended = threading.Event()
        self.found: Found = {}


def reason_of(exc: BaseException) -> str:
    """Return an exception's class and the first line of its message, at most 300 characters."""
    return f"{type(exc).__name__}: {exc}".splitlines()[0].strip()[:300]
