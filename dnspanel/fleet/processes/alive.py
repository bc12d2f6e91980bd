"""Write heartbeats of this process to a file for its watchdog, and to PostgreSQL for other readers.

The file has its own thread, because the watchdog would otherwise kill the process if PostgreSQL hangs. A running thread
proves only that the process is scheduled. `is_working` adds a check of the process itself, for example of its event
loop.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import DatabaseError, InterfaceError, close_old_connections, connection
from django.utils import timezone

from dnspanel import watchdog
from dnspanel.fleet.processes.beats import Identity, Load, beat_process, replace_dead, say_goodbye
from dnspanel.fleet.processes.process_roles import BEAT_EVERY
from replication.garbage import Heap, resident_bytes

logger = logging.getLogger(__name__)

_MEMORY_EVERY = 10.0  # seconds


class Turns:
    """The time of a loop's last turn. Creating the object counts as a turn."""

    def __init__(self) -> None:
        self.mark()

    def mark(self) -> None:
        self._at = time.monotonic()

    def is_recent(self, seconds: float) -> bool:
        return time.monotonic() - self._at < seconds


def always() -> bool:
    return True


class Alive:
    """The writer of a process's heartbeats under each of its names, from `start` to `stop`.

    If `is_working` returns False, the file and the rows are not written. The rows are written only if `answers`, which
    is allowed to query PostgreSQL, also returns True. After the rows, `also` is called to write other reports.
    """

    def __init__(
        self,
        *names: str,
        is_working: Callable[[], bool] = always,
        answers: Callable[[], bool] = always,
        load: Callable[[datetime], Load] = lambda now: Load(),
        also: Callable[[datetime], None] = lambda now: None,
        host: str = "",
        pid: int | None = None,
    ) -> None:
        self.names: Sequence[str] = names
        self.host, self.pid = host or socket.gethostname(), os.getpid() if pid is None else pid
        self._is_working, self._answers, self._load, self._also = is_working, answers, load, also
        self._started_at = timezone.now()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._was_away = False
        self._is_new = True

    def start(self, *, with_file: bool = True) -> None:
        """Start the threads that write heartbeats and bound the memory. `with_file` is False without a watchdog."""
        loops = [self._write_rows, self._write_files] if with_file else [self._write_rows]
        loops.append(self._bound_memory)
        self._threads = [threading.Thread(target=loop, name=loop.__name__, daemon=True) for loop in loops]
        for thread in self._threads:
            thread.start()

    def stop(self, *, goodbye: bool = True) -> None:
        """Stop the heartbeats. If `goodbye` is True, delete the process's rows. Never raise, as the process exits."""
        self._stop.set()
        for thread in self._threads:
            thread.join(2)
        if goodbye:
            try:
                say_goodbye(names=self.names, host=self.host, pid=self.pid, now=timezone.now())
                connection.close()
            except (DatabaseError, InterfaceError) as exc:
                logger.warning("no goodbye of %s, PostgreSQL does not answer: %s", ", ".join(self.names), exc)

    def write_row(self, now: datetime) -> None:
        """Write one row for each name if the process works and answers. Raise DatabaseError if PostgreSQL fails."""
        if not (self._is_working() and self._answers()):
            return
        load = self._load(now)
        for name in self.names:
            identity = Identity(name, self.host, self.pid, self._started_at)
            if self._is_new:
                replace_dead(identity=identity)
            beat_process(identity=identity, load=load, now=now)
        self._is_new = False
        self._also(now)

    def _write_files(self) -> None:
        while not self._stop.is_set():
            if self._is_working():
                watchdog.write_life_sign()
            self._stop.wait(watchdog.LIFE_SIGN_EVERY)

    def _bound_memory(self) -> None:
        heap = Heap()
        while not self._stop.wait(_MEMORY_EVERY):
            if heap.give_back():
                logger.info("memory given back process=%s left=%d", ", ".join(self.names), resident_bytes())

    def _write_rows(self) -> None:
        while not self._stop.is_set():
            try:
                close_old_connections()
                self.write_row(timezone.now())
                self._was_away = False
            except (DatabaseError, InterfaceError) as exc:
                if not self._was_away:
                    logger.warning("no life sign of %s, PostgreSQL does not answer: %s", ", ".join(self.names), exc)
                self._was_away = True
            except Exception:  # an error in one heartbeat must not stop all others
                logger.exception("a life sign of %s failed", ", ".join(self.names))
            self._stop.wait(BEAT_EVERY.total_seconds())
        connection.close()
