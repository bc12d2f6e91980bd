"""The panel behind a real PgBouncer with session pooling, and what transaction pooling would break."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, connections, transaction

from dnspanel.accounts.models import User
from dnspanel.advisory_locks import Lock, hold_lock, locked_keys
from dnspanel.database import base, silence, statement_time
from dnspanel.database.base import open_with
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.demo import unprivileged
from dnspanel.publish.reading.publisher_session import Session, reading
from dnspanel.zones.models import Zone
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import alice as alice
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)

INI = """\
[databases]
* = host={host} port={port} user={user} {password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 4
max_client_conn = 100
logfile = {directory}/pgbouncer.log
pidfile = {directory}/pgbouncer.pid
"""


@contextmanager
def pgbouncer(mode: str) -> Iterator[int]:
    """Run PgBouncer with this pool mode in front of the tests' PostgreSQL, and yield its port."""
    real = {name.lower(): settings.DATABASES["default"][name] for name in ("HOST", "PORT", "USER", "PASSWORD")}
    with tempfile.TemporaryDirectory(prefix="pgbouncer") as made:
        directory, listen = Path(made), free_port()
        password = f"password={real['password']}" if real["password"] else ""
        ini = INI.format(**real | {"password": password}, listen=listen, mode=mode, directory=directory)
        unprivileged.make_directory(directory)
        unprivileged.write(directory / "pgbouncer.ini", ini)
        command = [*unprivileged.prefix(), "/usr/sbin/pgbouncer", "-q", str(directory / "pgbouncer.ini")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                _wait_until_it_answers(listen, process, directory / "pgbouncer.log")
                yield listen
            finally:
                connections.close_all()
                process.terminate()


def _wait_until_it_answers(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 30
    database, user = settings.DATABASES["default"]["NAME"], settings.DATABASES["default"]["USER"]
    while True:
        try:
            psycopg.connect(host="127.0.0.1", port=port, dbname=database, user=user or None).close()
            return
        except psycopg.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)


@pytest.fixture
def through(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Return a function that makes this process a web process that connects through a pooler on this port."""
    options = dict(connections.settings["default"]["OPTIONS"])
    monkeypatch.setattr(statement_time, "_process", statement_time.COMMAND)
    monkeypatch.setattr(base, "_keeps_plans", True)
    monkeypatch.setattr(base, "_process", "web")

    def through(port: int) -> None:
        monkeypatch.setattr(settings, "DATABASE_POOLER", True)
        for place in (connections.settings["default"], connection.settings_dict):
            monkeypatch.setitem(place, "HOST", "127.0.0.1")
            monkeypatch.setitem(place, "PORT", str(port))
            monkeypatch.setitem(place, "CONN_MAX_AGE", 0)
        connection.close()
        statement_time.begin(statement_time.READ)

    yield through
    silence.end()
    open_with(None)
    connections.settings["default"]["OPTIONS"] = options
    connection.close()


def value(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


def test_every_feature_works_with_session_pooling(
    through: Callable[[int], None], make_zone: MakeZone, alice: User
) -> None:
    with pgbouncer("session") as port:
        through(port)
        assert value("SHOW statement_timeout") == "30s"
        assert (value("SHOW jit"), value("SHOW plan_cache_mode")) == ("off", "force_generic_plan")
        assert value("SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()") == "dnspanel-web"
        zone = make_zone(name="pooled.test.")
        with hold_lock(Lock.RESOURCE, 7) as is_mine:
            assert is_mine
            assert (Lock.RESOURCE, 7) in locked_keys(Lock.RESOURCE)
        assert not locked_keys(Lock.RESOURCE)
        assert [found.pk for found in Zone.objects.iterator(1)] == [zone.pk]
        for number in range(3):
            with prepared_cursor() as cursor:
                cursor.execute("SELECT %s::int", [number])
                assert cursor.fetchone() == (number,)
        session = Session()
        with session.publishing() as conn, reading() as reader:
            assert conn is not None
            names = [each.execute("SHOW application_name").fetchone() for each in (conn, reader)]
        session.close()
        assert names == [("dnspanel-web-log",), ("dnspanel-web-reader",)]


def test_a_returned_connection_leaves_nothing_to_the_next_process(through: Callable[[int], None]) -> None:
    with pgbouncer("session") as port:
        through(port)
        pid = value("SELECT pg_backend_pid()")
        value("SELECT pg_advisory_lock(1, 1)")
        connection.close_if_unusable_or_obsolete()
        assert connection.connection is None, "each request returns its connection"
        silence.end()
        open_with(None)
        connections.settings["default"]["OPTIONS"]["options"] = "-c jit=off"
        connection.close()
        assert value("SELECT pg_backend_pid()") == pid
        assert value("SHOW statement_timeout") == "0"
        assert not locked_keys(Lock.PUBLISHER)


def test_many_clients_share_a_few_connections(through: Callable[[int], None]) -> None:
    """Idle processes have no connection to PostgreSQL. Those that wait get one as soon as another returns it."""
    with pgbouncer("session") as port:
        through(port)
        pids = set()
        for _ in range(20):
            pids.add(value("SELECT pg_backend_pid()"))
            connection.close_if_unusable_or_obsolete()
        assert len(pids) <= 4


def test_transaction_pooling_loses_the_limits_and_the_locks(through: Callable[[int], None]) -> None:
    """The reason why it isn't supported: two transactions of a session can run on different connections."""
    with pgbouncer("transaction") as port:
        through(port)
        value("SELECT 1")
        taken = value("SELECT pg_backend_pid() FROM (SELECT pg_advisory_lock(1, 1)) taken")
        with psycopg.connect(**connection.get_connection_params()) as other, other.transaction():
            other.execute("SELECT 1")  # takes the connection that was free
            assert value("SELECT pg_backend_pid()") != taken
            with transaction.atomic():
                assert value("SHOW statement_timeout") != "30s"
