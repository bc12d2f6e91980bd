"""Limit the size of requests to a node: smaller after a timeout, larger again after successful requests.

A node that is short of processor time applies a push, but can't prove it before the timeout. If the push is sent again
together with newer segments, each attempt is larger than the last one and fails in the same way.
"""

from dataclasses import dataclass

from replication.errors import Busy, NodeUnreachable, NotServed, ReplicationError

MOST_SEGMENTS = 256


@dataclass(slots=True)
class Pace:
    """The maximum number of segments in one request to a node."""

    most: int = MOST_SEGMENTS

    @property
    def is_slow(self) -> bool:
        """True if a request timed out and the limit hasn't recovered since."""
        return self.most < MOST_SEGMENTS

    def note_failure(self, error: ReplicationError, segments: int) -> None:
        """Halve the number of segments in the next request if the failure was a timeout."""
        if is_by_time(error):
            self.most = max(1, min(self.most, segments) // 2)

    def note_answer(self) -> None:
        """Allow a quarter more segments, plus one, in the next request.

        The increase is small because a failure costs far more than a request that could have been larger.
        """
        self.most = min(MOST_SEGMENTS, self.most + 1 + self.most // 4)


def is_by_time(error: ReplicationError) -> bool:
    """Return True if the agent or its PowerDNS did not answer in time, or is still handling an earlier request."""
    match error:
        case Busy():  # the previous request is still running
            return True
        case NotServed():
            return error.found == "none"
        case NodeUnreachable():
            return "timed out" in error.reason
    return False
