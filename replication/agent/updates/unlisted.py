"""Collect new zones that PowerDNS hasn't found yet, until PowerDNS has read its list of zones again."""

from dataclasses import dataclass, field

from replication.agent.powerdns.zonecache import MAX_SINGLE
from replication.agent.updates.touched import Touched
from replication.codec.keys import zone_prefix
from replication.errors import ReplicationError
from replication.wire.segment import Segment


@dataclass(slots=True)
class Unlisted:
    """New zones that PowerDNS hasn't found yet: the prefixes of their keys, and the changes to prove."""

    prefixes: set[bytes] = field(default_factory=set)
    touched: Touched = field(default_factory=Touched)
    # The reason that the list could not be read or its answers were wrong, and the next attempt's monotonic time.
    problem: ReplicationError | None = None
    retry_at: float = 0.0

    def take_prefixes(self, segment: Segment) -> bool:
        """Add the segment's zones and return True if it can create many zones and deletes none. Else return False."""
        if not segment.main_op_count or segment.mark_count <= MAX_SINGLE:
            return False
        serials = dict(segment.serials())
        if None in serials.values():  # deleted zones must disappear at once
            return False
        self.prefixes.update(map(zone_prefix, serials))
        return True

    def add(self, other: "Unlisted") -> None:
        self.prefixes |= other.prefixes
        self.touched.add(other.touched)
