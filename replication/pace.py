"""How much one request to a node may have: less after one that failed by time, more again after those that did not.

A node that is short of processor time applies a push, and does not prove it before the time is over. Sent again
together with what was published since, each attempt is larger than the one before and fails in the same way.
"""

from dataclasses import dataclass

from replication.errors import Busy, NodeUnreachable, NotServed, ReplicationError

MOST_SEGMENTS = 256


@dataclass(slots=True)
class Pace:
    """How many segments one request to a node may have, at most."""

    most: int = MOST_SEGMENTS

    @property
    def is_slow(self) -> bool:
        """Whether a request failed by time, and not enough were answered since."""
        return self.most < MOST_SEGMENTS

    def note_failure(self, error: ReplicationError, segments: int) -> None:
        """Halve the number of segments of the next request, if this one failed by time."""
        if is_by_time(error):
            self.most = max(1, min(self.most, segments) // 2)

    def note_answer(self) -> None:
        """Let the next request have a quarter more: a failure costs far more than a request that could have
        been larger.
        """
        self.most = min(MOST_SEGMENTS, self.most + 1 + self.most // 4)


def is_by_time(error: ReplicationError) -> bool:
    """Return True if an answer did not come in time: that of the agent, or that of its PowerDNS."""
    match error:
        case Busy():  # the request before is still under way
            return True
        case NotServed():
            return error.found == "none"
        case NodeUnreachable():
            return "timed out" in error.reason
    return False
