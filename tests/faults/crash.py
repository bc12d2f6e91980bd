"""Kill a process at a system call of choice, without a hook in its code: `strace` attaches and injects the signal.

`count_calls` tells how many calls of each kind one operation makes, thread by thread; `at_call` kills the process
just before the n-th of them is carried out. Walking through all n hits every state that a crash can leave behind:
between two calls a process changes nothing that outlives it.
"""

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.hosts import is_alive
from tests.stack import until

ATTACH_SECONDS = 30.0
# Whole messages to PostgreSQL: a statement that its connection has not prepared yet stands before its values.
TRACED_BYTES = 16_384
_LINE = re.compile(r"(\d+) +(?:[\d.]+ +)?(\w+)\((.*)")


class NotAttached(Exception):
    """strace could not take hold of the process."""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call as strace prints it."""

    thread: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Point:
    """A place to crash at: before the n-th call of this name in the thread that does the work."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


@dataclass(slots=True)
class Trace:
    """What was called while strace was attached; complete once it let go. `output` is what it has written so far."""

    output: Path
    calls: list[Call] = field(default_factory=list)


@contextmanager
def traced(pids: Sequence[int], kinds: Sequence[str], *options: str) -> Iterator[Trace]:
    """Attach to these processes and all their threads inside the block."""
    with tempfile.TemporaryDirectory(prefix="strace-") as directory:
        output = Path(directory) / "calls"
        trace = Trace(output)
        command = [
            "strace",
            "-f",
            "-s",
            str(TRACED_BYTES),
            "-e",
            f"trace={','.join(kinds)}",
            *options,
            "-o",
            str(output),
        ]
        for pid in pids:
            command += ["-p", str(pid)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        attached = threading.Event()
        reader = threading.Thread(target=_read, args=(process, attached, len(pids)), daemon=True)
        reader.start()
        try:
            if not attached.wait(ATTACH_SECONDS):
                raise NotAttached(f"strace did not attach to {pids}")
            yield trace
        finally:
            process.terminate()  # it detaches and leaves what it traced alone
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            reader.join(5)
            assert process.stderr is not None
            process.stderr.close()
            trace.calls = _calls_in(output)


def _read(process: "subprocess.Popen[str]", attached: threading.Event, wanted: int) -> None:
    """Take what strace says until it ends; it says "attached" once for each process that it was given."""
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += " attached" in line
        if seen >= wanted:
            attached.set()


def calls_during(pids: Sequence[int], kinds: Sequence[str], operation: Callable[[], object]) -> list[Call]:
    """Return what these processes call while the operation runs."""
    with traced(pids, kinds) as trace:
        operation()
        time.sleep(0.3)
    return trace.calls


def _calls_in(output: Path) -> list[Call]:
    """Return the calls that were begun; one that the process was killed at is the last of its thread."""
    found = (_LINE.match(line) for line in output.read_text(errors="replace").splitlines())
    return [Call(int(match[1]), match[2], match[3]) for match in found if match]


def points_of(calls: Sequence[Call], *, thread: int | None = None) -> list[Point]:
    """Return every place to crash at in these calls, in the order in which they were made.

    Without a thread these are the calls of the busiest one: the one that did the operation.
    """
    if thread is None:
        thread = Counter(call.thread for call in calls).most_common(1)[0][0]
    counted: dict[str, int] = defaultdict(int)
    points = []
    for call in calls:
        if call.thread == thread:
            counted[call.name] += 1
            points.append(Point(call.name, counted[call.name]))
    return points


def thread_that(calls: Sequence[Call], name: str) -> int:
    """Return the thread that made the first call of this name. Raise LookupError."""
    for call in calls:
        if call.name == name:
            return call.thread
    raise LookupError(f"no {name} in {len(calls)} calls")


@contextmanager
def at_call(pids: Sequence[int], point: Point, *, sig: str = "SIGKILL") -> Iterator[Trace]:
    """Send the signal to the first of these processes to come to the point inside the block.

    Yields the calls of that name.
    """
    inject = f"inject={point.name}:signal={sig}:when={point.number}"
    with traced(pids, [point.name], "-e", inject) as trace:
        yield trace


def kill_at(pid: int, point: Point, operation: Callable[[], object], *, seconds: float = 20) -> bool:
    """Run the operation while the process is bound to die at the point; whether it did die.

    It may have got by with fewer calls than the operation made when they were counted.
    """
    with at_call([pid], point):
        operation()
        with contextlib.suppress(TimeoutError):
            until(lambda: not is_alive(pid), seconds=seconds, what=f"{pid} to die at {point}")
        return not is_alive(pid)


@contextmanager
def slowed(pids: Sequence[int], name: str, *, seconds: float) -> Iterator[None]:
    """Slow every call of this name by that much inside the block: a slow disk."""
    inject = f"inject={name}:delay_enter={int(seconds * 1_000_000)}"
    with traced(pids, [name], "-e", inject):
        yield


def is_stopped(trace: Trace) -> bool:
    """Return True if a process was stopped by a signal while it was traced.

    Its state in /proc does not tell: it is the same for a moment at every call that is traced.
    """
    return trace.output.exists() and "--- stopped by SIGSTOP ---" in trace.output.read_text(errors="replace")


def wake(pid: int) -> None:
    """Let a stopped process go on."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
