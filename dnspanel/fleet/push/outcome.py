"""Choose the reaction to an error of a push: try again, refuse, hold, repair or send a snapshot. Pure."""

from dataclasses import dataclass

from dnspanel.publish.errors import DamagedObject, StorageUnreachable
from dnspanel.texts import gettext, gettext_noop
from replication.errors import (
    Busy,
    Diverged,
    NeedsSnapshot,
    NodeAhead,
    NodeUnreachable,
    NotServed,
    Refused,
    ReplicationError,
    Unfinished,
    WrongEpoch,
)
from replication.verify_signatures import WITH_DNSSEC
from replication.wire.position import Position

# The errors that an agent returns until it gets a snapshot, and the reason as a clause for people.
CURED_BY_SNAPSHOT: dict[type[ReplicationError], str] = {
    Unfinished: gettext_noop("a snapshot installation was interrupted"),
    WrongEpoch: gettext_noop("the node has a different log epoch"),
}


@dataclass(frozen=True, slots=True)
class TryAgain:
    """A failure that isn't the node's fault: the node or the data for it is unreachable or in use."""


@dataclass(frozen=True, slots=True)
class SendSnapshot:
    """A failure that only a snapshot can fix: segments can't bring the node to the head. `reason` is a clause."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal with a message for the node's page. The other fields request further actions, in this order.

    `not_served`: look for a publication that is the cause. If one is found, it is reverted, and no further action
    follows. `unproven`: the signatures of a zone aren't valid. If no publication is the cause, pushes continue without
    proof of the zone. `ahead`: the node's position, which the panel may not know. `repair`: rows on the node differ
    from the panel's. `snapshot`: why only a snapshot helps, or empty.
    """

    message: str
    not_served: NotServed | None = None
    unproven: NotServed | None = None
    ahead: Position | None = None
    repair: bool = False
    snapshot: str = ""


Outcome = TryAgain | SendSnapshot | Refusal


def outcome_of(error: ReplicationError, *, is_ring0: bool) -> Outcome:
    """Return the reaction to this error. Only ring 0 can show that a publication can't be served."""
    match error:
        case NodeUnreachable() | Busy() | StorageUnreachable():
            return TryAgain()
        case NeedsSnapshot() | DamagedObject():
            return SendSnapshot(error.reason)
        case NotServed():
            is_unproven = error.question.endswith(WITH_DNSSEC)
            return Refusal(str(error), error if is_ring0 else None, error if is_unproven else None)
        case NodeAhead():
            return Refusal(str(error), ahead=Position(error.node.epoch, error.node.sequence))
        case WrongEpoch():
            return Refusal(str(error), ahead=Position(error.theirs, 0))
        case Diverged():
            return Refusal(str(error), repair=True)
        case Refused():
            cures = [gettext(reason) for kind, reason in CURED_BY_SNAPSHOT.items() if error.was(kind)]
            return Refusal(str(error), repair=error.was(Diverged), snapshot=next(iter(cures), ""))
    return Refusal(str(error))
