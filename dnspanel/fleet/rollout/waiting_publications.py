"""Find the oldest publication that some node doesn't serve yet, and the place at which it waits. Pure.

A publication passes the encoder, the push worker, the canary (ring 0), and the groups in order. The reported place is
the first one that hasn't passed the publication on. If the place has its own alert, `has_own_alert` is set, so that one
cause produces one alert.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from dnspanel.fleet.node_health import Word
from dnspanel.fleet.rollout.stages import Clearance, Ring0, Stage
from dnspanel.texts import duration_text, gettext, gettext_noop

# A publication is at all nodes within a second. A delay of a minute is worth a message, because something is broken.
# After five minutes, people are waiting for changes.
LATE_AFTER, LATE_AGAIN = timedelta(seconds=60), timedelta(seconds=30)
VERY_LATE_AFTER = timedelta(minutes=5)


class Place(StrEnum):
    HOLD = "hold"
    ENCODER = "encoder"
    PUSH = "push"
    CANARY = "canary"
    GROUP = "group"
    NODE = "node"
    STOPPED = "stopped"
    PINNED = "pinned"


# Places before the nodes. A publication that waits there makes every node late, without problems of the nodes.
BEFORE_NODES = frozenset(Place) - {Place.NODE, Place.CANARY}
# The health of nodes in that case.
FOLLOWS = frozenset({Word.LATE, Word.STALE})


@dataclass(frozen=True, slots=True)
class Follower:
    """A node that takes pushes. `since` is when it began to lack its oldest missing publication."""

    node_id: int
    name: str
    is_ring0: bool
    sequence: int  # of the oldest publication that it lacks
    since: datetime | None  # None: it lacks nothing
    limit: int | None  # the limit up to which it is released; None: the head
    encoded: int  # the last sequence with segments for its PowerDNS
    has_trouble: bool = False  # it is offline, refuses, or gets a snapshot, and has its own alert
    is_moving: bool = False  # it confirmed or stored something a moment ago
    acked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The steps that publications pass, with the limits set by people or failures."""

    clearances: Sequence[Clearance] = ()
    is_on_hold: bool = False
    is_stopped: bool = False  # for the whole fleet
    stopped_behind: Stage | None = None
    pinned: int | None = None
    push_works: bool | None = None  # True if the push worker reports that it works; None: no report


@dataclass(frozen=True, slots=True)
class Waiting:
    """The oldest publication that some node doesn't serve yet, and the place at which it waits."""

    sequence: int
    since: datetime
    place: Place
    name: str = ""  # of the canary, the group or the node
    has_own_alert: bool = False
    is_moving: bool = False
    verify_time: timedelta = timedelta(0)  # the time for which groups before this place verify every publication

    def age(self, now: datetime) -> timedelta:
        return max(timedelta(0), now - self.since)

    def late_by(self, now: datetime) -> timedelta:
        """Return the waiting time beyond the groups' time to verify, or zero if another alert explains the wait."""
        return timedelta(0) if self.has_own_alert else max(timedelta(0), self.age(now) - self.verify_time)


def oldest_waiting(followers: Sequence[Follower], pipeline: Pipeline) -> Waiting | None:
    """Return the oldest waiting publication, or None if every node that takes pushes is up to date.

    Nodes with a fault of their own don't count while others wait, because they would hide the cause. The canary counts
    only if it is the only node, because the others continue without it.
    """
    last = [follower for follower in followers if not follower.is_ring0] or list(followers)
    late = [(follower.since, follower) for follower in last if follower.since is not None]
    if not late:
        return None
    well = [(since, follower) for since, follower in late if not follower.has_trouble]
    since, oldest = min(well or late, key=lambda each: (each[0], each[1].name))
    if not well:
        return Waiting(oldest.sequence, since, _place_of(oldest), oldest.name, has_own_alert=True)
    waiting = _before_nodes(oldest, since, pipeline) or _on_the_way(oldest, since, followers, pipeline)
    return waiting or _at(oldest, oldest.sequence, since, followers, pipeline, timedelta(0))


def _before_nodes(oldest: Follower, since: datetime, pipeline: Pipeline) -> Waiting | None:
    """Return the publication and its place if it isn't encoded, or delivery is stopped or pinned before it, or None."""
    sequence = oldest.sequence
    if oldest.encoded < sequence:
        place = Place.HOLD if pipeline.is_on_hold else Place.ENCODER
        return Waiting(sequence, since, place, has_own_alert=pipeline.is_on_hold)
    if pipeline.is_stopped:
        return Waiting(sequence, since, Place.STOPPED, has_own_alert=True)
    if pipeline.pinned is not None and pipeline.pinned < sequence:
        return Waiting(sequence, since, Place.PINNED, has_own_alert=True)
    return None


def _on_the_way(oldest: Follower, since: datetime, followers: Sequence[Follower], pipeline: Pipeline) -> Waiting | None:
    """Return the publication and the place that delays it for the first stage that lacks it, or None.

    Nodes with a fault of their own don't count, and neither does an absent ring 0.
    """
    by_id = {follower.node_id: follower for follower in followers}
    sequence, verify_time = oldest.sequence, timedelta(0)
    passed: list[Stage] = []
    for clearance in pipeline.clearances:
        stage = clearance.stage
        behind = [by_id[member.id] for member in stage.members if member.id in by_id and member.acked < sequence]
        well = [follower for follower in behind if not follower.has_trouble]
        if well and stage.ring0 is not Ring0.AWAY:
            if clearance.sequence is not None and clearance.sequence < sequence:
                return _behind(passed, sequence, since, pipeline, verify_time)
            return _at(well[0], sequence, since, followers, pipeline, verify_time)
        passed.append(stage)
        verify_time += timedelta(seconds=stage.verify_seconds)
    return None


def _behind(
    passed: Sequence[Stage], sequence: int, since: datetime, pipeline: Pipeline, verify_time: timedelta
) -> Waiting:
    """Return the publication and, as its place, the first of these stages that holds it back.

    The place is the push worker if no stage does, because then a publication is being reverted.
    """
    stopped = pipeline.stopped_behind
    gate = next((stage for stage in passed if stage == stopped or _keeps_back(stage, sequence)), None)
    if gate is None:  # a publication is being reverted, which is the push worker's job
        return Waiting(sequence, since, Place.PUSH)
    if gate == stopped:
        return Waiting(sequence, since, Place.STOPPED, gate.name, has_own_alert=True)
    if gate.ring0 is not Ring0.NO:
        name = gate.members[0].name if gate.members else gate.name
        return Waiting(sequence, since, Place.CANARY, name, has_own_alert=any(_lacks(gate, sequence)))
    # Nodes that are all offline have their own alerts, and a group that verifies is allowed to take time.
    return Waiting(sequence, since, Place.GROUP, gate.name, has_own_alert=not gate.live, verify_time=verify_time)


def _keeps_back(stage: Stage, sequence: int) -> bool:
    if not stage.members or stage.ring0 is Ring0.AWAY:
        return False
    return not stage.is_skipped if not stage.live else any(member.verified < sequence for member in stage.live)


def _lacks(stage: Stage, sequence: int) -> list[str]:
    return [member.name for member in stage.members if member.acked < sequence]


def _at(
    node: Follower,
    sequence: int,
    since: datetime,
    followers: Sequence[Follower],
    pipeline: Pipeline,
    verify_time: timedelta,
) -> Waiting:
    """Return the publication and its place: the push worker, or this node if pushes work and its limit allows it."""
    is_sent = node.limit is None or node.limit >= sequence
    if is_sent and (node.is_moving or _pushes_work(sequence, since, followers, pipeline)):
        return Waiting(sequence, since, _place_of(node), node.name, is_moving=node.is_moving, verify_time=verify_time)
    return Waiting(sequence, since, Place.PUSH, verify_time=verify_time)


def _pushes_work(sequence: int, since: datetime, followers: Sequence[Follower], pipeline: Pipeline) -> bool:
    """Return True if the push worker works, according to its heartbeat or to recent acks from other nodes.

    An ack shortly after the publication doesn't count, because the worker may have hung after it.
    """
    if pipeline.push_works is not None:
        return pipeline.push_works
    return any(
        each.acked_at is not None
        and (each.acked_at > since + LATE_AGAIN or (each.acked_at > since and each.sequence > sequence))
        for each in followers
    )


def _place_of(node: Follower) -> Place:
    return Place.CANARY if node.is_ring0 else Place.NODE


_PLACES: Mapping[Place, str] = {
    Place.HOLD: gettext_noop("The oldest pending publication is {time} old. Publishing is on hold."),
    Place.ENCODER: gettext_noop(
        "Publications aren’t reaching the nodes. The oldest one has been waiting {time} for the encoder "
        "(worker “publish”)."
    ),
    Place.PUSH: gettext_noop(
        "Publications aren’t reaching the nodes. The oldest one has been waiting {time} for the worker “push”."
    ),
    Place.CANARY: gettext_noop(
        "Publications aren’t reaching the nodes. The oldest one has been waiting {time} for the canary {name}."
    ),
    Place.GROUP: gettext_noop(
        "Publications aren’t reaching all nodes. The oldest one has been waiting {time} for the group {name}."
    ),
    Place.NODE: gettext_noop(
        "Publications aren’t reaching all nodes. The oldest one has been waiting {time} for the node {name}."
    ),
    Place.STOPPED: gettext_noop("The oldest pending publication is {time} old. Delivery is stopped."),
    Place.PINNED: gettext_noop("The oldest pending publication is {time} old. The fleet is pinned."),
}


def describe(waiting: Waiting, now: datetime) -> str:
    """Return a sentence with the age and place of the oldest publication."""
    message = (
        gettext(
            "Publications are arriving late. {name} is catching up, and its oldest missing publication is {time} old."
        )
        if waiting.is_moving
        else gettext(_PLACES[waiting.place])
    )
    return message.format(time=duration_text(waiting.age(now)), name=waiting.name)
