"""Distribute workers fairly among people, not among jobs.

Nothing is stored. Advisory locks show which jobs have workers, and a lock ends with its worker. Celery beat retries a
job that had to wait. If two jobs are started at the same moment, both can exceed a person's share for a short time.
"""

from collections import Counter
from math import ceil

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from dnspanel.advisory_locks import Lock, locked_keys
from dnspanel.transfer.import_limits import MOST_READ_AT_ONCE
from dnspanel.transfer.models import CutoverCheck, ExportJob, ImportJob, ImportPiece, PieceState, State
from dnspanel.zones.models import UNFINISHED_STATES

# The second half of the lock key of an import's worker is the import's id times this, plus the worker's number.
WORKERS_OF_IMPORT = 64

Person = int | None  # id; None for the panel's own jobs


def may_read(person: Person) -> bool:
    """Return True if this person has few enough workers that read sources or run comparisons to use another one."""
    return person is None or _people_reading()[person] < MOST_READ_AT_ONCE


def may_compute(person: Person) -> bool:
    """Return True if another worker can process this person's imports and exports.

    If several people are waiting, each person gets an equal share of the workers.
    """
    waiting = _people_waiting() | {person}
    return is_fair(_people_at_work()[person], people=len(waiting), places=settings.TRANSFER_PROCESSES)


def is_fair(taken: int, *, people: int, places: int) -> bool:
    """Return True if a person with `taken` of the `places` can take another one while `people` share them."""
    return taken < max(1, ceil(places / people))


def imports_with_work() -> "QuerySet[ImportJob]":
    """Return the imports that have work for a worker.

    Paused imports, and imports that wait for more of their source, are omitted.
    """
    has_spooled = Exists(ImportPiece.objects.filter(job=OuterRef("pk"), state=PieceState.SPOOLED))
    is_found = Q(state=State.SCANNING) & (Q(read_ended=True) | has_spooled)
    return ImportJob.objects.filter(
        Q(state__in=(State.PLANNING, State.APPLYING, State.UNDOING)) | is_found, paused=False
    )


def _people_waiting() -> set[Person]:
    exports = ExportJob.objects.filter(state__in=UNFINISHED_STATES)
    return {*imports_with_work().values_list("author", flat=True), *exports.values_list("author", flat=True)}


def _people_at_work() -> Counter[Person]:
    taken = locked_keys(Lock.WORKER, Lock.EXPORT)
    imports = Counter(key // WORKERS_OF_IMPORT for lock, key in taken if lock == Lock.WORKER)
    exports = Counter(key for lock, key in taken if lock == Lock.EXPORT)
    return _by_author(ImportJob, imports) + _by_author(ExportJob, exports)


def _people_reading() -> Counter[Person]:
    taken = locked_keys(Lock.READER, Lock.COMPARISON)
    imports = Counter(key for lock, key in taken if lock == Lock.READER)
    checks = Counter(key for lock, key in taken if lock == Lock.COMPARISON)
    return _by_author(ImportJob, imports) + _by_author(CutoverCheck, checks)


def _by_author(model: type[ImportJob] | type[ExportJob] | type[CutoverCheck], jobs: Counter[int]) -> "Counter[Person]":
    people: Counter[Person] = Counter()
    if jobs:
        for pk, author in model._default_manager.filter(pk__in=jobs).values_list("pk", "author"):
            people[author] += jobs[pk]
    return people
