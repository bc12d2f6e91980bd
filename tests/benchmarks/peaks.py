"""The largest resident memory that each process of a stack ever had."""

import contextlib
import re
import threading
from pathlib import Path

import psutil

_HIGH_WATER = re.compile(rb"VmHWM:\s+(\d+) kB")


class Peaks:
    """Watches a process and all that it started, from `__enter__` to `__exit__`.

    The kernel keeps each process's high-water mark (pages of mapped files and
    shared memory included), so looking now and then is exact for every
    process that lives longer than the time between two looks.
    """

    def __init__(self, root: int, *, every: float = 0.5) -> None:
        self._root = psutil.Process(root)
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._mb: dict[tuple[int, float], tuple[str, float]] = {}

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def by_name(self) -> dict[str, float]:
        """The largest of each kind of process, in MiB, the largest first."""
        found: dict[str, float] = {}
        for name, mb in self._mb.values():
            found[name] = max(mb, found.get(name, 0.0))
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            self._look()

    def _look(self) -> None:
        for process in [self._root, *self._root.children(recursive=True)]:
            with contextlib.suppress(psutil.Error, OSError):
                marked = _HIGH_WATER.search(Path(f"/proc/{process.pid}/status").read_bytes())
                if marked:
                    key = process.pid, process.create_time()
                    name = self._mb[key][0] if key in self._mb else _name(process.cmdline())
                    self._mb[key] = name, int(marked[1]) / 1024


def _name(words: list[str]) -> str:
    """What a process is called in a table: the end of its program's path and what tells it from its siblings."""
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
        (r"(uvicorn|redis-server|supervisord)", r"\1"),
    ):
        if found := re.search(pattern, line):
            return found.expand(name)
    return Path(words[0]).name if words else "?"
