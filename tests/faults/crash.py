"""Kills a process at a chosen system call, without a hook in its code: `strace` attaches and injects the signal.

`calls_during` records the calls of one operation by thread. `at_call` kills the process just before the n-th call. A
walk through all n reaches each state that a crash can leave, because a process changes nothing lasting between two
calls.
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
# Enough for complete messages to PostgreSQL: a statement that is not prepared yet precedes its values.
TRACED_BYTES = 16_384
_LINE = re.compile(r"(\d+) +(?:[\d.]+ +)?(\w+)\((.*)")


class NotAttached(Exception):
    """An error: strace could not attach to the process."""


@dataclass(frozen=True, slots=True)
class Call:
    """A system call in strace's output."""

    thread: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Point:
    """A crash point: before the n-th call of this name in the thread that does the work."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name} {self.number}"


@dataclass(slots=True)
class Trace:
    """The calls while strace was attached, complete after it detached. `output` is strace's file, even before that."""

    output: Path
    calls: list[Call] = field(default_factory=list)


@contextmanager
def traced(pids: Sequence[int], kinds: Sequence[str], *options: str) -> Iterator[Trace]:
    """Trace these processes with all their threads inside the block."""
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
            process.terminate()  # strace detaches, and its processes continue
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
    """Read strace's stderr until it ends. Set `attached` after it has attached to all `wanted` processes."""
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += " attached" in line
        if seen >= wanted:
            attached.set()


def calls_during(pids: Sequence[int], kinds: Sequence[str], operation: Callable[[], object]) -> list[Call]:
    """Return the calls of these processes during the operation."""
    with traced(pids, kinds) as trace:
        operation()
        time.sleep(0.3)
    return trace.calls


def _calls_in(output: Path) -> list[Call]:
    """Return all started calls. A call at which the process was killed is the last one of its thread."""
    found = (_LINE.match(line) for line in output.read_text(errors="replace").splitlines())
    return [Call(int(match[1]), match[2], match[3]) for match in found if match]


def points_of(calls: Sequence[Call], *, thread: int | None = None) -> list[Point]:
    """Return all crash points in these calls, in order.

    Without `thread`, they are the calls of the busiest thread, which ran the operation.
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
    """Return the thread of the first call with this name. Raise LookupError if there is no such call."""
    for call in calls:
        if call.name == name:
            return call.thread
    raise LookupError(f"no {name} in {len(calls)} calls")


@contextmanager
def at_call(pids: Sequence[int], point: Point, *, sig: str = "SIGKILL") -> Iterator[Trace]:
    """Send the signal to the first of these processes that reaches the point inside the block. Yield the trace."""
    inject = f"inject={point.name}:signal={sig}:when={point.number}"
    with traced(pids, [point.name], "-e", inject) as trace:
        yield trace


def kill_at(pid: int, point: Point, operation: Callable[[], object], *, seconds: float = 20) -> bool:
    """Run the operation and kill the process at the point. Return True if it died.

    It may live if it needs fewer calls than the earlier operation whose calls were counted.
    """
    with at_call([pid], point):
        operation()
        with contextlib.suppress(TimeoutError):
            until(lambda: not is_alive(pid), seconds=seconds, what=f"{pid} to die at {point}")
        return not is_alive(pid)


@contextmanager
def slowed(pids: Sequence[int], name: str, *, seconds: float) -> Iterator[None]:
    """Delay each call of this name by these seconds inside the block, like a slow disk."""
    inject = f"inject={name}:delay_enter={int(seconds * 1_000_000)}"
    with traced(pids, [name], "-e", inject):
        yield


def is_stopped(trace: Trace) -> bool:
    """Return True if a signal stopped a process during the trace.

    The process state in /proc cannot show this, because each traced call stops the process for a moment.
    """
    return trace.output.exists() and "--- stopped by SIGSTOP ---" in trace.output.read_text(errors="replace")


def wake(pid: int) -> None:
    """Continue a stopped process."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
