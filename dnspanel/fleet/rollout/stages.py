"""Decide from the nodes' answers up to which limit publications are released to each group. Pure.

Ring 0 comes first, then the groups in their order. A stage gets sequence S when every live node of each earlier stage
has acknowledged S, and has answered correctly with it for the group's time to verify. A fault of an earlier stage (a
refusal, diverging content, or more failed answers than before) stops all later stages until a person resumes delivery.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from dnspanel.texts import gettext

# A share computed from fewer answers isn't significant.
FEWEST_ANSWERS = 50
# Failed answers have risen if their share is higher by this difference and by this factor.
RISE_POINTS = 0.02
RISE_TIMES = 2.0
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Member:
    """A node that takes pushes. Positions are sequences of the current epoch, and 0 means no position."""

    id: int
    name: str
    acked: int
    verified: int  # the sequence that it has answered correctly with for as long as its group requires
    is_live: bool  # its agent answers, and it has data to serve
    refusal: str = ""
    is_diverged: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """The number of answers from a group's nodes in a period, and how many of them were SERVFAIL or REFUSED."""

    total: int = 0
    failed: int = 0

    @property
    def share(self) -> float:
        return self.failed / self.total if self.total else 0.0


class Ring0(Enum):
    """The role of a stage: not ring 0, a ring 0 that later stages wait for, or an absent ring 0."""

    NO = "no"
    WAITED_FOR = "waited for"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class Stage:
    """Nodes that receive publications together. `group_id` is None for ring 0 and in a fleet without groups."""

    name: str
    members: tuple[Member, ...]
    group_id: int | None = None
    ring0: Ring0 = Ring0.NO
    verify_seconds: int = 0
    released: int | None = None  # the sequence that it is released to so far; None: it has not waited for others yet
    is_skipped: bool = False  # a person lets other stages continue while none of its nodes is live
    before: Answers = Answers()  # in the minutes before its newest publications
    after: Answers = Answers()  # since then
    elsewhere: Answers = Answers()  # since then, at later stages, which lack these publications

    @property
    def live(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.is_live)


@dataclass(frozen=True, slots=True)
class Clearance:
    """The sequence up to which a stage is released (None: the head), and the reason if that is below the head."""

    stage: Stage
    sequence: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    stage: Stage
    reason: str


def clearances(stages: Iterable[Stage], *, head: int, stopped: Stage | None = None) -> list[Clearance]:
    """Return the limit of each stage, in order. A stage never loses a sequence that was released to it before.

    `stopped` is the stage after which a person or `trouble` stopped delivery.
    """
    cleared: list[Clearance] = []
    limit: int | None = None
    reason = ""
    for stage in stages:
        if limit is None:
            cleared.append(Clearance(stage, None))
        else:
            may = max(limit, stage.released or 0)
            cleared.append(Clearance(stage, may, reason if may < head else ""))
        gate, reason_here = _gate(stage, head)
        if stage == stopped:
            gate, reason_here = 0, gettext("delivery is stopped after {name}").format(name=stage.name)
        if gate is not None and (limit is None or gate < limit):
            limit, reason = gate, reason_here
    return cleared


def stop_for(stages: Sequence[Stage]) -> Stop | None:
    """Return a stop of all stages after the first one with a fault, or None if no stage with later nodes has a fault.

    Ring 0 never causes a stop. If it can't serve a publication, other stages wait until the publication is reverted.
    """
    for number, stage in enumerate(stages):
        has_followers = any(later.members for later in stages[number + 1 :])
        if has_followers and stage.ring0 is Ring0.NO and (reason := trouble(stage)):
            return Stop(stage, reason)
    return None


def trouble(stage: Stage) -> str:
    """Return a description of this stage's fault, or "" if it has none."""
    refusing = [member for member in stage.members if member.refusal]
    if refusing:
        first = refusing[0]
        return gettext("{node} in {name} rejects updates: {reason}").format(
            node=first.name, name=stage.name, reason=first.refusal
        )
    diverged = [member.name for member in stage.members if member.is_diverged]
    if diverged:
        return gettext("{nodes} in {name}: content differs from the panel’s").format(
            nodes=_list_names(diverged), name=stage.name
        )
    if rose(stage.before, stage.after, stage.elsewhere):
        return gettext(
            "{name} answers {after} of its queries with SERVFAIL or REFUSED, compared with {before} earlier"
        ).format(name=stage.name, after=_percent(stage.after.share), before=_percent(stage.before.share))
    return ""


def rose(before: Answers, after: Answers, elsewhere: Answers) -> bool:
    """Return True if the share of failed answers is clearly higher than before and than elsewhere, if known.

    Return False if there are few answers. A share that rises everywhere means that the queries have changed, for
    example because of a scan for missing zones.
    """
    if after.total < FEWEST_ANSWERS:
        return False
    usual = max(before.share, elsewhere.share if elsewhere.total >= FEWEST_ANSWERS else 0.0)
    return after.share > usual + RISE_POINTS and after.share > usual * RISE_TIMES


def _gate(stage: Stage, head: int) -> tuple[int | None, str]:
    """Return the limit that this stage sets for later stages (None: no limit), and the reason if they must wait."""
    if not stage.members or stage.ring0 is Ring0.AWAY:
        return None, ""
    if not stage.live:
        if stage.is_skipped:
            return None, ""
        return 0, gettext("waiting for {name}, which doesn’t have a live node").format(name=stage.name)
    slowest = min(stage.live, key=lambda member: member.verified)
    lacking = [member.name for member in stage.live if member.acked < head]
    if stage.ring0 is not Ring0.NO:
        return slowest.verified, gettext("waiting for {name}, which is at sequence {acked} of {head}").format(
            name=stage.name, acked=slowest.acked, head=head
        )
    if lacking:
        lowest = min(member.acked for member in stage.live)
        return slowest.verified, gettext("waiting for {nodes} in {name}, at sequence {lowest} of {head}").format(
            nodes=_list_names(lacking), name=stage.name, lowest=lowest, head=head
        )
    return slowest.verified, gettext("waiting until {name} has answered correctly for {verify_seconds} s").format(
        name=stage.name, verify_seconds=stage.verify_seconds
    )


def _list_names(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    listed = ", ".join(names[:_MOST_NAMED])
    return gettext("{listed} and {count} more").format(listed=listed, count=more) if more > 0 else listed


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
