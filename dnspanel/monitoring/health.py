"""Check PostgreSQL, Redis, the disk, the publisher, the panel's processes and the nodes.

Checks run in threads. Callers wait less than a second for a check, even if it takes longer.
"""

from collections import Counter
from datetime import datetime
from functools import cache
from pathlib import Path

import psycopg
from django.apps import apps
from django.conf import settings
from django.db import connection, connections
from django.utils import timezone

from dnspanel.alerts.process_rules import process_conditions
from dnspanel.conditions import Severity
from dnspanel.database.base import application_name
from dnspanel.fleet.node_health import FAULTS
from dnspanel.fleet.processes.process_roles import COLLECTOR
from dnspanel.fleet.processes.state import processes_now
from dnspanel.fleet.reads.queries import node_statuses
from dnspanel.monitoring.part_checks import OK, Check, Found, Part, State, reason_of
from dnspanel.processes.redis_health import RedisProblem, explained_problem
from dnspanel.publish.models import Stall
from dnspanel.zones.models import LogHead
from replication.disk import disk_of

# The time limit for PostgreSQL. Callers stop waiting much earlier, but the checking thread has to end too.
CONNECT_SECONDS = 2
# A smaller share of free bytes or inodes is a fault, because PANEL_VAR holds segments and uploads.
LEAST_FREE_SHARE = 0.03

# The parts of the panel whose state is in PostgreSQL.
PANEL = ("publisher", "processes", "nodes")
# Nodes are not part of the panel: if all of them are unreachable, restarting the panel does not help.
NOT_OF_THE_PANEL = frozenset({"nodes"})


def ready() -> Found:
    """Return the state of PostgreSQL and its migrations. Pages and APIs need both."""
    return _postgresql.wait_for_answer()


def health() -> Found:
    """Return the health of PostgreSQL, Redis, the disk, the publisher, the panel's processes and the nodes."""
    checks = (_postgresql, _redis, _disk, _panel)
    for check in checks:
        check.begin()
    found = {name: part for check in checks[:-1] for name, part in check.wait_for_answer().items()}
    if any(found[name].state is not State.OK for name in ("postgresql", "migrations")):
        reason = "PostgreSQL knows, and cannot be asked"
        return {**found, **dict.fromkeys(PANEL, Part(State.UNKNOWN, reason))}
    return {**found, **_panel.wait_for_answer()}


def faults(found: Found) -> list[str]:
    """Return the names of the parts that make the panel unhealthy."""
    return [name for name, part in found.items() if part.state is State.FAULT and name not in NOT_OF_THE_PANEL]


def ask_postgresql() -> Found:
    """Return the state of PostgreSQL and of its migrations, within a few seconds even if it hangs."""
    parameters = connection.get_connection_params() | {"connect_timeout": CONNECT_SECONDS, "autocommit": True}
    parameters["application_name"] = application_name("health")
    try:
        with psycopg.connect(**parameters) as conn:
            conn.execute(f"SET statement_timeout = {CONNECT_SECONDS * 1000}")
            applied = set(conn.execute("SELECT app, name FROM django_migrations").fetchall())
    except psycopg.errors.UndefinedTable:
        return {"postgresql": OK, "migrations": Part(State.FAULT, "none was applied: run manage.py migrate")}
    except psycopg.Error as exc:
        return {
            "postgresql": Part(State.FAULT, reason_of(exc)),
            "migrations": Part(State.UNKNOWN, "PostgreSQL knows, and cannot be asked"),
        }
    if missing := sorted(migrations_of_code() - applied):
        first = ".".join(missing[0])
        reason = f"{len(missing)} not applied, of these first {first}: run manage.py migrate"
        return {"postgresql": OK, "migrations": Part(State.FAULT, reason)}
    return {"postgresql": OK, "migrations": OK}


@cache
def migrations_of_code() -> frozenset[tuple[str, str]]:
    """Return (app, name) of each migration in this release. The names come from the files, which are not imported."""
    found = set()
    for app in apps.get_app_configs():
        names = (path.name for path in (Path(app.path) / "migrations").glob("*.py"))
        found |= {(app.label, name.removesuffix(".py")) for name in names if name[0] not in "_~"}
    return frozenset(found)


def _ask_redis() -> Found:
    problem, reason = explained_problem()
    if problem is None:
        return {"redis": OK, "redis-writes": OK}
    if problem is RedisProblem.AWAY:
        return {"redis": Part(State.FAULT, reason), "redis-writes": Part(State.UNKNOWN, "Redis is away")}
    return {"redis": OK, "redis-writes": Part(State.FAULT, reason)}


def _ask_disk() -> Found:
    disk = disk_of(next(path for path in (settings.VAR_DIR, *settings.VAR_DIR.parents) if path.exists()))
    reason = f"{disk.free_bytes >> 20} MiB of {disk.bytes >> 20} MiB free, {disk.free_inodes} of {disk.inodes} inodes"
    is_full = disk.free_bytes < disk.bytes * LEAST_FREE_SHARE or disk.free_inodes < disk.inodes * LEAST_FREE_SHARE
    return {"disk": Part(State.FAULT if is_full else State.OK, reason)}


def _ask_panel() -> Found:
    """Return the health of the publisher, the processes and the nodes, and close this thread's connections."""
    now = timezone.now()
    try:
        return {"publisher": _publisher(), "processes": _processes(now), "nodes": _nodes(now)}
    finally:
        connections.close_all()


def _publisher() -> Part:
    stalls = list(Stall.objects.order_by("schema").values_list("message", flat=True))
    log = LogHead.objects.get()
    if stalls:
        return Part(State.FAULT, f"publishing stalls: {stalls[0]}")
    if log.held_reason:
        return Part(State.OK, f"publishing is held until a person decides: {log.held_reason}")
    return Part(State.OK, f"the newest publication is {log.sequence}")


def _processes(now: datetime) -> Part:
    """Return the health of the panel's processes, by the same rules as alerts. Redis has its own check."""
    state = processes_now()
    found = process_conditions(state, now, redis_answers=True)
    faults_found = [str(each.message) for each in found if each.severity is Severity.CRITICAL]
    if state.processes and not state.living(COLLECTOR, now):
        faults_found.append("the collector is silent")
    if faults_found:
        return Part(State.FAULT, " ".join(faults_found))
    names = sorted({each.name for each in state.processes})
    return Part(State.OK, "at work: " + (", ".join(names) or "none has said so"))


def _nodes(now: datetime) -> Part:
    statuses = node_statuses(now=now)
    words = Counter(str(status.health.word) for status in statuses)
    reason = ", ".join(f"{count} {word}" for word, count in sorted(words.items())) or "there are none"
    return Part(State.FAULT if any(status.health.word in FAULTS for status in statuses) else State.OK, reason)


_AT_FAULT, _UNKNOWN = State.FAULT, State.UNKNOWN
_postgresql = Check({"postgresql": _AT_FAULT, "migrations": _UNKNOWN}, ask_postgresql, fresh_seconds=1.0)
_redis = Check({"redis": _AT_FAULT, "redis-writes": _UNKNOWN}, _ask_redis)
_disk = Check({"disk": _AT_FAULT}, _ask_disk)
_panel = Check(dict.fromkeys(PANEL, _UNKNOWN), _ask_panel, fresh_seconds=1.0)
