"""Keeps the rows of the panel's processes: one for each that runs. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.db import connection

from dnspanel import __version__
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
    """Which process it is: what it does, on which machine, with which id, and since when."""

    name: str
    host: str
    pid: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class Load:
    """How many tasks a worker takes at a time, how many it has, and the oldest of them."""

    places: int = 0
    busy: int = 0
    task: str = ""
    task_since: datetime | None = None


def beat_process(*, identity: Identity, load: Load, now: datetime) -> None:
    """Write that the process was at work at `now`. One statement."""
    each = identity
    place = (each.name, each.host, each.pid, each.started_at, now, __version__)
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, (*place, load.places, load.busy, load.task, load.task_since))


def replace_dead(*, identity: Identity) -> None:
    """Delete the rows of processes of this name that ended on this machine: the new one takes their place.

    One that others ask from elsewhere has no id (0), and is at one address alone.
    """
    rows = PanelProcess.objects.filter(name=identity.name).exclude(host=identity.host, pid=identity.pid)
    if identity.pid:
        rows = rows.filter(host=identity.host)
    dead = [row.pk for row in rows if not identity.pid or not Path(f"/proc/{row.pid}").exists()]
    PanelProcess.objects.filter(pk__in=dead).delete()


def say_goodbye(*, names: Sequence[str], host: str, pid: int, now: datetime) -> None:
    """Delete the rows of a process that ends in order, and write down when that was. Idempotent."""
    PanelProcess.objects.filter(name__in=names, host=host, pid=pid).delete()
    for name in names:
        beat(process=f"{LEFT}{name}", now=now)


def forget_lost(*, now: datetime) -> None:
    """Delete rows of processes that ended without a goodbye long ago, if others of their name are at work."""
    rows: Sequence[PanelProcess] = list(PanelProcess.objects.all())
    living = {row.name for row in rows if now - row.at <= REMEMBERED_FOR}
    lost = [row.pk for row in rows if row.name in living and now - row.at > REMEMBERED_FOR]
    if lost:
        PanelProcess.objects.filter(pk__in=lost).delete()
