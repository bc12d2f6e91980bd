"""Process runs over many zones in a worker's turns of limited length, with the author's current rights. Verbs.

The transaction that publishes a batch also writes the progress to the run's row. If a worker is killed, the run
therefore continues after the last published batch.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import BigIntegerField, Count, F, Func, QuerySet, Value
from django.dispatch import Signal
from django.utils import timezone

from dnspanel.accounts.actors.actors import (
    Actor,
    Author,
    Permission,
    Person,
    actor_of,
    actor_of_token,
    token_of,
    user_of,
)
from dnspanel.accounts.audit import audit
from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.database.database_away import is_away
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.errors import Forbidden, PublishingOnHold, RunRefused, ZoneError
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import UNFINISHED_STATES, ChangeRun, PolicyRun, Publication, RunState, TemplateRun, Zone
from dnspanel.zones.publishing.failed import failed_pieces
from dnspanel.zones.signals import room_requested

# After this time, a worker stops to let other jobs run.
TURN_SECONDS = 20.0
MOST_UNFINISHED = 3  # per person
# The number of times that a batch is read again because its zones changed.
_TRIES = 5
_NOBODY = gettext_noop(
    "The person who started this run no longer has permission because the account is closed or the token was revoked."
)

logger = logging.getLogger(__name__)

Run = TypeVar("Run", PolicyRun, TemplateRun, ChangeRun)


class Stopped(Exception):
    """The run was canceled, or another worker processed the same batch."""


def begin(  # noqa: PLR0913  # the fields of a run
    run: Run, *, by: Author, now: datetime, form_id: UUID | None, begun: Signal, action: str, target: str
) -> Run:
    """Create the run with its author and origin, and wake a worker. Record a real run in the audit log.

    If the same form is sent twice, return the first run. Raise RunRefused if MOST_UNFINISHED runs are unfinished.
    """
    model, user, where = type(run), user_of(by), audit.origin()
    run.author, run.token, run.created_at, run.form_id = user, token_of(by), now, form_id
    run.by_token, run.address, run.request_id = run.token is not None, where.address, where.request_id
    run.session = where.session_of()
    with transaction.atomic(durable=True):
        if form_id is not None and (first := model.objects.filter(form_id=form_id, author=user).first()):
            return first
        waiting = model.objects.filter(author=user, state__in=UNFINISHED_STATES)
        if by is not None and waiting.count() >= MOST_UNFINISHED:
            raise RunRefused(
                gettext(
                    "You already have {most_unfinished} unfinished runs. Wait until one finishes, or cancel one."
                ).format(most_unfinished=MOST_UNFINISHED)
            )
        run.save(force_insert=True)
        if not run.dry_run:
            audit.record(action=action, by=by, now=now, target=target, search=run.search, run=run.pk)
        transaction.on_commit(lambda: begun.send(sender=model, run_id=run.pk), robust=True)
    return run


def refuse_unless_done(dry_run: Run) -> None:
    """Raise RunRefused unless this is a dry run that ended successfully."""
    if not dry_run.dry_run or dry_run.state != RunState.DONE:
        raise RunRefused(gettext("Only a finished dry run can be applied."))


def cancel(run: Run, *, by: Author, now: datetime, action: str) -> None:
    """Stop the run after the current batch. Published batches are not undone. Raise RunRefused if the run has ended."""
    with transaction.atomic():
        if not unfinished_run(type(run), run.pk).update(state=RunState.CANCELLED, ended_at=now):
            raise RunRefused(gettext("This run has already ended."))
        if not run.dry_run:
            audit.record(action=action, by=by, now=now, target=f"run {run.pk}", run=run.pk)


def unfinished_run(model: type[Run], run_id: int) -> "QuerySet[Run]":
    """Select the run with this id, unless it has ended."""
    return model.objects.filter(pk=run_id, state__in=UNFINISHED_STATES)


def own_runs(model: type[Run], person: Person) -> "QuerySet[Run]":
    """Select the person's runs of this kind, newest first. For a token, select only the runs that it began."""
    actor = actor_of(person)
    if actor is None:
        return model.objects.none()
    runs = model.objects.filter(author=actor.user).order_by("-pk")
    return runs if actor.token is None else runs.filter(token=actor.token)


def unfinished_ids(model: type[Run]) -> list[int]:
    """Return the ids of the unfinished runs, or an empty list while publishing is on hold."""
    runs = model.objects.filter(state__in=UNFINISHED_STATES).order_by("pk")
    return [] if current_hold() else list(runs.values_list("pk", flat=True))


def author_of(run: Run) -> Actor | None:
    """Return the run's author with current rights, or None for the panel itself.

    Raise Forbidden if the account is closed or the token was revoked.
    """
    if run.author is None:
        return None
    actor = actor_of_token(run.token) if run.token else None if run.by_token else actor_of(run.author)
    if actor is None or (run.token is not None and run.token.revoked_at):
        raise Forbidden(Permission.EDIT, gettext(_NOBODY))
    return actor


def work(runs: "QuerySet[Run]", run_id: int, *, lock: Lock, take_batch: Callable[[Run], bool], seconds: float) -> bool:
    """Process batches of the run until it ends or `seconds` have passed. Return True if `seconds` have passed.

    Do nothing while another worker processes the run or publishing is on hold. Between the batches of a real run, wait
    until the nodes can receive another large publication in addition to edits. An error ends the run as failed, except
    Stopped, PublishingOnHold, and errors because PostgreSQL is unavailable. Errors other than ZoneError and
    SearchTooGeneral propagate.
    """
    with hold_lock(lock, run_id) as mine:
        until = time.monotonic() + seconds
        room = True
        while mine:
            run = runs.filter(pk=run_id, state__in=UNFINISHED_STATES).first()
            if run is None or current_hold():
                return False
            try:
                with audit.coming_from(audit.origin_of(run)):
                    goes_on = take_batch(run)
            except (Stopped, PublishingOnHold):
                return False
            except Exception as exc:
                if is_away(exc):
                    raise  # the same batch is tried again later
                is_refusal = isinstance(exc, ZoneError | SearchTooGeneral)
                fault = gettext("Internal error in the panel: {name}.").format(name=type(exc).__name__)
                _fail(run, str(exc) if is_refusal else fault)
                if not is_refusal:
                    raise
                return False
            if time.monotonic() >= until:
                return True
            if goes_on and not run.dry_run and room:
                room = all(answer for _, answer in room_requested.send(sender=Publication))
    return False


def take_zones(
    run: Run,
    selected: "QuerySet[Zone]",
    *,
    batch: int,
    carry_out: Callable[[Sequence[Zone], datetime], None],
    moved: tuple[type[Exception], ...],
    too_fast: str,
) -> bool:
    """Process the next of the selected zones, or end the run. Return True if more zones may follow.

    An error in `moved` means that a zone has just changed; the batch is then read again. Raise RunRefused with the
    reason `too_fast` if zones keep changing, and Stopped if the run was canceled or another worker has advanced it.
    """
    now = timezone.now()
    if run.state == RunState.WAITING:
        _start(run, total=selected.count(), now=now)
    for _ in range(_TRIES):
        zones = list(selected.filter(pk__gt=run.cursor).order_by("pk")[:batch])
        if not zones:
            _end(run, now)
            return False
        try:
            carry_out(zones, now)
        except moved:
            continue
        return len(zones) == batch
    raise RunRefused(too_fast)


def advance(
    run: Run, zones: Sequence[Zone], noted: Iterable[tuple[Zone, str, str]], most_listed: Mapping[str, int]
) -> list[tuple[Zone, str, str]]:
    """Store the run's progress, and count its findings. `noted` has (zone, finding, message).

    Return the entries of `noted` to list: `most_listed` limits their number for each finding. Raise Stopped if the run
    was canceled or another worker advanced it.
    """
    found: Counter[str] = Counter()
    listed = []
    for zone, finding, message in noted:
        found[finding] += 1
        if run.counts.get(finding, 0) + found[finding] <= most_listed[finding]:
            listed.append((zone, finding, message))
    counts = {finding: run.counts.get(finding, 0) + found[finding] for finding in {*run.counts, *found}}
    at_hand = type(run).objects.filter(pk=run.pk, state=RunState.RUNNING, cursor=run.cursor)
    if not at_hand.update(cursor=zones[-1].pk, done=run.done + len(zones), counts=counts):
        raise Stopped
    return listed


def note_publications(run: Run, sequences: Sequence[int]) -> None:
    """Record the publications that the run made. `sequences` must be in order, oldest first."""
    if sequences:
        added = Func(F("sequences"), Value(list(sequences), ArrayField(BigIntegerField())), function="array_cat")
        type(run).objects.filter(pk=run.pk).update(last_sequence=sequences[-1], sequences=added)


@dataclass(frozen=True, slots=True)
class TakenBackBatch:
    """A reverted publication of a run, with the number of zones that it changed."""

    sequence: int
    reason: str
    zones: int


def taken_back_of(run: PolicyRun | TemplateRun | ChangeRun) -> list[TakenBackBatch]:
    """Return the run's publications that were reverted, oldest first."""
    if not run.sequences:
        return []
    found = failed_pieces(run.sequences).annotate(zones=Count("revisions"))
    rows = found.values_list("pk", "failed_reason", "zones")
    return [TakenBackBatch(*row) for row in rows]


def _start(run: Run, *, total: int, now: datetime) -> None:
    """Start a waiting run over `total` zones. Raise Stopped if it isn't waiting."""
    waiting = type(run).objects.filter(pk=run.pk, state=RunState.WAITING)
    if not waiting.update(state=RunState.RUNNING, started_at=now, total=total):
        raise Stopped


def _end(run: Run, now: datetime) -> None:
    """Mark the run as done, unless it has ended or advanced since it was loaded."""
    if unfinished_run(type(run), run.pk).filter(cursor=run.cursor).update(state=RunState.DONE, ended_at=now):
        what = type(run).__name__
        logger.info("ended %s=%s dry=%s zones=%s counts=%s", what, run.pk, run.dry_run, run.done, run.counts)


def _fail(run: Run, message: str) -> None:
    logger.warning("%s=%s failed: %s", type(run).__name__, run.pk, message)
    unfinished_run(type(run), run.pk).update(state=RunState.FAILED, ended_at=timezone.now(), failure=message)
