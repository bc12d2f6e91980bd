"""The status of a rollout, for faces: each stage with its nodes, up to where it may go, and why not further."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from dnspanel.fleet.models import Delivery, Isolation, Node, NodeGroup
from dnspanel.fleet.node_health import FAULTS, WELL, Health, Word
from dnspanel.fleet.reads.arrivals import NodeArrival, arrivals, ring0_arrivals
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.fleet.rollout.gates import Gates, read_gates
from dnspanel.fleet.rollout.stages import Answers, Clearance, Ring0, trouble
from dnspanel.texts import gettext
from dnspanel.zones.models import Publication


@dataclass(frozen=True, slots=True)
class StagedNode:
    """One node of a stage: how it is doing, and what it answers with."""

    node: Node
    health: Health
    acked: int

    @property
    def tone(self) -> str:
        if self.health.word in FAULTS:
            return "bad"
        if self.health.word is Word.LIMITED:
            return "quiet"
        return "ok" if self.health.word in WELL else "warn"


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A stage: ring 0 has no group, nor have the nodes of a fleet without groups."""

    name: str
    is_ring0: bool
    is_away: bool  # ring 0, and the others go on without it
    group: NodeGroup | None
    nodes: tuple[StagedNode, ...]
    acked: int | None  # what all of its live nodes answer with; None without any
    sequence: int | None  # up to where it may go; None: to the head
    waits: str
    trouble: str
    before: Answers
    after: Answers

    @property
    def may_be_skipped(self) -> bool:
        """True if it has nodes, none of them is live, and no person let the others pass it yet."""
        return self.group is not None and bool(self.nodes) and self.acked is None and not self.group.skipped_reason


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """The stages in order, and what a person or trouble has set."""

    head: int
    stages: tuple[StageStatus, ...]
    delivery: Delivery | None
    isolation: Isolation | None

    @property
    def groups(self) -> list[NodeGroup]:
        return [stage.group for stage in self.stages if stage.group is not None]

    @property
    def ring0_patience(self) -> str:
        """For how long the others wait for a ring 0 that is not heard."""
        return (
            gettext("a minute")
            if settings.RING0_PATIENCE == 60
            else gettext("{count} seconds").format(count=settings.RING0_PATIENCE)
        )

    @property
    def is_staged(self) -> bool:
        """Whether anybody waits for anybody at all."""
        return sum(bool(stage.nodes) for stage in self.stages) > 1

    @property
    def newest_acked(self) -> int:
        """The least sequence at which the fleet can be pinned: a pin takes nothing back."""
        return max((node.acked for stage in self.stages for node in stage.nodes), default=0)


@dataclass(frozen=True, slots=True)
class StageArrivals:
    """Where one publication has arrived in one stage."""

    name: str
    is_ring0: bool
    nodes: tuple[NodeArrival, ...]
    waits: str


def rollout_status(*, now: datetime) -> RolloutStatus:
    """Return the status of the rollout just now."""
    gates = read_gates(now=now)
    statuses = {status.node.pk: status for status in watched_statuses(now=now)}
    groups = {group.pk: group for group in NodeGroup.objects.all()}
    stages = []
    for clearance in gates.clearances():
        stage = clearance.stage
        members = [(member, statuses[member.id]) for member in stage.members if member.id in statuses]
        stages.append(
            StageStatus(
                name=stage.name,
                is_ring0=stage.ring0 is not Ring0.NO,
                is_away=stage.ring0 is Ring0.AWAY,
                group=groups.get(stage.group_id) if stage.group_id is not None else None,
                nodes=tuple(StagedNode(s.node, s.health, member.acked) for member, s in members),
                acked=min((member.acked for member in stage.live), default=None),
                sequence=_least(clearance.sequence, gates.pinned),
                waits=_waits(gates, clearance),
                trouble=trouble(stage),
                before=stage.before,
                after=stage.after,
            )
        )
    isolation = Isolation.objects.filter(epoch=gates.epoch, merged_at=None).order_by("failed").first()
    return RolloutStatus(gates.head, tuple(stages), Delivery.objects.filter(pk=1).first(), isolation)


def arrivals_by_stage(publication: Publication, *, now: datetime) -> list[StageArrivals]:
    """Return how far a publication has come, stage by stage; one stage without a name if no node waits for another.

    A publication that failed has come nowhere, and there are no stages.
    """
    found = arrivals(publication, now=now)
    if publication.failed_reason:
        return []
    gates = read_gates(now=now)
    stages = [clearance for clearance in gates.clearances() if clearance.stage.members]
    if len(stages) < 2:
        return [StageArrivals("", is_ring0=False, nodes=tuple(found), waits="")]
    rows = []
    for clearance in stages:
        stage, ids = clearance.stage, {member.id for member in clearance.stage.members}
        is_ring0 = stage.ring0 is not Ring0.NO
        nodes = ring0_arrivals(publication, now=now) if is_ring0 else [node for node in found if node.node.pk in ids]
        has_it = all(member.acked >= publication.sequence for member in stage.members)
        rows.append(StageArrivals(stage.name, is_ring0, tuple(nodes), "" if has_it else _waits(gates, clearance)))
    return rows


def _waits(gates: Gates, clearance: Clearance) -> str:
    """Return why the stage does not go to the head: what a person has set, then the stages that it waits for."""
    if all(member.acked >= gates.head for member in clearance.stage.members):
        return ""
    if gates.is_stopped:
        return gettext("delivery to the whole fleet is stopped")
    if gates.pinned is not None and (clearance.sequence is None or gates.pinned <= clearance.sequence):
        return (
            gettext("the fleet is pinned at sequence {pinned}").format(pinned=gates.pinned)
            if gates.pinned < gates.head
            else ""
        )
    return clearance.reason


def _least(*sequences: int | None) -> int | None:
    return min((sequence for sequence in sequences if sequence is not None), default=None)
