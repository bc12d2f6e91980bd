"""`/livez`, `/readyz` and `/healthz` name the faulty part within a second, even if something hangs."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet import telemetry
from dnspanel.fleet.nodes.heartbeats import REDIS_AWAY, WATCH_SINCE, answer_roll, beat
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.processes.process_roles import BUSY_FOR, COLLECTOR, REQUIRED
from dnspanel.monitoring import health
from dnspanel.monitoring.health_view import VIEWS, HealthMiddleware
from dnspanel.monitoring.part_checks import Check, Part, State
from dnspanel.publish.models import Stall
from replication.disk import Disk
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PATHS = sorted(VIEWS)
VERBOSE = "/healthz?verbose"


@pytest.fixture(autouse=True)
def forget_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget cached answers, so that no test gets those of an earlier test."""
    for check in (health._postgresql, health._panel):
        monkeypatch.setattr(check, "_run", None)
        monkeypatch.setattr(check, "_fresh_seconds", 0.0)


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Yield the port of a server that accepts connections and sends nothing, like a stopped process."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def hanging_postgresql() -> Iterator[None]:
    """Replace PostgreSQL with a server that accepts connections and sends nothing."""
    before = dict(connection.settings_dict)
    with silent_server() as port:
        connection.settings_dict |= {"HOST": "127.0.0.1", "PORT": str(port)}
        try:
            yield
        finally:
            connection.settings_dict |= before
            run = health._postgresql._run
            assert run is None or run.ended.wait(30), "the check that hangs was never given up"


def brief(path: str, **headers: str) -> tuple[int, Any]:
    answer = Client(REMOTE_ADDR="192.0.2.10").get(path, headers=headers)
    assert answer["Cache-Control"] == "no-store"
    assert not answer.cookies
    return answer.status_code, answer.json()


@pytest.mark.parametrize("path", PATHS)
def test_all_is_well(path: str) -> None:
    assert brief(path) == (200, {"ok": True, "faults": []})
    assert Client().head(path).status_code == 200
    assert Client().post(path).status_code == 405


@pytest.mark.parametrize("path", PATHS)
def test_the_host_header_does_not_matter(path: str) -> None:
    """Load balancers and kubelets connect by IP address."""
    assert Client().get(path, headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert Client().get("/sign-in/", headers={"Host": "10.1.2.3:8000"}).status_code == 400


def test_nothing_else_is_asked_before_them() -> None:
    """Health checks use no session and no other middleware, because what these need may be unavailable."""
    passed = HttpResponse()
    middleware = HealthMiddleware(lambda request: passed)
    assert middleware(RequestFactory().get("/livez/")) is passed
    assert middleware(RequestFactory().get("/zones/")) is passed
    assert all(middleware(RequestFactory().get(path)) is not passed for path in PATHS)


def test_without_redis_the_panel_is_ready(settings: Any) -> None:
    settings.REDIS_URL = "redis://:secret@127.0.0.1:1/0"
    assert brief("/readyz") == (200, {"ok": True, "faults": []})
    assert brief("/healthz") == (503, {"ok": False, "faults": ["redis"]})


def test_redis_that_hangs_is_at_fault(settings: Any) -> None:
    with silent_server() as port:
        settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
        assert brief("/healthz") == (503, {"ok": False, "faults": ["redis"]})


@pytest.mark.usefixtures("live_redis")
def test_redis_that_refuses_to_write_is_at_fault(settings: Any) -> None:
    """A Redis without free memory still answers PING."""
    live_redis = telemetry.connection(settings.REDIS_URL)
    before = live_redis.config_get("maxmemory*")
    live_redis.config_set("maxmemory-policy", "noeviction")
    live_redis.config_set("maxmemory", "1")
    try:
        assert brief("/healthz") == (503, {"ok": False, "faults": ["redis-writes"]})
    finally:
        for name in ("maxmemory", "maxmemory-policy"):
            live_redis.config_set(name, before[name])


@pytest.mark.usefixtures("hanging_postgresql")
def test_postgresql_that_hangs_is_at_fault_and_the_process_lives() -> None:
    for path in ("/readyz", "/healthz", VERBOSE):
        assert brief(path, **{"X-API-Key": "dnsp_any"}) == (503, {"ok": False, "faults": ["postgresql"]})
    assert brief("/livez") == (200, {"ok": True, "faults": []})


def test_postgresql_that_is_away_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "PORT", "1")
    assert brief("/readyz") == (503, {"ok": False, "faults": ["postgresql"]})


def test_a_panel_without_its_migrations_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    known = health.migrations_of_code()
    assert ("zones", "0001_tables") in known
    monkeypatch.setattr(health, "migrations_of_code", lambda: known | {("zones", "9999_tomorrow")})
    assert brief("/readyz") == (503, {"ok": False, "faults": ["migrations"]})


def test_migrations_of_a_newer_panel_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    """During an upgrade the old web processes continue to serve."""
    known = health.migrations_of_code()
    monkeypatch.setattr(health, "migrations_of_code", lambda: known - {("zones", "0001_tables")})
    assert brief("/readyz") == (200, {"ok": True, "faults": []})


def test_a_full_disk_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "disk_of", lambda path: Disk(1, 1000, 500, 1000))
    assert brief("/healthz") == (503, {"ok": False, "faults": ["disk"]})


def test_publishing_that_stalls_is_at_fault() -> None:
    Stall.objects.create(schema=4, sequence=7, message="it cannot be read", since=NOW, tried_at=NOW)
    assert brief("/healthz") == (503, {"ok": False, "faults": ["publisher"]})


def begin_processes(now: datetime, *, silent: str = "") -> None:
    """Let all processes have run for an hour with fresh heartbeats, except a silent one (five minutes old)."""
    beat(process=WATCH_SINCE, now=now - timedelta(hours=1))
    for pid, name in enumerate(REQUIRED):
        identity = Identity(name, "panel", pid, now - timedelta(hours=1))
        beat_process(identity=identity, load=Load(), now=now - timedelta(minutes=5 if name == silent else 0))
    for queue in BUSY_FOR:
        answer_roll(queue=queue, now=now)


@pytest.mark.parametrize("name", ["publish", "beat", "web", COLLECTOR])
def test_a_process_that_is_silent_is_at_fault(name: str) -> None:
    begin_processes(timezone.now(), silent=name)
    assert brief("/healthz") == (503, {"ok": False, "faults": ["processes"]})


def test_processes_that_all_are_at_work_are_no_fault() -> None:
    """The heartbeat table also has rows of the watch itself, which are not heartbeats of processes."""
    begin_processes(timezone.now())
    beat(process=REDIS_AWAY, now=timezone.now() - timedelta(minutes=30))
    assert brief("/healthz") == (200, {"ok": True, "faults": []})


def secret(owner: User, *permissions: Permission) -> str:
    terms = TokenTerms("watcher", permissions=frozenset(permissions))
    return create_token(owner=owner, terms=terms, by=owner, now=NOW).secret


def test_reasons_are_for_tokens_that_may_see_nodes(alice: User, settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    status, body = brief(VERBOSE, Authorization=f"Bearer {secret(alice, Permission.FLEET)}")
    assert (status, body["ok"], body["faults"]) == (503, False, ["redis"])
    assert body["parts"].keys() == {
        *("postgresql", "migrations", "redis", "redis-writes", "disk"),
        *("publisher", "processes", "nodes"),
    }
    assert body["parts"]["postgresql"] == {"state": "ok", "reason": ""}
    assert body["parts"]["redis"]["state"] == "fault"
    assert "127.0.0.1:1" in body["parts"]["redis"]["reason"]
    assert body["parts"]["redis-writes"]["state"] == "unknown"


def test_others_learn_no_reason(alice: User) -> None:
    assert brief(VERBOSE)[0] == 401
    assert brief(VERBOSE, Authorization="Bearer dnsp_nonsense")[0] == 401
    status, body = brief(VERBOSE, Authorization=f"Bearer {secret(alice, Permission.AUDIT)}")
    assert (status, body.keys()) == (403, {"detail"})


def test_the_operators_networks_need_no_token(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["192.0.2.0/28"]
    assert brief(VERBOSE)[1]["parts"]["migrations"] == {"state": "ok", "reason": ""}
    settings.METRICS_NETWORKS = ["198.51.100.0/24"]
    assert brief(VERBOSE)[0] == 401


@pytest.mark.usefixtures("hanging_postgresql")
def test_the_operators_networks_learn_why_while_postgresql_hangs(settings: Any) -> None:
    settings.METRICS_NETWORKS = ["192.0.2.0/28"]
    status, body = brief(VERBOSE)
    assert (status, body["faults"]) == (503, ["postgresql"])
    assert body["parts"]["postgresql"]["reason"] == "did not answer within 0.8 s"
    assert body["parts"]["nodes"]["state"] == "unknown"


def test_who_comes_while_a_question_hangs_does_not_wait_again() -> None:
    """Otherwise each of many health requests would block a thread."""
    goes_on, calls = threading.Event(), []

    def ask() -> dict[str, Part]:
        calls.append(1)
        goes_on.wait(30)
        return {"slow": Part(State.OK)}

    check = Check({"slow": State.FAULT, "known by it": State.UNKNOWN}, ask)
    try:
        assert [check.wait_for_answer()["slow"].state for _ in range(3)] == [State.FAULT] * 3
        assert check.wait_for_answer()["known by it"].state is State.UNKNOWN
        assert calls == [1]
    finally:
        goes_on.set()
    assert check.begin().ended.wait(30)


def test_a_question_that_fails_in_a_way_that_nobody_foresaw_is_a_fault() -> None:
    def ask() -> dict[str, Part]:
        raise RuntimeError("no such thing\nand more")

    assert Check({"odd": State.UNKNOWN}, ask).wait_for_answer() == {
        "odd": Part(State.FAULT, "RuntimeError: no such thing")
    }
