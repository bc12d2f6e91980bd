"""The peak resident memory of each process of a stack, and its processor time."""

import contextlib
import re
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(slots=True)
class Peak:
    """A process: its name, its peak memory in MiB, and its processor seconds at the first and the last measurement."""

    name: str
    mb: float
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Row:
    """All processes of one kind: the peak memory of the largest in MiB, and the sum of their processor seconds."""

    name: str
    mb: float
    seconds: float


_HIGH_WATER = re.compile(rb"VmHWM:\s+(\d+) kB")


class Peaks:
    """A monitor of a process and its descendants, from `__enter__` to `__exit__`.

    The kernel records each process's peak memory, including pages of mapped files and shared memory. So periodic checks
    are exact for every process that lives longer than the interval between two checks.
    """

    def __init__(self, root: int, *, every: float = 0.5) -> None:
        self._root = psutil.Process(root)
        self._every = every
        self._began = time.time()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._seen: dict[tuple[int, float], Peak] = {}

    def __enter__(self) -> "Peaks":
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def by_name(self) -> list[Row]:
        """Return one row for each kind of process, the one with the most memory first."""
        kinds: dict[str, list[Peak]] = defaultdict(list)
        for seen in self._seen.values():
            kinds[seen.name].append(seen)
        rows = [
            Row(name, max(one.mb for one in kind), sum(one.last - one.first for one in kind))
            for name, kind in kinds.items()
        ]
        return sorted(rows, key=lambda row: -row.mb)

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            self._look()

    def _look(self) -> None:
        for process in [self._root, *self._root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error, OSError):
                marked = _HIGH_WATER.search(Path(f"/proc/{process.pid}/status").read_bytes())
                if marked:
                    self._note(process, int(marked[1]) / 1024)

    def _note(self, process: psutil.Process, mb: float) -> None:
        times = process.cpu_times()
        seconds = times.user + times.system
        seen = self._seen.get((process.pid, process.create_time()))
        if seen is None:  # all the time of a newly started process counts
            first = seconds if process.create_time() < self._began else 0.0
            self._seen[process.pid, process.create_time()] = Peak(_name(process.cmdline()), mb, first, seconds)
        else:
            seen.mb, seen.last = mb, seconds


def _name(words: list[str]) -> str:
    """Return a short name for a process: the end of its program's path, and what distinguishes it from similar ones."""
    line = " ".join(words)
    for pattern, name in (
        (r"celeryd: (\w+)@", r"worker \1, a child"),
        (r"celery.* -Q (\w+)", r"worker \1"),
        (r"celery.* beat", "beat"),
        (r"postgres: panel", "postgres backend"),
        (r"(postgres): ([\w ]+\w)", r"\1 \2"),
        (r"bin/postgres", "postgres"),
        (r"(ns\d)/agent", r"agent \1"),
        (r"(ns\d)/pdns", r"pdns_server \1"),
        (r"manage\.py (\w+)", r"\1"),
        (r"(gunicorn|redis-server|supervisord)", r"\1"),
    ):
        if found := re.search(pattern, line):
            return found.expand(name)
    return Path(words[0]).name if words else "?"
