"""Give up a PostgreSQL that hangs: one that was stopped still takes bytes at the level of TCP, and says nothing.

A long statement is silent too, and so is one that waits for a lock, so silence alone proves nothing. Once a connection
has been silent for a third of the patience, one thread of the process asks the server for a new connection, twice.
Where the server answers, even with a refusal, all threads wait on. Where it does not answer, the server *hangs*: every
wait in this process ends, its connection is closed, and no thread opens or uses another one until the server answers
again. So a request ends after the patience at the latest, and requests that come later end at once.

Only silence is counted, and only where nothing is there to read: a process that was stopped itself, or got no
processor, blames no server. A black hole is found the same way, and by TCP's own limits, which commands have as well.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg

logger = logging.getLogger(__name__)

# How often a wait looks at the clock, as in psycopg.
_INTERVAL = 0.1
_TRIES = 2


class ServerHangs(psycopg.OperationalError):
    """PostgreSQL said nothing for longer than this process has patience."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL hangs: it says nothing, on this connection or on a new one")


class NotSent(ServerHangs):
    """The server was known to hang before anything was sent to it, so nothing was done."""


class StatementLost(psycopg.OperationalError):
    """PostgreSQL should have ended a statement long ago by its own limit, and said nothing."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL did not end a statement at its limit")


class Server:
    """What this process knows of the server: whether it hangs. Threads share it."""

    def __init__(
        self, parameters: Callable[[], dict[str, Any]], *, patience: float, statement_seconds: float = 0.0
    ) -> None:
        self.patience, self.statement_seconds = patience, statement_seconds
        self.hangs = False
        self._parameters = parameters
        self._lock = threading.Lock()
        self._probing: threading.Thread | None = None
        self._probed_at = float("-inf")

    @property
    def suspect_after(self) -> float:
        """Seconds of silence after which the server is asked."""
        return self.patience / (_TRIES + 1)

    def suspect(self, *, hangs: bool = False) -> None:
        """Have the server asked, unless that is going on or has just been done. Returns at once.

        `hangs`: it was waited for in vain for the whole patience; that is proof already.
        """
        with self._lock:
            if hangs and not self.hangs:
                self._give_up()
            is_probing = self._probing is not None and self._probing.is_alive()
            if is_probing or (not hangs and time.monotonic() - self._probed_at < self.suspect_after):
                return
            self._probing = threading.Thread(target=self._ask, name="asks PostgreSQL", daemon=True)
            self._probing.start()

    def _ask(self) -> None:
        tried = 0
        while not self._answers():
            tried += 1
            with self._lock:
                if tried >= _TRIES and not self.hangs:
                    self._give_up()
        with self._lock:
            self._probed_at = time.monotonic()
            if self.hangs:
                self.hangs = False
                logger.warning("PostgreSQL answers again")

    def _give_up(self) -> None:
        self.hangs = True
        logger.warning("PostgreSQL hangs: requests and tasks that need it are given up until it answers")

    def _answers(self) -> bool:
        """Return True if the server answers a new connection. A refusal is an answer, too."""
        seconds = max(2, round(self.suspect_after))
        try:
            psycopg.connect(**self._parameters() | {"connect_timeout": seconds}).close()
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:
            time.sleep(_INTERVAL)
        return True


_server: Server | None = None


def begin(parameters: Callable[[], dict[str, Any]], *, patience: float, statement_seconds: float = 0.0) -> None:
    """Give up a silent server after `patience` seconds, on connections that are opened from now on; 0: never.

    `parameters` returns what a connection is opened with. `statement_seconds` is PostgreSQL's own limit there, 0: none.
    """
    global _server
    _server = Server(parameters, patience=patience, statement_seconds=statement_seconds) if patience else None


def end() -> None:
    """Wait for the server without a limit again."""
    global _server
    _server = None


def server() -> Server | None:
    """Return what this process knows of the server; None in one that waits without a limit."""
    return _server


def limits_of_tcp(patience: float) -> dict[str, int]:
    """Return libpq's limits: for a new connection, and for bytes that are not confirmed; UNIX sockets have no such."""
    if not patience:
        return {}
    third = max(1, round(patience / 3))
    return {
        "connect_timeout": max(2, round(patience * 2 / 3)),
        "keepalives_idle": third,
        "keepalives_interval": max(1, third // 2),
        "keepalives_count": 3,
        "tcp_user_timeout": int(patience * 1000),
    }


def hangs() -> bool:
    """Return True if the server is known to hang, so that asking it is useless."""
    return _server is not None and _server.hangs


def connect(**parameters: Any) -> psycopg.Connection[Any]:
    """Open a connection that gives up a server that hangs. Raises psycopg.OperationalError."""
    if _server is None:
        return psycopg.connect(**parameters)
    if _server.hangs:
        raise NotSent
    try:
        return PatientConnection.connect(**parameters)
    except psycopg.errors.ConnectionTimeout:
        _server.suspect(hangs=True)
        raise


class PatientConnection(psycopg.Connection[Any]):
    """A connection whose waits end when the server hangs.

    `statement_seconds` is the limit that PostgreSQL has for a statement here, 0: none; None: that of the process.
    """

    statement_seconds: float | None = None

    def wait(self, gen: Any, interval: float = _INTERVAL, timeout: float | None = None) -> Any:
        """Wait as psycopg does. Raise ServerHangs or StatementLost, with the connection closed."""
        if _server is None:
            return super().wait(gen, interval, timeout)
        try:
            if _server.hangs:
                raise NotSent
            limit = _server.statement_seconds if self.statement_seconds is None else self.statement_seconds
            return super().wait(_listening(gen, _server, limit), interval, timeout)
        except (ServerHangs, StatementLost):
            self.pgconn.finish()
            raise


def _listening(gen: Any, server: Server, limit: float) -> Generator[Any, Any, Any]:
    """Do what `gen` does. Raises ServerHangs, and StatementLost after the limit and the patience."""
    silent_since = suspected_at = 0.0
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)
            if ready:
                silent_since = 0.0
                continue
            now = time.monotonic()
            if not silent_since:
                silent_since = suspected_at = now
            if server.hangs:
                raise ServerHangs
            if now - suspected_at >= server.suspect_after:
                suspected_at = now
                server.suspect()
            if limit and now - silent_since >= limit + server.patience:
                raise StatementLost
    except StopIteration as exc:
        return exc.value


def _forget_threads() -> None:
    """Start again in a forked process, which has no thread of its parent to ask, or to release the lock."""
    if _server is not None:
        begin(_server._parameters, patience=_server.patience, statement_seconds=_server.statement_seconds)


os.register_at_fork(after_in_child=_forget_threads)
