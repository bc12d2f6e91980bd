"""What follows from an error of a push: try again, refuse, hold, repair, or a snapshot. Pure."""

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

# What an agent refuses with until it gets a snapshot, and why, as a clause for people.
CURED_BY_SNAPSHOT: dict[type[ReplicationError], str] = {
    Unfinished: gettext_noop("an earlier one was not installed to its end"),
    WrongEpoch: gettext_noop("what it has is of another epoch of the log"),
}


@dataclass(frozen=True, slots=True)
class TryAgain:
    """A failure that is not the node's, as far as the panel can tell: the node, or the data to send, is away
    or in use.
    """


@dataclass(frozen=True, slots=True)
class SendSnapshot:
    """Segments cannot bring the node on; `reason` is a clause for people."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The node's page shows the message, and the other fields say what else is done, in this order.

    `not_served`: a publication may be to blame; if one is, it is taken back, and nothing else is done. `unproven`:
    the signatures of a zone are not good; if nothing that was published did that, the push goes on without them.
    `ahead`: where the node is, which may be where this panel never was. `repair`: rows of the node are not the
    panel's. `snapshot`: why only a snapshot helps, or empty.
    """

    message: str
    not_served: NotServed | None = None
    unproven: NotServed | None = None
    ahead: Position | None = None
    repair: bool = False
    snapshot: str = ""


Outcome = TryAgain | SendSnapshot | Refusal


def outcome_of(error: ReplicationError, *, is_ring0: bool) -> Outcome:
    """Decide what follows from this error. Only ring 0 shows that a publication cannot be served."""
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
