"""Apply the same change to many zones as a job: a dry run, then the real run in batches, and an undo. Verbs.

A real run only covers the zones that its dry run found, so that a person can review every zone before it changes. A
zone that changed since the dry run is either changed completely or rejected with the reason. An undo works zone by zone
and keeps later changes by other people. A repeated step changes nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Actor, Author, Permission, Right, actor_of
from dnspanel.accounts.models import Team
from dnspanel.advisory_locks import Lock
from dnspanel.texts import gettext, gettext_noop
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden, RightMissing, RunRefused, SettingsRefused, ZoneError
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import (
    ChangeRun,
    ChangeRunZone,
    Channel,
    DnssecPolicy,
    PolicyAttachment,
    Publication,
    Revision,
    Zone,
    ZoneAct,
)
from dnspanel.zones.plan.deletion_guard import refuse_mass_deletion
from dnspanel.zones.publishing import bulk, many_settings, restore_zones
from dnspanel.zones.rights import access
from dnspanel.zones.runs import run_turns
from dnspanel.zones.runs.change_run_queries import RIGHTS_OF_ACTS, Outcome, may_be_undone
from dnspanel.zones.signals import change_run_begun
from dnspanel.zones.signing import policies

BATCH = 500
MOST_NAMED = 1_000

_EVERY = 2**31
_MOVED = gettext_noop("The zone was changed in the meantime, or a publish hook refused the change.")


# The number of listed zones per outcome. All changing zones are listed, because the real run uses this list.
MOST_LISTED: Mapping[str, int] = {Outcome.CHANGE: _EVERY, Outcome.REFUSED: 1_000, Outcome.SAME: 0}


@dataclass(frozen=True, slots=True)
class Alike:
    """The change to apply to each zone. If `policy` is None, a policy change removes the zone's own policy."""

    act: ZoneAct
    tags: tuple[str, ...] = ()
    team: Team | None = None
    policy: DnssecPolicy | None = None
    reason: str = ""

    @property
    def marks(self) -> many_settings.Marks:
        """The tags and the team to set, for actions on tags or teams."""
        add = self.tags if self.act == ZoneAct.ADD_TAGS else ()
        remove = self.tags if self.act == ZoneAct.REMOVE_TAGS else ()
        return many_settings.Marks(add, remove, self.act == ZoneAct.TEAM, self.team)


@dataclass(slots=True)
class _Found:
    """A batch's results, keyed by zone id: outcomes, messages, and each changing zone's state before the change."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    messages: dict[int, str] = field(default_factory=dict)
    before: dict[int, dict[str, Any]] = field(default_factory=dict)

    def refuse(self, zone: Zone, reason: str) -> None:
        self.outcomes[zone.pk], self.messages[zone.pk] = Outcome.REFUSED, reason

    def change(self, zone: Zone, before: Mapping[str, Any]) -> None:
        self.outcomes[zone.pk], self.before[zone.pk] = Outcome.CHANGE, dict(before)

    def take(self, outcome: many_settings.ZonesOutcome) -> None:
        """Record the changed and the rejected zones. Other zones count as unchanged."""
        for zone in outcome.changed:
            self.change(zone, {"tags": zone.tags, "team": zone.team_id})
        for zone, reason in outcome.refused:
            self.refuse(zone, reason)


def create_run(
    *, alike: Alike, by: Author, now: datetime, search: str = "", names: Sequence[str] = (), form_id: UUID | None = None
) -> ChangeRun:
    """Create a dry run over the named zones, or over the zones that a search finds (an empty search finds all).

    A run that restores zones covers zones in the trash. The run waits for a worker. A form sent twice returns the first
    run. Raise Forbidden if the author doesn't have the right to the action over at least one zone. Raise
    SettingsRefused for missing tags or an invalid team. Raise RunRefused if the author has several unfinished runs, or
    if there are more than MOST_NAMED names.
    """
    _require_somewhere(by, alike.act)
    if len(names) > MOST_NAMED:
        raise RunRefused(
            gettext("Enter at most {most_named:,} zones. Use a search to select more zones.").format(
                most_named=MOST_NAMED
            )
        )
    if alike.act in (ZoneAct.ADD_TAGS, ZoneAct.REMOVE_TAGS) and not alike.tags:
        raise SettingsRefused("tags", gettext("Enter at least one tag."))
    if by is not None and alike.act == ZoneAct.TEAM:
        many_settings.outcome_of_marks([], alike.marks, by)
    run = ChangeRun(
        act=alike.act,
        tags=list(alike.tags),
        team=alike.team,
        policy=alike.policy,
        reason=alike.reason,
        search=search.strip(),
        names=list(names),
        dry_run=True,
    )
    return _begin(run, by, now, form_id)


def start_run(
    *, dry_run: ChangeRun, by: Author, now: datetime, confirmed: bool = False, form_id: UUID | None = None
) -> ChangeRun:
    """Create the real run for a dry run. The new run waits for a worker.

    Raise RunRefused if the dry run did not end successfully, or if the author has several unfinished runs. Raise
    Forbidden like `create_run`, and MassDeletion if the run would delete too many zones, unless `confirmed`.
    """
    _require_somewhere(by, dry_run.act)
    run_turns.refuse_unless_done(dry_run)
    if dry_run.act == ZoneAct.DELETE and not confirmed:
        found = Zone.objects.filter(pk__in=_changed_by(dry_run.pk))
        refuse_mass_deletion(author=by, count=dry_run.counts.get(Outcome.CHANGE, 0), now=now, zones=found)
    return _begin(_like(dry_run, dry_run_of=dry_run), by, now, form_id)


def undo_run(*, run: ChangeRun, by: Author, now: datetime, form_id: UUID | None = None) -> ChangeRun:
    """Create a run that undoes the changes of `run` but keeps later changes by other people.

    The new run waits for a worker. Raise Forbidden like `create_run`. Raise RunRefused if `run` is a dry run or an
    undo, is unfinished, or changed nothing, or if the author has several unfinished runs.
    """
    _require_somewhere(by, run.act)
    if not may_be_undone(run):
        raise RunRefused(gettext("Only a finished run that changed zones can be undone."))
    return _begin(_like(run, undo_of=run), by, now, form_id)


def cancel_run(*, run: ChangeRun, by: Author, now: datetime) -> None:
    """Stop the run after the current batch. Finished batches are not undone. Raise RunRefused if the run has ended."""
    run_turns.cancel(run, by=by, now=now, action="zone.run_cancel")


def work_on_run(run_id: int, *, batch: int = BATCH, seconds: float = run_turns.TURN_SECONDS) -> bool:
    """Process batches of the run for one turn. Return True if the turn ended because its time was up."""
    return run_turns.work(
        ChangeRun.objects.select_related("author", "token", "team", "policy", "dry_run_of", "undo_of"),
        run_id,
        lock=Lock.CHANGE_RUN,
        take_batch=lambda run: _take_batch(run, batch),
        seconds=seconds,
    )


def _like(run: ChangeRun, **links: ChangeRun) -> ChangeRun:
    return ChangeRun(
        act=run.act,
        tags=run.tags,
        team=run.team,
        policy=run.policy,
        reason=run.reason,
        search=run.search,
        names=run.names,
        dry_run=False,
        **links,
    )


def _begin(run: ChangeRun, by: Author, now: datetime, form_id: UUID | None) -> ChangeRun:
    return run_turns.begin(
        run,
        by=by,
        now=now,
        form_id=form_id,
        begun=change_run_begun,
        action="zone.run_undo" if run.undo_of else "zone.run",
        target=ZoneAct(run.act).label,
    )


def _require_somewhere(by: Author, act: str) -> None:
    actor = None if by is None else actor_of(by)
    if by is not None and (actor is None or not actor.may_somewhere(RIGHTS_OF_ACTS.get(act, Right.SETTINGS))):
        raise Forbidden(Permission.EDIT)


def _take_batch(run: ChangeRun, batch: int) -> bool:
    """Process the next zones, or end the run. Return True if more may follow. Raise RunRefused if it has no author."""
    author = run_turns.author_of(run)
    if author is None:
        raise RunRefused(gettext("A run that changes zones must have an author."))
    doing = _Batch(run, author)
    return run_turns.take_zones(
        run,
        _zones_of_run(run, author),
        batch=batch,
        carry_out=doing.look if run.dry_run else doing.take_back if run.undo_of else doing.carry_out,
        moved=(RightMissing,),  # a zone was deleted or moved to another team
        too_fast=gettext("The zones in this run are being changed too often at the same time. Try again later."),
    )


def _zones_of_run(run: ChangeRun, author: Actor) -> "QuerySet[Zone]":
    if run.undo_of_id is not None:
        zones = access.trash_visible_to(author) | access.zones_visible_to(author)
        return zones.filter(pk__in=_changed_by(run.undo_of_id))
    visible = restore_zones.newest_in_trash(author) if run.act == ZoneAct.RESTORE else access.zones_visible_to(author)
    if run.dry_run_of_id is not None:
        return visible.filter(pk__in=_changed_by(run.dry_run_of_id))
    return visible.filter(name__in=run.names) if run.names else found_zones(visible, run.search)


def _changed_by(run_id: int) -> "QuerySet[ChangeRunZone, int]":
    return ChangeRunZone.objects.filter(run=run_id, outcome=Outcome.CHANGE).values_list("zone_id", flat=True)


class _Batch:
    def __init__(self, run: ChangeRun, author: Actor) -> None:
        self._run, self._author = run, author
        self._alike = Alike(ZoneAct(run.act), tuple(run.tags), run.team, run.policy, run.reason)
        self._channel = Channel.API if run.by_token else Channel.WEB
        self._of_undo = panel_reasons.RUN_TAKEN_BACK.format(undone=run.undo_of_id, number=run.pk)

    def look(self, zones: Sequence[Zone], now: datetime) -> None:
        """Store each zone's expected outcome in the run, without changing the zone."""
        found = _Found()
        match self._alike.act:
            case ZoneAct.DELETE:
                found.take(many_settings.deletable(zones, self._author))
            case ZoneAct.POLICY:
                self._policies(zones, found)
            case ZoneAct.RESTORE:
                found.take(
                    restore_zones.preview_restore(zones=zones, author=self._author, now=now, reason=self._run.reason)
                )
            case _:
                found.take(many_settings.outcome_of_marks(zones, self._alike.marks, self._author))
        self._advance_alone(zones, found)

    def carry_out(self, zones: Sequence[Zone], now: datetime) -> None:
        """Change these zones, and store the outcomes in the run."""
        match self._alike.act:
            case ZoneAct.DELETE:
                self._delete(zones, now)
            case ZoneAct.RESTORE:
                found = _Found()
                title = panel_reasons.RUN.format(number=self._run.pk)
                reason = f"{self._run.reason} ({title})" if self._run.reason else title
                self._restore(zones, found, reason, now)
                self._advance_alone(zones, found)
            case ZoneAct.POLICY:
                with transaction.atomic(durable=True):
                    found = _Found()
                    for zone in self._policies(zones, found):
                        self._attach(zone, self._alike.policy, now)
                    self._advance(zones, found)
            case _:
                many_settings.change_marks(
                    zones=zones,
                    marks=self._alike.marks,
                    author=self._author,
                    now=now,
                    in_transaction=lambda outcome: self._advance(zones, _found_in(outcome)),
                )

    def take_back(self, zones: Sequence[Zone], now: datetime) -> None:
        """Undo the original run's changes in these zones, and store the outcomes in the undo run."""
        found = _Found()
        rows = ChangeRunZone.objects.filter(run=self._run.undo_of_id, zone_id__in=[zone.pk for zone in zones])
        before = {row.zone_id: row.before for row in rows}
        if self._alike.act == ZoneAct.DELETE:
            self._restore([zone for zone in zones if zone.deleted_at is not None], found, self._of_undo, now)
        elif self._alike.act == ZoneAct.RESTORE:
            self._delete_again([zone for zone in zones if zone.deleted_at is None], rows, found, now)
        elif self._alike.act == ZoneAct.POLICY:
            known = DnssecPolicy.objects.in_bulk({each["policy"] for each in before.values() if each["policy"]})
            own = _own_policies(zones)
            ours = self._run.policy_id
            ours_still = [zone for zone in zones if own.get(zone.pk) == ours]
            self._each(ours_still, found, lambda zone: self._attach(zone, known.get(before[zone.pk]["policy"]), now))
        else:
            self._take_marks_back([zone for zone in zones if zone.deleted_at is None], before, found, now)
        self._advance_alone(zones, found)

    def _take_marks_back(
        self, zones: Sequence[Zone], before: Mapping[int, Mapping[str, Any]], found: _Found, now: datetime
    ) -> None:
        teams = Team.objects.in_bulk({each["team"] for each in before.values() if each["team"]})
        alike: dict[tuple[tuple[str, ...], tuple[str, ...], bool, int | None], list[Zone]] = {}
        for zone in zones:
            tags, team_id = set(before[zone.pk]["tags"]), before[zone.pk]["team"]
            marks = self._alike.marks
            moves = marks.moves and zone.team_id == marks.team_id_of(zone)  # not moved again since the run
            added = tuple(sorted(set(marks.add) - tags))
            removed = tuple(sorted(set(marks.remove) & tags))
            alike.setdefault((removed, added, moves, team_id if team_id in teams else None), []).append(zone)
        for (add, remove, moves, team_id), some in alike.items():
            marks = many_settings.Marks(add, remove, moves, teams.get(team_id) if team_id else None)
            try:
                found.take(many_settings.change_marks(zones=some, marks=marks, author=self._author, now=now))
            except SettingsRefused as exc:  # the author cannot give zones to this team
                for zone in some:
                    found.refuse(zone, str(exc))

    def _each(self, zones: Iterable[Zone], found: _Found, act: Callable[[Zone], object]) -> None:
        for zone in zones:
            try:
                if act(zone) is not None:
                    found.change(zone, {})
            except ZoneError as exc:
                found.refuse(zone, str(exc))

    def _restore(self, zones: Sequence[Zone], found: _Found, reason: str, now: datetime) -> None:
        """Restore the zones from the trash. Store the outcomes in `found`, and the publications in the run."""
        restored = restore_zones.restore_zones(zones=zones, acting=Acting(self._author, self._channel, now, reason))
        for zone in restored.outcome.changed:
            found.change(zone, {})
        for zone, reason in restored.outcome.refused:
            found.refuse(zone, reason)
        run_turns.note_publications(self._run, [publication.sequence for publication in restored.publications])

    def _delete_again(self, zones: Sequence[Zone], rows: Iterable[ChangeRunZone], found: _Found, now: datetime) -> None:
        """Delete the zones that the undone run restored, unless they have changed. Store the outcomes in `found`."""
        restored_at = {row.zone_id: row.revision + 1 for row in rows}
        allowed = many_settings.deletable([z for z in zones if z.revision == restored_at[z.pk]], self._author)
        for zone, reason in allowed.refused:
            found.refuse(zone, reason)
        publication, left = bulk.delete_zones(
            zones=[(zone.pk, zone.revision) for zone in allowed.changed],
            acting=Acting(self._author, self._channel, now, self._of_undo),
            confirmed=True,
        )
        for zone in allowed.changed:
            if zone.pk in left:
                found.refuse(zone, gettext(_MOVED))
            else:
                found.change(zone, {})
        if publication is not None:
            run_turns.note_publications(self._run, [publication.sequence])

    def _policies(self, zones: Sequence[Zone], found: _Found) -> list[Zone]:
        """Store each zone's outcome in `found`. Return the zones whose own policy changes."""
        own = _own_policies(zones)
        changing = []
        for zone in zones:
            if not access.has_right(self._author, zone, Right.DNSSEC):
                found.refuse(zone, str(RightMissing(Right.DNSSEC, zone.name)))
            elif own.get(zone.pk) != self._run.policy_id:
                found.change(zone, {"policy": own.get(zone.pk)})
                changing.append(zone)
        return changing

    def _attach(self, zone: Zone, policy: DnssecPolicy | None, now: datetime) -> policies.Target:
        target = policies.Target(zone=zone)
        if policy is None:
            policies.detach(target=target, by=self._author, now=now)
            return target
        return policies.attach(policy=policy, to=target, by=self._author, now=now)

    def _delete(self, zones: Sequence[Zone], now: datetime) -> None:
        """Delete the zones that didn't change since the dry run, in one publication. Store the outcomes."""
        found = _Found()
        rows = ChangeRunZone.objects.filter(run=self._run.dry_run_of_id, zone_id__in=[zone.pk for zone in zones])
        seen = dict(rows.values_list("zone_id", "revision"))
        allowed = many_settings.deletable(zones, self._author)
        for zone, reason in allowed.refused:
            found.refuse(zone, reason)
        for zone in allowed.changed:
            found.refuse(zone, gettext(_MOVED))

        def in_transaction(publication: Publication) -> None:
            gone = set(Revision.objects.filter(publication=publication).values_list("zone_id", flat=True))
            for zone in zones:
                if zone.pk in gone:
                    found.change(zone, {})
                    found.messages.pop(zone.pk, None)
            self._advance(zones, found)

        title = panel_reasons.RUN.format(number=self._run.pk)
        publication, _ = bulk.delete_zones(
            zones=[(zone.pk, seen[zone.pk]) for zone in allowed.changed],
            acting=Acting(
                self._author, self._channel, now, f"{self._run.reason} ({title})" if self._run.reason else title
            ),
            in_transaction=in_transaction,
            confirmed=True,
        )
        if publication is None:
            self._advance_alone(zones, found)
        else:
            run_turns.note_publications(self._run, [publication.sequence])

    def _advance_alone(self, zones: Sequence[Zone], found: _Found) -> None:
        with transaction.atomic(durable=True):
            self._advance(zones, found)

    def _advance(self, zones: Sequence[Zone], found: _Found) -> None:
        """Store the outcomes and progress. Raise Stopped if the run was canceled or advanced by another worker."""
        noted = ((zone, found.outcomes.get(zone.pk, Outcome.SAME), found.messages.get(zone.pk, "")) for zone in zones)
        listed = run_turns.advance(self._run, zones, noted, MOST_LISTED)
        ChangeRunZone.objects.bulk_create(
            ChangeRunZone(
                run=self._run,
                zone_id=zone.pk,
                zone_name=zone.name,
                outcome=outcome,
                message=message,
                revision=zone.revision,
                before=found.before.get(zone.pk, {}),
            )
            for zone, outcome, message in listed
        )


def _found_in(outcome: many_settings.ZonesOutcome) -> _Found:
    found = _Found()
    found.take(outcome)
    return found


def _own_policies(zones: Iterable[Zone]) -> dict[int, int]:
    """Return the ids of the policies attached directly to these zones, keyed by zone id."""
    rows = PolicyAttachment.objects.filter(zone__in=[zone.pk for zone in zones])
    return dict(rows.values_list("zone_id", "policy_id"))
