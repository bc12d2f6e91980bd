"""Queries for the runs that change many zones, for people and for the worker."""

from collections.abc import Mapping
from enum import StrEnum

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.database.first_rows import first_or
from dnspanel.zones.errors import ChangeRunUnknown
from dnspanel.zones.models import UNFINISHED_STATES, ChangeRun, ZoneAct
from dnspanel.zones.runs import run_turns


class Outcome(StrEnum):
    """A run's outcome for one zone."""

    CHANGE = "change"
    REFUSED = "refused"
    SAME = "same"


RIGHTS_OF_ACTS: Mapping[str, Right] = {
    ZoneAct.DELETE: Right.DELETE_ZONE,
    ZoneAct.POLICY: Right.DNSSEC,
    ZoneAct.RESTORE: Right.DELETE_ZONE,
}


def may_be_undone(run: ChangeRun) -> bool:
    """Return True if `undo_run` accepts the run: it is a real run, not an undo, has ended, and changed zones."""
    has_ended = run.state not in UNFINISHED_STATES
    return has_ended and not run.dry_run and run.undo_of_id is None and bool(run.counts.get(Outcome.CHANGE))


def may_begin_runs(person: Person) -> bool:
    """Return True if the person can begin a run with at least one action on at least one zone."""
    actor = actor_of(person)
    return actor is not None and any(map(actor.may_somewhere, (Right.SETTINGS, *RIGHTS_OF_ACTS.values())))


def runs_visible_to(person: Person) -> "QuerySet[ChangeRun]":
    """Select the person's own runs, newest first. For a token, select only the runs that it began."""
    return run_turns.own_runs(ChangeRun, person).select_related("author", "team", "policy")


def run_for(person: Person, run_id: int) -> ChangeRun:
    """Return the run with this id. Raise ChangeRunUnknown if it isn't visible to the person."""
    return first_or(runs_visible_to(person).filter(pk=run_id), ChangeRunUnknown)
