"""Store the panel's running processes in PostgreSQL, one row for each process. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dnspanel import __version__
from dnspanel.database.sql import execute
from dnspanel.fleet.models import PanelProcess
from dnspanel.fleet.nodes.heartbeats import LEFT, beat
from dnspanel.fleet.processes.process_roles import REMEMBERED_FOR

_BEAT = """
INSERT INTO fleet_panelprocess (name, host, pid, started_at, at, version, places, busy, task, task_since)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (name, host, pid) DO UPDATE SET at = excluded.at, started_at = excluded.started_at,
    version = excluded.version, places = excluded.places, busy = excluded.busy,
    task = excluded.task, task_since = excluded.task_since
"""


@dataclass(frozen=True, slots=True)
class Identity:
    name: str
    host: str
    pid: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Load:
    """A worker's load: its capacity, the number of tasks that it has taken, and the oldest of these tasks."""

    places: int = 0
    busy: int = 0
    task: str = ""
    task_since: datetime | None = None


def beat_process(*, identity: Identity, load: Load, now: datetime) -> None:
    """Record in one statement that the process was running at `now`."""
    each = identity
    place = (each.name, each.host, each.pid, each.started_at, now, __version__)
    execute(_BEAT, (*place, load.places, load.busy, load.task, load.task_since))


def replace_dead(*, identity: Identity) -> None:
    """Delete rows of ended processes with this process's name that ran on this machine.

    If the id is 0, another process polls this one. Then delete all other rows with the name, on any machine.
    """
    rows = PanelProcess.objects.filter(name=identity.name).exclude(host=identity.host, pid=identity.pid)
    if identity.pid:
        rows = rows.filter(host=identity.host)
    dead = [row.pk for row in rows if not identity.pid or not Path(f"/proc/{row.pid}").exists()]
    PanelProcess.objects.filter(pk__in=dead).delete()


def say_goodbye(*, names: Sequence[str], host: str, pid: int, now: datetime) -> None:
    """Delete the rows of a process that shuts down cleanly, and record the time of the shutdown."""
    PanelProcess.objects.filter(name__in=names, host=host, pid=pid).delete()
    for name in names:
        beat(process=f"{LEFT}{name}", now=now)


def forget_lost(*, now: datetime) -> None:
    """Delete the rows of processes that disappeared long ago, if another process with the same name is running."""
    rows: Sequence[PanelProcess] = list(PanelProcess.objects.all())
    living = {row.name for row in rows if now - row.at <= REMEMBERED_FOR}
    lost = [row.pk for row in rows if row.name in living and now - row.at > REMEMBERED_FOR]
    if lost:
        PanelProcess.objects.filter(pk__in=lost).delete()
