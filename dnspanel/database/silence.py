"""Detect a PostgreSQL server that hangs: a stopped server still accepts bytes over TCP, but never answers.

A long statement, or one that waits for a lock, is silent too, so silence alone proves nothing. When a connection has
been silent for a third of the patience (SILENCE_SECONDS), a thread of the process tries twice to open a new connection.
If the server answers, even with a refusal, all threads keep waiting. If it does not answer, the server *hangs*: every
wait in this process ends, its connection is closed, and no thread opens or uses another connection until the server
answers again. Therefore, a request ends after the patience at the latest, and later requests end immediately.

Time counts as silence only while there are no bytes to read. This keeps a process that was itself stopped, or that got
no CPU time, from blaming the server. An unreachable server is detected in the same way, and by TCP's own limits, which
commands also use.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Generator
from typing import Any

import psycopg

logger = logging.getLogger(__name__)

# The interval at which a wait checks the clock. psycopg uses the same one.
_INTERVAL = 0.1
_TRIES = 2


class ServerHangs(psycopg.OperationalError):
    """PostgreSQL was silent for longer than this process's patience."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL hangs: it says nothing, on this connection or on a new one")


class NotSent(ServerHangs):
    """No statement was sent, or no connection opened, because the server is known to hang. Nothing was changed."""


class StatementLost(psycopg.OperationalError):
    """PostgreSQL sent nothing, although the time limit of a statement had passed."""

    def __init__(self) -> None:
        super().__init__("PostgreSQL did not end a statement at its limit")


class Server:
    """The state of the PostgreSQL server, shared by all threads. `hangs` is True if the server doesn't answer."""

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
        """The seconds of silence after which the server is probed."""
        return self.patience / (_TRIES + 1)

    def suspect(self, *, hangs: bool = False) -> None:
        """Probe the server in a thread, unless a probe is running or has just ended. Return immediately.

        `hangs` is True if a wait already took the whole patience. The server then counts as hanging at once.
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
        """Return True if the server answers a new connection. A refusal is also an answer."""
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
    """Limit the wait for a silent server to `patience` seconds (0: no limit), on connections opened after this call.

    `parameters` returns the parameters of new connections. `statement_seconds` is PostgreSQL's limit (0: none).
    """
    global _server
    _server = Server(parameters, patience=patience, statement_seconds=statement_seconds) if patience else None


def end() -> None:
    """Undo `begin`: wait for the server without a limit."""
    global _server
    _server = None


def server() -> Server | None:
    """Return the state of the server, or None if this process waits without a limit."""
    return _server


def limits_of_tcp(patience: float) -> dict[str, int]:
    """Return libpq's limits for connecting and for unacknowledged bytes over TCP, or {} if `patience` is 0."""
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
    """Return True if the server is known to hang. No statement is sent to it in that case."""
    return _server is not None and _server.hangs


def connect(**parameters: Any) -> psycopg.Connection[Any]:
    """Open a connection that stops waiting if the server hangs. Raise psycopg.OperationalError if opening fails."""
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

    `statement_seconds` is PostgreSQL's limit for statements on this connection (0: none, None: the process's limit).
    """

    statement_seconds: float | None = None

    def wait(self, gen: Any, interval: float = _INTERVAL, timeout: float | None = None) -> Any:
        """Override psycopg's wait to detect a silent server. Close the connection on ServerHangs or StatementLost."""
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
    """Run psycopg's generator and watch for silence. Raise ServerHangs if the server hangs.

    Raise StatementLost if the server is silent for longer than the statement's time limit plus the patience.
    """
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
    """Reset the state in a forked process, which lacks the parent's probing thread, and whose lock may be held."""
    if _server is not None:
        begin(_server._parameters, patience=_server.patience, statement_seconds=_server.statement_seconds)


os.register_at_fork(after_in_child=_forget_threads)
