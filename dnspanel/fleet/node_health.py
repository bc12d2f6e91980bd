"""Compute a node's health as one word and one message. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dnspanel.fleet.models import NodeState
from dnspanel.texts import duration_text, gettext, gettext_noop

# The collector reports contact every few seconds, so three missed reports are an outage.
OFFLINE_AFTER = timedelta(seconds=15)
# If the collector itself has been silent for this long, the silence of nodes means nothing.
CONTACT_KNOWN_FOR = timedelta(seconds=10)
# A push takes a fraction of this. Without this tolerance, every publication would briefly change all nodes' health.
IN_FLIGHT = timedelta(seconds=1)
LATE_AFTER = timedelta(seconds=5)
STALE_AFTER = timedelta(minutes=5)


class Word(StrEnum):
    """A node's health in one word, as pages show it."""

    LIVE = gettext_noop("live")
    CATCHING_UP = gettext_noop("catching up")
    LATE = gettext_noop("late")
    STALE = gettext_noop("stale")
    LIMITED = gettext_noop("held back")
    OFFLINE = gettext_noop("offline")
    REJECTING = gettext_noop("rejecting")
    DRAINED = gettext_noop("drained")
    WAITING = gettext_noop("waiting for approval")
    RETIRED = gettext_noop("retired")


# Words for a fault, as opposed to a change in progress.
FAULTS = frozenset({Word.OFFLINE, Word.REJECTING, Word.STALE})


# Words for a node that does what it can. During an import, every node is behind, and a limited node waits for earlier
# groups. `rollout.waiting_publications` reports if this takes too long.
WELL = frozenset({Word.LIVE, Word.CATCHING_UP, Word.LIMITED})


@dataclass(frozen=True, slots=True)
class HealthInputs:
    """The data for computing a node's health. `behind_since` is the time of the first publication that the node lacks.

    The node receives publications up to the sequence `limit` (None: up to the head). `waits` explains the limit.
    """

    state: str
    epoch: UUID | None
    acked: int
    moved_at: datetime | None  # when it last acknowledged something, or stored new zones in its files
    contact_at: datetime | None
    refusal: str
    head_epoch: UUID
    head: int
    behind_since: datetime | None
    began_after: int = 0  # the last sequence before the current epoch
    limit: int | None = None
    waits: str = ""
    drained_until: datetime | None = None
    drain_reason: str = ""
    certificate_expires_at: datetime | None = None
    contact_problem: str = ""  # why its agent was not reached the last time
    snapshot: str = ""  # the progress of a snapshot transfer to the node, in words


@dataclass(frozen=True, slots=True)
class Health:
    """One word with a message that explains it, and the node's lag in changes and in seconds."""

    word: Word
    message: str
    lag: int
    lag_seconds: float


def health(inputs: HealthInputs, now: datetime) -> Health:
    """Return the node's health. The first of these counts: its state, a bad certificate or refusal, silence, or lag."""
    ours = inputs.epoch == inputs.head_epoch
    lag = max(0, inputs.head - inputs.acked) if ours else inputs.head and max(1, inputs.head - inputs.began_after)
    behind = _since(inputs.behind_since, now) if lag else timedelta(0)
    word, message = (
        _judge_state(inputs)
        or _judge_refusal(inputs, now)
        or _judge_silence(inputs, now)
        or _judge_lag(inputs, lag, behind, now)
    )
    return Health(word, message, lag, behind.total_seconds())


_Judgement = tuple[Word, str]


def _judge_state(inputs: HealthInputs) -> _Judgement | None:
    if inputs.state == NodeState.AWAITING_APPROVAL:
        return Word.WAITING, gettext("The node’s agent hasn’t been approved yet.")
    if inputs.state == NodeState.DRAINED:
        return Word.DRAINED, _describe_drain(inputs)
    if inputs.state == NodeState.RETIRED:
        return Word.RETIRED, gettext("The node is retired.")
    return None


def _judge_refusal(inputs: HealthInputs, now: datetime) -> _Judgement | None:
    if inputs.certificate_expires_at is not None and inputs.certificate_expires_at <= now:
        return Word.REJECTING, gettext(
            "The node stays at sequence {acked} because its certificate expired on {day}. Revoke the "
            "certificate and enroll the node again."
        ).format(acked=inputs.acked, day=inputs.certificate_expires_at.date().isoformat())
    if inputs.refusal:
        return Word.REJECTING, gettext("The node stays at sequence {acked}: {refusal}.").format(
            acked=inputs.acked, refusal=inputs.refusal
        )
    return None


def _judge_silence(inputs: HealthInputs, now: datetime) -> _Judgement | None:
    if inputs.contact_at is None:
        return Word.OFFLINE, (
            gettext("The panel hasn’t reached the node’s agent yet: {problem}.").format(problem=inputs.contact_problem)
            if inputs.contact_problem
            else gettext("The panel hasn’t reached the node’s agent yet.")
        )
    silent = _since(inputs.contact_at, now)
    if silent > OFFLINE_AFTER:
        message = (
            gettext("No contact for {silent}: {problem}. The node still serves sequence {acked}.")
            if inputs.contact_problem
            else gettext("No contact for {silent}. The node still serves sequence {acked}.")
        )
        return Word.OFFLINE, message.format(
            silent=duration_text(silent), problem=inputs.contact_problem, acked=inputs.acked
        )
    return None


def _judge_lag(inputs: HealthInputs, lag: int, behind: timedelta, now: datetime) -> _Judgement:
    if inputs.snapshot:
        return Word.CATCHING_UP, gettext("{snapshot} The node still serves sequence {acked}.").format(
            snapshot=inputs.snapshot, acked=inputs.acked
        )
    if not lag:
        return Word.LIVE, gettext("The node serves everything up to sequence {head}.").format(head=inputs.head)
    if inputs.behind_since is not None and timedelta(0) <= now - inputs.behind_since <= IN_FLIGHT:
        return Word.LIVE, gettext("The node serves sequence {acked}. Sequence {head} is on the way.").format(
            acked=inputs.acked, head=inputs.head
        )
    if inputs.limit is not None and inputs.limit <= inputs.acked and inputs.epoch == inputs.head_epoch:
        return Word.LIMITED, gettext("The node serves sequence {acked} of {head}: {waits}.").format(
            acked=inputs.acked, head=inputs.head, waits=inputs.waits
        )
    progress = gettext("sequence {acked} of {head}, behind for {time}").format(
        acked=inputs.acked, head=inputs.head, time=duration_text(behind)
    )
    if behind <= LATE_AFTER or _moved_lately(inputs, now):
        return Word.CATCHING_UP, gettext("The node is catching up: {progress}.").format(progress=progress)
    if behind <= STALE_AFTER:
        return Word.LATE, gettext("The node is reachable but late: {progress}.").format(progress=progress)
    return Word.STALE, gettext("The node is serving stale data: {progress}.").format(progress=progress)


def _describe_drain(inputs: HealthInputs) -> str:
    until = f"{inputs.drained_until:%Y-%m-%d %H:%M} UTC" if inputs.drained_until else ""
    if until and inputs.drain_reason:
        message = gettext("Updates are paused until {until} ({reason}). The node serves sequence {acked}.")
    elif until:
        message = gettext("Updates are paused until {until}. The node serves sequence {acked}.")
    elif inputs.drain_reason:
        message = gettext("Updates are paused ({reason}). The node serves sequence {acked}.")
    else:
        message = gettext("Updates are paused. The node serves sequence {acked}.")
    return message.format(until=until, reason=inputs.drain_reason, acked=inputs.acked)


def _moved_lately(inputs: HealthInputs, now: datetime) -> bool:
    """Return True if a node that is far behind, for example a new one, has recently made progress."""
    return inputs.moved_at is not None and _since(inputs.moved_at, now) <= LATE_AFTER


def _since(at: datetime | None, now: datetime) -> timedelta:
    """Return the time since `at`, or zero if `at` is in the future because a clock was changed."""
    return max(timedelta(0), now - at) if at is not None else timedelta(0)
