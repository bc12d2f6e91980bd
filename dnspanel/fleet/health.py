"""How a node is doing, in one word and one sentence, from numbers. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dnspanel.fleet.models import NodeState

# The collector reports contact every few seconds, so three missed reports are an outage.
OFFLINE_AFTER = timedelta(seconds=15)
# A push takes a fraction of this; without it every publication would make the whole fleet blink.
IN_FLIGHT = timedelta(seconds=1)
LATE_AFTER = timedelta(seconds=5)
STALE_AFTER = timedelta(minutes=5)


class Word(StrEnum):
    """The state of a node as pages name it."""

    LIVE = "live"
    CATCHING_UP = "catching up"
    LATE = "late"
    STALE = "stale"
    HELD = "held back"
    OFFLINE = "offline"
    REJECTING = "rejecting"
    DRAINED = "drained"
    WAITING = "waiting for approval"
    RETIRED = "retired"


# Words that mean a fault rather than a change on its way.
FAULTS = frozenset({Word.OFFLINE, Word.REJECTING, Word.STALE})


# Words of a node that does all it may: during an import every node is behind for as long as it lasts, and one that is
# held back waits for the groups before it.
WELL = frozenset({Word.LIVE, Word.CATCHING_UP, Word.HELD})


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a node. `behind_since` is when the first publication that it lacks was published.

    `limit` is up to where it may go (None: to the head), and `waits` says why not further.
    """

    state: str
    epoch: UUID | None
    acked: int
    acked_at: datetime | None
    contact_at: datetime | None
    refusal: str
    head_epoch: UUID
    head: int
    behind_since: datetime | None
    limit: int | None = None
    waits: str = ""
    drain: str = ""  # why it is drained, and until when, as a sentence's rest
    certificate_expires_at: datetime | None = None
    snapshot: str = ""  # how far a snapshot on its way to it is, in words


@dataclass(frozen=True, slots=True)
class Health:
    """A word, why, and the lag in changes and in seconds."""

    word: Word
    sentence: str
    lag: int
    lag_seconds: float


def health(facts: Facts, now: datetime) -> Health:
    """Return the word that matters most: a state set by people, then a refusal, then silence, then lag."""
    ours = facts.epoch == facts.head_epoch
    lag = max(0, facts.head - facts.acked) if ours else facts.head
    behind = _since(facts.behind_since, now) if lag else timedelta(0)
    word, sentence = _judge(facts, lag, behind, now)
    return Health(word, sentence, lag, behind.total_seconds())


def _judge(facts: Facts, lag: int, behind: timedelta, now: datetime) -> tuple[Word, str]:
    if facts.state == NodeState.AWAITING_APPROVAL:
        return Word.WAITING, "Its agent has not been approved yet."
    if facts.state == NodeState.DRAINED:
        return Word.DRAINED, f"It takes no pushes{facts.drain} and serves sequence {facts.acked}."
    if facts.state == NodeState.RETIRED:
        return Word.RETIRED, "It has left the fleet."
    if facts.certificate_expires_at is not None and facts.certificate_expires_at <= now:
        expired = f"its certificate expired {facts.certificate_expires_at:%Y-%m-%d}"
        return Word.REJECTING, f"It stays at sequence {facts.acked}: {expired}. Revoke it and enroll the node again."
    if facts.refusal:
        return Word.REJECTING, f"It stays at sequence {facts.acked}: {facts.refusal}."
    if facts.contact_at is None:
        return Word.OFFLINE, "The panel has not reached its agent yet."
    silent = _since(facts.contact_at, now)
    if silent > OFFLINE_AFTER:
        return Word.OFFLINE, f"No contact for {spoken(silent)}; it keeps serving sequence {facts.acked}."
    if facts.snapshot:
        return Word.CATCHING_UP, f"{facts.snapshot} It serves sequence {facts.acked} meanwhile."
    if not lag:
        return Word.LIVE, f"It answers with everything up to sequence {facts.head}."
    if facts.behind_since is not None and timedelta(0) <= now - facts.behind_since <= IN_FLIGHT:
        return Word.LIVE, f"It answers with sequence {facts.acked}; {facts.head} is on its way."
    if facts.limit is not None and facts.limit <= facts.acked and facts.epoch == facts.head_epoch:
        return Word.HELD, f"It answers with sequence {facts.acked} of {facts.head}; {facts.waits}."
    behind_words = f"sequence {facts.acked} of {facts.head}, behind for {spoken(behind)}"
    if behind <= LATE_AFTER or _moved_lately(facts, now):
        return Word.CATCHING_UP, f"It is taking changes: {behind_words}."
    if behind <= STALE_AFTER:
        return Word.LATE, f"It is reachable but late: {behind_words}."
    return Word.STALE, f"It serves old answers: {behind_words}."


def _moved_lately(facts: Facts, now: datetime) -> bool:
    """True while a node that is far behind, such as a new one, makes progress."""
    return facts.acked_at is not None and _since(facts.acked_at, now) <= LATE_AFTER


def _since(at: datetime | None, now: datetime) -> timedelta:
    """Return how long ago; zero for the future, which only a stepped clock can show."""
    return max(timedelta(0), now - at) if at is not None else timedelta(0)


def spoken(duration: timedelta) -> str:
    """A duration as sentences say it: 40 s, 3 min, 2 h, 5 days."""
    seconds = int(duration.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    if seconds < 7200:
        return f"{seconds // 60} min"
    if seconds < 172_800:
        return f"{seconds // 3600} h"
    return f"{seconds // 86_400} days"
