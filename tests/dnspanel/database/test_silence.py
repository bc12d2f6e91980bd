"""A hanging PostgreSQL is given up in bounded time, and a slow statement is not."""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction

from dnspanel.database import silence
from dnspanel.database.base import CommitInDoubt, DatabaseWrapper
from dnspanel.database.silence import NotSent, ServerHangs, StatementLost
from tests.stack import until

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 6.0  # libpq needs two of these seconds per try


class Relay:
    """A proxy to PostgreSQL that can swallow all data."""

    def __init__(self) -> None:
        self.swallows = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._server]
        self._start(self._accept)

    @property
    def port(self) -> int:
        return int(self._server.getsockname()[1])

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._server.accept()
                far = socket.create_connection((connection.settings_dict["HOST"], int(_port)))
                self._sockets += [near, far]
                self._start(lambda near=near, far=far: self._carry(near, far))
                self._start(lambda near=near, far=far: self._carry(far, near))

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while taken := source.recv(65536):
                while self.swallows:
                    time.sleep(0.05)
                target.sendall(taken)
            target.shutdown(socket.SHUT_WR)

    def _start(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        self.swallows = False
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


_port = ""


@pytest.fixture
def relay() -> Iterator[Relay]:
    """Send the test's connections through a relay."""
    global _port
    _port, made = connection.settings_dict["PORT"], Relay()
    connection.close()
    connection.settings_dict["PORT"] = str(made.port)
    yield made
    connection.close()
    connection.settings_dict["PORT"] = _port
    made.close()


@pytest.fixture
def patient() -> Iterator[None]:
    """Act as a web process with a short timeout."""
    parameters = {**connection.get_connection_params()}
    silence.begin(lambda: parameters, patience=PATIENCE)
    connection.close()
    yield
    server = silence.server()
    assert server is not None
    if server._probing is not None:
        server._probing.join(30)
    silence.end()
    connection.close()


def ask(sql: str = "SELECT 1") -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()


@pytest.mark.usefixtures("patient")
def test_a_connection_that_was_open_is_given_up_and_the_next_are_refused_at_once(relay: Relay) -> None:
    # The fixture `patient` began before the relay existed. This sends its probes through the relay.
    silence.begin(lambda: connection.get_connection_params() | {"port": relay.port}, patience=PATIENCE)
    assert ask() == (1,)
    relay.swallows = True
    with pytest.raises(OperationalError) as caught:
        ask()
    assert isinstance(caught.value.__cause__, ServerHangs)
    assert silence.hangs()
    assert not connection.is_usable()
    connection.close()
    with pytest.raises(OperationalError) as caught:
        ask()
    assert isinstance(caught.value.__cause__, NotSent), "what comes later is not even sent"
    relay.swallows = False
    until(lambda: not silence.hangs(), seconds=30, what="the server to be trusted again")
    assert ask() == (1,)


@pytest.mark.usefixtures("patient")
def test_a_server_that_lets_nobody_in_is_given_up(relay: Relay) -> None:
    silence.begin(lambda: connection.get_connection_params() | {"port": relay.port}, patience=PATIENCE)
    relay.swallows = True
    connection.settings_dict["OPTIONS"]["connect_timeout"] = 2
    try:
        with pytest.raises(OperationalError):
            ask()
        assert silence.hangs()
    finally:
        del connection.settings_dict["OPTIONS"]["connect_timeout"]
        relay.swallows = False
    until(lambda: not silence.hangs(), seconds=30, what="the server to be trusted again")


@pytest.mark.usefixtures("patient")
def test_a_statement_that_takes_long_is_waited_for() -> None:
    """A statement that waits for a lock is the same case: the server answers other requests at that time."""
    assert ask(f"SELECT 1 FROM pg_sleep({PATIENCE + 1})") == (1,)
    assert not silence.hangs()


@pytest.mark.usefixtures("patient")
def test_one_backend_that_hangs_costs_its_own_statement_only() -> None:
    """Here PostgreSQL would have ended the statement at its time limit."""
    server = silence.server()
    assert server is not None
    server.statement_seconds = 0.5
    pid = ask("SELECT pg_backend_pid()")[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(OperationalError) as caught:
            ask()
        assert isinstance(caught.value.__cause__, StatementLost)
        assert not silence.hangs()
        connection.close()
        assert ask() == (1,)
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.usefixtures("patient")
def test_a_server_that_refuses_answers() -> None:
    """With too many connections, or during its start, the server refuses. A process with a connection keeps waiting."""
    silence.begin(lambda: connection.get_connection_params() | {"dbname": "there is none"}, patience=PATIENCE)
    assert ask(f"SELECT 1 FROM pg_sleep({PATIENCE})") == (1,)
    assert not silence.hangs()


@pytest.fixture
def own() -> Iterator[DatabaseWrapper]:
    made = connection.copy()
    assert isinstance(made, DatabaseWrapper)
    yield made
    made.close()


def test_a_commit_without_an_answer_is_in_doubt(own: DatabaseWrapper) -> None:
    own.ensure_connection()
    own.set_autocommit(False)
    with own.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
        cursor.execute("CREATE TEMPORARY TABLE waits (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 10000)", [pid])
    with pytest.raises(CommitInDoubt):
        own.commit()


def test_a_commit_on_a_connection_that_was_lost_before_is_not_in_doubt(own: DatabaseWrapper) -> None:
    own.ensure_connection()
    own.set_autocommit(False)
    with own.cursor() as cursor:
        cursor.execute("SELECT 1")
    own.connection.close()
    with pytest.raises(OperationalError) as caught:
        own.commit()
    assert not isinstance(caught.value, CommitInDoubt)


@transaction.atomic
def ask_and_learn_that_it_hangs(server: silence.Server) -> None:
    ask()
    server.hangs = True


@pytest.mark.usefixtures("patient")
def test_a_commit_that_was_not_sent_is_not_in_doubt() -> None:
    server = silence.server()
    assert server is not None
    try:
        with pytest.raises(OperationalError) as caught:
            ask_and_learn_that_it_hangs(server)
        assert not isinstance(caught.value, CommitInDoubt)
    finally:
        server.hangs = False


def test_a_refusal_at_the_commit_leaves_no_doubt(own: DatabaseWrapper) -> None:
    """This happens for a deferred constraint, which PostgreSQL checks at the commit."""
    own.ensure_connection()
    own.set_autocommit(False)
    with own.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE waits (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        cursor.execute("INSERT INTO waits VALUES (1), (1)")
    with pytest.raises(IntegrityError):
        own.commit()
