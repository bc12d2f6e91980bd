"""Read the state of the panel's processes and periodic tasks, with three queries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

from django.conf import settings

from dnspanel.celery import app
from dnspanel.fleet.models import PanelProcess, PeriodicTask
from dnspanel.fleet.nodes.heartbeats import LEFT, REDIS_AWAY, WATCH_SINCE, answers_in, heartbeats
from dnspanel.fleet.processes.process_roles import ANSWER_WITHIN, NAMES, SILENT_AFTER

# After an outage of PostgreSQL or of the whole panel, every process has this long to appear.
STABLE_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class ProcessNow:
    """A process that is running, or that ended without deleting its row."""

    name: str
    host: str
    pid: int
    started_at: datetime
    at: datetime  # when it was last at work
    version: str = ""
    places: int = 0
    busy: int = 0
    task: str = ""
    task_since: datetime | None = None

    def is_silent(self, now: datetime, watched_since: datetime | None) -> bool:
        """Return True if the last heartbeat is too old. After `watched_since`, processes have STABLE_AFTER to start."""
        known_at = self.at
        if watched_since is not None:
            known_at = max(known_at, watched_since + STABLE_AFTER - SILENT_AFTER)
        return now - known_at > SILENT_AFTER


@dataclass(frozen=True, slots=True)
class PeriodicNow:
    """An entry of beat's schedule with its current state."""

    name: str
    queue: str
    interval: timedelta
    since: datetime
    succeeded_at: datetime | None = None
    failures: int = 0
    failing_since: datetime | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class ProcessesNow:
    """All processes, every queue's last answer to the roll call, and all periodic tasks."""

    processes: tuple[ProcessNow, ...] = ()
    periodic: tuple[PeriodicNow, ...] = ()
    answered: Mapping[str, datetime] = field(default_factory=dict)
    left: Mapping[str, datetime] = field(default_factory=dict)  # name → last regular stop of a process with this name
    watched_since: datetime | None = None
    redis_away_at: datetime | None = None  # when Redis last did not answer

    def living(self, name: str, now: datetime) -> list[ProcessNow]:
        return [each for each in self.processes if each.name == name and not each.is_silent(now, self.watched_since)]


def processes_now(beats: Mapping[str, datetime] | None = None) -> ProcessesNow:
    """Read the whole state, with processes in the order of NAMES. Pass `beats` if they are already known."""
    beats = heartbeats() if beats is None else beats
    columns = ("name", "host", "pid", "started_at", "at", "version", "places", "busy", "task", "task_since")
    processes = [ProcessNow(*row) for row in PanelProcess.objects.values_list(*columns)]
    processes.sort(key=lambda each: (NAMES.index(each.name) if each.name in NAMES else len(NAMES), each.host, each.pid))
    return ProcessesNow(
        tuple(processes),
        _periodic(),
        answers_in(beats),
        {name.removeprefix(LEFT): at for name, at in beats.items() if name.startswith(LEFT)},
        beats.get(WATCH_SINCE),
        beats.get(REDIS_AWAY),
    )


def is_at_work(queue: str, beats: Mapping[str, datetime], now: datetime) -> bool | None:
    """Return True if a worker of the queue answered the roll call recently, False if all are silent, otherwise None.

    `beats` are the times of all processes' heartbeats. This needs one query.
    """
    signs = list(PanelProcess.objects.filter(name=queue).values_list("at", flat=True))
    if not signs:
        return None
    if all(now - at > SILENT_AFTER for at in signs):
        return False
    answered_at = answers_in(beats).get(queue)
    return True if answered_at is not None and now - answered_at <= ANSWER_WITHIN else None


@cache
def queue_of(task: str) -> str:
    """Return the queue that a task is routed to."""
    return str(app.amqp.router.route({}, task)["queue"].name)


def _periodic() -> tuple[PeriodicNow, ...]:
    schedule = settings.CELERY_BEAT_SCHEDULE
    columns = ("since", "succeeded_at", "failures", "failing_since", "error")
    rows = {row[0]: row[1:] for row in PeriodicTask.objects.values_list("name", *columns)}
    return tuple(
        PeriodicNow(name, queue_of(str(entry["task"])), timedelta(seconds=float(str(entry["schedule"]))), *rows[name])
        for name, entry in schedule.items()
        if name in rows
    )
