"""Run imports in workers: one worker reads the source, and the others claim and do units of work. Verbs.

A source is another operator's server or a large archive, and reading it can take hours. Therefore `read_import` runs in
a process where it doesn't block other work. `work_on_import` processes the pieces that have been read, in short units.

Any number of processes can work on one import. A unit is claimed with a PostgreSQL advisory lock, which ends with the
process. If a worker is killed, the next worker can therefore take over its unit immediately. Every unit ends with one
commit, so work is never done twice.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from dnspanel.accounts.audit import audit
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.database.database_away import is_away
from dnspanel.transfer import places
from dnspanel.transfer.errors import TransferError
from dnspanel.transfer.imports import apply_piece, import_pace, import_plan, read, scan, undo
from dnspanel.transfer.models import ACTIVE_STATES, ImportJob, ImportPiece, PieceState, State
from dnspanel.transfer.signals import work_to_do
from dnspanel.transfer.sources.registry import open_source
from dnspanel.zones.errors import Forbidden, PublishingOnHold, QuotaExceeded
from dnspanel.zones.log.publish_hold import current_hold

# After this many seconds, a worker ends its work on an import, so that other jobs can run.
TURN_SECONDS = 20.0
# A worker without work waits this long for the next piece or phase. Then it ends, and is woken again later.
IDLE_SECONDS = 0.5
_PAUSE_SECONDS = 0.05
# How often the reader wakes workers for the pieces that it has read.
_WAKE_SECONDS = 0.25

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of a worker's time on an import, for the log. `again` is True if work is left."""

    summary: str
    again: bool = False


def read_import(job_id: int) -> str:
    """Read the import's source to its end, or until the import is paused or fails. Return a summary for the log.

    Do nothing if another worker is reading it, publishing is on hold, or too many workers read for the author.
    """
    job = _unread().select_related("author", "token").filter(pk=job_id).first()
    if job is None or current_hold():
        return f"import={job_id}: nothing to read"
    if not places.may_read(job.author_id):
        return f"import={job_id}: other sources of its author are being read"
    with hold_lock(Lock.READER, job.pk) as mine:
        if not mine or not _unread().filter(pk=job_id).exists():
            return f"import={job_id}: another worker reads it"
        try:
            ended = read.read_source(job=job, source=open_source(job), goes_on=_waking_while(job))
        except Exception as exc:
            _stop_or_raise(job, exc, TransferError, Forbidden, OSError)
            return f"import={job_id} stopped: {exc}"
    work_to_do.send(sender=ImportPiece, job_id=job_id)
    return f"import={job_id} {'read' if ended else 'stopped reading'}"


def imports_to_read() -> list[int]:
    """Return the ids of imports whose source has to be read. If publishing is on hold, return an empty list."""
    return [] if current_hold() else list(_unread().values_list("pk", flat=True))


def _unread() -> "QuerySet[ImportJob]":
    return ImportJob.objects.filter(state=State.SCANNING, read_ended=False, paused=False)


def _waking_while(job: ImportJob) -> Callable[[], bool]:
    """Return a function that wakes workers for pieces read so far. It returns True while reading should continue."""
    woken_at = 0.0

    def goes_on() -> bool:
        nonlocal woken_at
        now = time.monotonic()
        if now - woken_at >= _WAKE_SECONDS:
            woken_at = now
            work_to_do.send(sender=ImportPiece, job_id=job.pk)
        return _goes_on(job)

    return goes_on


def work_on_import(job_id: int) -> Turn:
    """Process this import's units of work until none are left or the worker's time is up.

    Stop early if the import is paused or fails, or if publishing is on hold. Do nothing if other people's imports have
    priority, or if the import already has enough workers.
    """
    first = places.imports_with_work().filter(pk=job_id).first()
    if first is None:
        return Turn(f"import={job_id} units=0: nothing to do")
    if not places.may_compute(first.author_id):
        return Turn(f"import={job_id}: the turn of others")
    with _worker_place(job_id) as has_place:
        return _work_in_turn(job_id) if has_place else Turn("enough workers")


def _work_in_turn(job_id: int) -> Turn:
    until = time.monotonic() + TURN_SECONDS
    units, idle = 0, 0.0
    while time.monotonic() < until:
        job = ImportJob.objects.select_related("author", "token").filter(pk=job_id, state__in=ACTIVE_STATES).first()
        if job is None or job.paused:
            return Turn(f"import={job_id} units={units}: nothing to do")
        if current_hold():
            return Turn(f"import={job_id} units={units}: waits while publishing is held")
        try:
            with audit.coming_from(audit.origin_of(job)):
                done = _do_unit(job)
        except PublishingOnHold:
            continue  # the hold began just now, and the piece is unchanged
        except Exception as exc:
            _stop_or_raise(job, exc, TransferError, Forbidden, QuotaExceeded, OSError)
            return Turn(f"import={job_id} stopped: {exc}")
        units += done
        idle = 0.0 if done else idle + _PAUSE_SECONDS
        if idle > IDLE_SECONDS:
            return Turn(f"import={job_id} units={units}: nothing to do just now")
        if not done:
            time.sleep(_PAUSE_SECONDS)
    return Turn(f"import={job_id} units={units}", again=True)


def active_imports() -> list[int]:
    """Return the ids of imports with work.

    If publishing is on hold, return an empty list, because zone ids must not be assigned then.
    """
    return [] if current_hold() else list(places.imports_with_work().values_list("pk", flat=True))


def _stop_or_raise(job: ImportJob, exc: Exception, *expected: type[Exception]) -> None:
    """Stop the import, and raise the error again unless it is in `expected`.

    If the database is unreachable, only raise the error again.
    """
    if is_away(exc):
        raise exc
    _stop(job, exc)
    if not isinstance(exc, expected):
        raise exc


def _stop(job: ImportJob, exc: Exception) -> None:
    """Pause the job and record its failure. A person has to resume it."""
    logger.warning("import=%s stopped in state=%s: %s", job.pk, job.state, exc)
    message = str(exc) or type(exc).__name__
    ImportJob.objects.filter(pk=job.pk, state=job.state).update(paused=True, failure=message)


def _do_unit(job: ImportJob) -> bool:
    """Do one unit of the job's phase, or end the phase after the last unit. Return False if neither is possible now."""
    if job.state == State.PLANNING and not job.phase_begun:
        with hold_lock(Lock.PHASE, job.pk) as mine:
            if mine and _goes_on(job):  # the previous owner of the lock may have ended the phase
                import_plan.begin_plan(job=job)
            return mine
    steps = _STEPS[State(job.state)]
    for state, step in steps:
        with _claimed_piece(job, state) as piece:
            if piece is not None:
                step(job, piece)
                return True
    return _end_phase(job, steps)


def _goes_on(job: ImportJob) -> bool:
    return ImportJob.objects.filter(pk=job.pk, state=job.state, paused=False).exists()


def _scan(job: ImportJob, piece: ImportPiece) -> None:
    scan.scan_piece(job=job, piece=piece)


def _plan(job: ImportJob, piece: ImportPiece) -> None:
    import_plan.plan_piece(job=job, piece=piece)


def _apply(job: ImportJob, piece: ImportPiece) -> None:
    import_pace.wait_for_room(lambda: _goes_on(job))
    if _goes_on(job):
        apply_piece.apply_piece(job=job, piece=piece, now=timezone.now())


def _undo(job: ImportJob, piece: ImportPiece) -> None:
    import_pace.wait_for_room(lambda: _goes_on(job))
    if _goes_on(job):
        undo.undo_piece(job=job, piece=piece, now=timezone.now())


Step = Callable[[ImportJob, ImportPiece], None]

# The piece states with work in each phase. A piece whose stage file was lost goes through all steps again.
_STEPS: dict[State, list[tuple[PieceState, Step]]] = {
    State.SCANNING: [(PieceState.SPOOLED, _scan)],
    State.PLANNING: [(PieceState.SPOOLED, _scan), (PieceState.SCANNED, _plan)],
    State.APPLYING: [(PieceState.SPOOLED, _scan), (PieceState.SCANNED, _plan), (PieceState.PLANNED, _apply)],
    State.UNDOING: [(PieceState.APPLIED, _undo), (PieceState.PLANNED, _undo)],
}


def _end_phase(job: ImportJob, steps: list[tuple[PieceState, Step]]) -> bool:
    """Enter the next state if all is read and finished. Return False if not, or if another worker does this."""
    phase = job.state
    with hold_lock(Lock.PHASE, job.pk) as mine:
        if not mine:
            return False
        job.refresh_from_db()
        if job.state != phase:  # another worker ended the phase, and `steps` belong to it
            return False
        if not job.read_ended and job.state == State.SCANNING:
            return False
        if ImportPiece.objects.filter(job=job, state__in=[state for state, _ in steps]).exists():
            return False
        now = timezone.now()
        seconds = (now - job.phase_at).total_seconds()
        if job.state == State.SCANNING:
            scan.finish_scan(job=job, seconds=seconds)
        elif job.state == State.PLANNING:
            import_plan.finish_plan(job=job, seconds=job.plan_seconds + seconds)
        elif job.state == State.APPLYING:
            apply_piece.finish_apply(job=job, seconds=job.apply_seconds + seconds, now=now)
        elif job.state == State.UNDOING:
            undo.finish_undo(job=job, now=now)
        return True


@contextmanager
def _claimed_piece(job: ImportJob, state: PieceState) -> Iterator[ImportPiece | None]:
    """Claim a piece in this state that no other worker has claimed. Yield None if no piece is available."""
    waiting = ImportPiece.objects.filter(job=job, state=state).order_by("number")
    for piece in waiting[: 4 * settings.TRANSFER_PROCESSES]:
        with hold_lock(Lock.PIECE, piece.pk) as mine:
            if not mine:
                continue
            piece.refresh_from_db()  # read the state again, now that no other worker can change it
            if piece.state == state:
                yield piece
                return
    yield None


@contextmanager
def _worker_place(job_id: int) -> Iterator[bool]:
    """Take one of the job's worker slots until the block ends. Yield False if all slots are taken."""
    for place in range(settings.TRANSFER_PROCESSES):
        with hold_lock(Lock.WORKER, job_id * places.WORKERS_OF_IMPORT + place) as mine:
            if mine:
                yield True
                return
    yield False
