"""Store the last success and the failures of each entry in beat's schedule, in one row per entry. Verbs.

Some entries run every second, so workers collect outcomes in memory and write them with their heartbeat every few
seconds.
"""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from dnspanel.database.sql import execute
from dnspanel.fleet.models import PeriodicTask

LONGEST_ERROR = 300

# Two workers can write the same entries at the same time. Both lock them in the same order.
_RECORD = """
WITH found AS (
    SELECT * FROM unnest(%s::text[], %s::timestamptz[], %s::int[], %s::timestamptz[], %s::text[])
        AS f (name, succeeded_at, failures, failed_at, error)
), locked AS (
    SELECT p.name FROM fleet_periodictask p JOIN found f ON f.name = p.name ORDER BY p.name FOR UPDATE OF p
)
UPDATE fleet_periodictask p SET
    succeeded_at = coalesce(f.succeeded_at, p.succeeded_at),
    failures = f.failures + CASE WHEN f.succeeded_at IS NULL THEN p.failures ELSE 0 END,
    failing_since = CASE
        WHEN f.failures = 0 THEN NULL
        WHEN f.succeeded_at IS NULL THEN coalesce(p.failing_since, f.failed_at)
        ELSE f.failed_at END,
    error = f.error
FROM found f, locked WHERE p.name = f.name AND locked.name = p.name"""


@dataclass(slots=True)
class Outcome:
    """The results of an entry's runs since they were last written."""

    succeeded_at: datetime | None = None
    failures: int = 0  # since the last success
    failed_at: datetime | None = None  # the first of these failures
    error: str = ""


@dataclass(slots=True)
class Outcomes:
    """The outcomes of periodic tasks in this process. The object is thread-safe."""

    found: dict[str, Outcome] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_success(self, task: str, now: datetime) -> None:
        for name in entries_by_task().get(task, ()):
            with self._lock:
                self.found[name] = Outcome(succeeded_at=now)

    def note_failure(self, task: str, error: BaseException, now: datetime) -> None:
        for name in entries_by_task().get(task, ()):
            with self._lock:
                outcome = self.found.setdefault(name, Outcome())
                outcome.failures += 1
                outcome.failed_at = outcome.failed_at or now
                outcome.error = message_of(error)

    def take(self) -> dict[str, Outcome]:
        with self._lock:
            found, self.found = self.found, {}
        return found


def entries_by_task() -> Mapping[str, Collection[str]]:
    """Return the schedule's entries, grouped by the task that they run."""
    found: dict[str, list[str]] = {}
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        found.setdefault(str(entry["task"]), []).append(name)
    return found


def message_of(error: BaseException) -> str:
    """Return the error's class and the first line of its message, cut to LONGEST_ERROR characters."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first}"[:LONGEST_ERROR]


def record_outcomes(*, outcomes: Mapping[str, Outcome]) -> None:
    """Write the outcomes, keyed by the entry's name, in one statement."""
    if not outcomes:
        return
    names, found = list(outcomes), list(outcomes.values())
    columns: list[list[Any]] = [
        names,
        [each.succeeded_at for each in found],
        [each.failures for each in found],
        [each.failed_at for each in found],
        [each.error for each in found],
    ]
    execute(_RECORD, columns)


def know_schedule(*, names: Collection[str], now: datetime) -> None:
    """Add rows for new entries of the schedule, starting now, and delete the rows of removed entries."""
    rows = [PeriodicTask(name=name, since=now) for name in names]
    PeriodicTask.objects.bulk_create(rows, ignore_conflicts=True)
    PeriodicTask.objects.exclude(name__in=names).delete()


def last_done() -> dict[str, datetime]:
    """Return the last success of each entry, or the time when it was added if it never succeeded."""
    rows = PeriodicTask.objects.values_list("name", "succeeded_at", "since")
    return {name: succeeded_at or since for name, succeeded_at, since in rows}
