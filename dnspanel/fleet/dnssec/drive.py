"""Drive rollovers: check the answers of nodes, secondaries and parents, and take each step that is due. Verbs.

Late, missing or repeated runs do no harm. The result of a check is discarded if another process stored one at the same
time. Whether a step is due is decided again while the zone is locked.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q

from dnspanel.fleet.dnssec.keys_at_servers import SignersLook, ask_signers, zones_with_other_signers
from dnspanel.fleet.dnssec.rollover_parents import ParentAnswer, ask_parents
from dnspanel.fleet.models import Divergence, Node, NodeState
from dnspanel.fleet.signals import transfers_questioned
from dnspanel.texts import gettext, joined
from dnspanel.zones.dnssec import rollover
from dnspanel.zones.dnssec.ds_seen import note_ds
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.rollover_stages import Goal, Kind
from dnspanel.zones.dnssec.served_ttls import ServedTtls, raised_ttls
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import LogHead, Revision, RevisionKind, Rollover
from dnspanel.zones.signing import parent_zone, rollovers
from dnspanel.zones.signing.first_ds import waits_long

LOOK_EVERY = timedelta(seconds=30)
# Thousands of zones can wait for parents elsewhere, because registries read CDS records only about once a day.
LOOK_AT_LONG_WAITS_EVERY = timedelta(minutes=30)
# The number of rollovers that are checked in one batch.
BATCH = 500
# At most this many waiting secondaries are named with a reason.
MOST_CLAUSES = 5

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Fleet:
    """The sequence that each node has acknowledged in the current log, and each zone's diverging nodes."""

    epoch: UUID
    acked: Mapping[int, tuple[str, int]]  # node id → name, sequence
    diverged: Mapping[int, frozenset[int]]  # zone id → node ids

    @property
    def everywhere(self) -> int:
        return min((sequence for _, sequence in self.acked.values()), default=0)

    def late(self, zone_id: int, sequence: int) -> tuple[str, ...]:
        """Return the names of the nodes that don't serve this publication yet, or whose copy of this zone diverges."""
        wrong = self.diverged.get(zone_id, frozenset())
        return tuple(sorted(name for id, (name, acked) in self.acked.items() if acked < sequence or id in wrong))


def drive_rollovers(*, clock: Callable[[], datetime], look_every: timedelta = LOOK_EVERY) -> int:
    """Check every open rollover that is due, and take its next step if possible. Return the number of stored checks."""
    looked = 0
    now = clock()
    due = Q(looked_at__lt=now - look_every) & ~(waits_long(now) & Q(looked_at__gte=now - LOOK_AT_LONG_WAITS_EVERY))
    while True:
        batch = list(
            Rollover.objects.filter(due, ended_at=None, zone__deleted_at=None)
            .select_related("zone", "started_by")
            .order_by("looked_at", "pk")[:BATCH]
        )
        if not batch or not (moved := _look_at_each(batch, clock())):
            return looked
        looked += moved


def _look_at_each(batch: Sequence[Rollover], now: datetime) -> int:
    fleet = _fleet([row.zone_id for row in batch])
    steps = _steps(batch)
    lacking = _lacking(steps)
    states = signing_of_zones([row.zone_id for row in batch])
    ttls = raised_ttls(
        {row.zone_id: ServedTtls(row.record_ttl, row.key_ttl, row.ttls_revision) for row in batch}, now=now
    )
    others = zones_with_other_signers(batch)
    signers = ask_signers([row for row in batch if row.zone_id in others])
    answers = ask_parents([row for row in batch if row.kind != Kind.ZSK], acked=fleet.everywhere, now=now)
    note_ds(found={row.zone_id: answers[row.pk].sets for row in batch if row.pk in answers}, now=now)
    moved = 0
    for row in batch:
        before = row.waits_for, row.waits_since
        try:
            step = steps.get(row.zone_id)
            late = fleet.late(row.zone_id, step.publication_id if step is not None else 0)
            look = _look_of(row, fleet, late, lacking.get(row.zone_id, {}), answers.get(row.pk), ttls[row.zone_id], now)
            if row.zone_id in others:
                look = _with_signers(row, look, signers.get(row.pk))
            moved += _advance(row, states.get(row.zone_id, SigningState()), look, now)
        except ZoneError as exc:
            logger.warning("rollover %s of %s does not go on: %s", row.pk, row.zone.name, exc)
            rollovers.record_refusal(rolled=row, refusal=exc, before=before)
    return moved


def _advance(row: Rollover, state: SigningState, look: rollovers.Look, now: datetime) -> bool:
    outcome: rollover.Outcome = rollover.advance(rollovers.with_look(rollovers.inputs_of(row, state), look))
    if not rollovers.record_look(rolled=row, look=look, outcome=outcome):
        return False
    match outcome:
        case rollover.Act(step=step):
            rollovers.take_step(rolled=row, now=now)
            logger.info("rollover zone=%s kind=%s step=%s", row.zone.name, row.kind, step)
        case rollover.AskForDs(add, remove):
            reason = panel_reasons.ROLLOVER_DS.format(name=row.zone.name)
            parent_zone.replace_ds(
                zone_name=row.zone.name,
                add=add,
                remove=remove,
                author=row.started_by,
                reason=reason,
                now=now,
                first=row.kind == Kind.SECURE,
            )
        case rollover.Done(cancelled):
            logger.info("rollover ended zone=%s kind=%s cancelled=%s", row.zone.name, row.kind, cancelled)
    return True


def _look_of(  # noqa: PLR0913  # what a look collects
    row: Rollover,
    fleet: _Fleet,
    late: tuple[str, ...],
    lacking: Mapping[str, str],
    answer: ParentAnswer | None,
    ttls: ServedTtls,
    now: datetime,
) -> rollovers.Look:
    clock = rollover.steady(row.clock, row.looked_at, now)
    is_same_log = row.epoch == fleet.epoch
    is_known = bool(fleet.acked) and not late and is_same_log
    goals = {Goal(goal): datetime.fromisoformat(since) for goal, since in row.goals.items()}
    parent_at, ds_ttl, silent = row.parent_at, row.ds_ttl, row.parent_silent
    if answer is not None:
        silent = answer.silent
        if not silent:
            met = rollover.goals_met(answer.sets, row.old_ds, row.new_ds)
            goals = rollover.goals_since(goals, met, clock, parent_at)
            parent_at, ds_ttl = clock, max(answer.ttl, ds_ttl or 0)
    return rollovers.Look(
        clock=clock,
        looked_at=now,
        epoch=fleet.epoch,
        answered_since=(row.answered_since or clock) if is_known else None,
        late=late,
        secondaries_since=(row.secondaries_since or clock) if not lacking and is_same_log else None,
        late_secondaries=tuple(lacking),
        secondaries_lack=_describe_lacking(lacking),
        goals=goals,
        parent_at=parent_at,
        parent_silent=silent,
        ds_ttl=ds_ttl,
        ttls=ttls,
    )


def _with_signers(row: Rollover, look: rollovers.Look, found: SignersLook | None) -> rollovers.Look:
    """Return a copy of `look` with the result of `ask_signers`. If `found` is None, use the row's stored result."""
    if found is None:
        lack = row.signers_lack if row.signers_at else gettext("The zone’s name servers haven’t been checked yet.")
        goals = {**look.goals, **({Goal.SIGNERS: _since(row)} if Goal.SIGNERS in row.goals else {})}
        return replace(look, signers_lack=lack, signers_at=row.signers_at, goals=goals)
    goals = {goal: since for goal, since in look.goals.items() if goal is not Goal.SIGNERS}
    before = {Goal.SIGNERS: _since(row)} if Goal.SIGNERS in row.goals else {}
    goals |= rollover.goals_since(before, [] if found.lack else [Goal.SIGNERS], look.clock, row.signers_at)
    ttls = replace(look.ttls, keys=max(look.ttls.keys, found.ttl))
    return replace(look, signers_lack=found.lack, signers_at=look.clock, goals=goals, ttls=ttls)


def _since(row: Rollover) -> datetime:
    return datetime.fromisoformat(row.goals[Goal.SIGNERS])


def _fleet(zone_ids: Sequence[int]) -> _Fleet:
    epoch = LogHead.objects.values_list("epoch", flat=True).get()
    # Drained nodes get no pushes, but still answer.
    nodes = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_ring0=False)
    acked = {
        pk: (name, acked if node_epoch == epoch else 0)
        for pk, name, node_epoch, acked in nodes.values_list("pk", "name", "epoch", "acked")
    }
    diverged: dict[int, set[int]] = {}
    rows = Divergence.objects.filter(zone_id__in=zone_ids, repaired_at=None, node__in=list(acked))
    for zone_id, node_id in rows.values_list("zone_id", "node_id"):
        diverged.setdefault(zone_id, set()).add(node_id)
    return _Fleet(epoch, acked, {zone_id: frozenset(ids) for zone_id, ids in diverged.items()})


def _steps(batch: Sequence[Rollover]) -> dict[int, Revision]:
    """Return the revision every server must have, keyed by zone id: the rollover's step or a later restore."""
    by_zone = {row.zone_id: row for row in batch}
    steps = Q()
    for row in batch:
        steps |= Q(zone=row.zone_id, number=row.step_revision)
    restored = Q(zone__in=list(by_zone), kind=RevisionKind.RESTORE)
    found: dict[int, Revision] = {}
    revisions = Revision.objects.filter(steps | restored).only("zone_id", "number", "publication_id", "serial")
    for each in revisions.order_by("publication_id"):
        if each.number >= by_zone[each.zone_id].step_revision:
            found[each.zone_id] = each
    return found


def _lacking(steps: Mapping[int, Revision]) -> dict[int, dict[str, str]]:
    """Return the secondaries that don't serve their zone's revision yet, as zone id → name → reason (a clause)."""
    found: dict[int, dict[str, str]] = {}
    for _, lacking in transfers_questioned.send(sender=None, steps=steps):
        for zone_id, by_name in lacking.items():  # type: ignore[union-attr]  # what a receiver of this signal returns
            found.setdefault(zone_id, {}).update(by_name)
    return found


def _describe_lacking(lacking: Mapping[str, str]) -> str:
    """Return a sentence about the secondaries that a step waits for, or "" if there are none."""
    if not lacking:
        return ""
    clauses = list(lacking.values())
    first = joined("; ", clauses[:MOST_CLAUSES])
    if len(clauses) <= MOST_CLAUSES:
        return joined("", [first, "."])
    return gettext("{clauses}, and {count} more.").format(clauses=first, count=len(clauses) - MOST_CLAUSES)
