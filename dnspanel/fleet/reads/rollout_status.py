"""Read a rollout's status for pages and APIs: the stages with their nodes, limits, and reasons for the limits."""

from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from dnspanel.fleet.models import Delivery, Isolation, Node, NodeGroup
from dnspanel.fleet.node_health import FAULTS, WELL, Health, Word
from dnspanel.fleet.reads.arrivals import NodeArrival, arrivals
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.fleet.rollout.gates import Gates, read_gates
from dnspanel.fleet.rollout.stages import Answers, Clearance, Ring0, trouble
from dnspanel.texts import gettext
from dnspanel.zones.models import Publication


@dataclass(frozen=True, slots=True)
class StagedNode:
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
    """The status of a stage. Ring 0 and the nodes of a fleet without groups have no group."""

    name: str
    is_ring0: bool
    is_away: bool  # ring 0 is absent, and other stages continue without it
    group: NodeGroup | None
    nodes: tuple[StagedNode, ...]
    acked: int | None  # the sequence that all of its live nodes answer with; None if no node is live
    sequence: int | None  # the limit up to which it is released; None: the head
    waits: str
    trouble: str
    before: Answers
    after: Answers

    @property
    def may_be_skipped(self) -> bool:
        """True if a person can skip the stage: it is a group with nodes, none of them live, and not skipped yet."""
        return self.group is not None and bool(self.nodes) and self.acked is None and not self.group.skipped_reason


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """The stages in order, and the limits set by a person or a failure."""

    head: int
    stages: tuple[StageStatus, ...]
    delivery: Delivery | None
    isolation: Isolation | None

    @property
    def groups(self) -> list[NodeGroup]:
        return [stage.group for stage in self.stages if stage.group is not None]

    @property
    def ring0_patience(self) -> str:
        """How long other nodes wait for a silent ring 0, as text."""
        return (
            gettext("1 minute")
            if settings.RING0_PATIENCE == 60
            else gettext("{count} seconds").format(count=settings.RING0_PATIENCE)
        )

    @property
    def is_staged(self) -> bool:
        """True if some stage waits for another stage."""
        return sum(bool(stage.nodes) for stage in self.stages) > 1

    @property
    def newest_acked(self) -> int:
        """The newest sequence on any node. The fleet can't be pinned to an older one, because a pin reverts nothing."""
        return max((node.acked for stage in self.stages for node in stage.nodes), default=0)


@dataclass(frozen=True, slots=True)
class StageArrivals:
    name: str
    is_ring0: bool
    nodes: tuple[NodeArrival, ...]
    waits: str


def rollout_status(*, now: datetime) -> RolloutStatus:
    """Return the rollout's current status."""
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
    """Return a publication's arrivals by stage. If no node waits for another, return one stage without a name.

    Fronts come last, because no node waits for a front. A failed publication never arrives, so the result is empty.
    """
    found = arrivals(publication, now=now, with_canary=True)
    if publication.failed_reason:
        return []
    gates = read_gates(now=now)
    stages = [clearance for clearance in gates.clearances() if clearance.stage.members]
    if len(stages) < 2:
        served = tuple(each for each in found if not each.node.is_ring0)
        return [StageArrivals("", is_ring0=False, nodes=served, waits="")]
    rows = []
    for clearance in stages:
        stage, ids = clearance.stage, {member.id for member in clearance.stage.members}
        nodes = tuple(each for each in found if each.node.pk in ids)
        has_it = all(member.acked >= publication.sequence for member in stage.members)
        waits = "" if has_it else _waits(gates, clearance)
        rows.append(StageArrivals(stage.name, stage.ring0 is not Ring0.NO, nodes, waits))
    if fronts := tuple(each for each in found if each.node.is_front):
        rows.append(StageArrivals(gettext("fronts"), is_ring0=False, nodes=fronts, waits=""))
    return rows


def _waits(gates: Gates, clearance: Clearance) -> str:
    """Return why the stage isn't at the head (a person's limit, or the stages that it waits for), or "" if it is."""
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
