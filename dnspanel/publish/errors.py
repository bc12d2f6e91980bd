"""What may stop the publisher, besides the errors of `replication`; each is shown to a person.

Permanent (replication)
├── ZoneNotEncoded        a zone's content cannot be compiled
├── SegmentsAhead         segments exist that the log does not know
└── StoreAhead            the panel's LMDB holds more than its segments
"""

from replication.errors import Permanent


class ZoneNotEncoded(Permanent):
    """One zone cannot be compiled; a publication that mends the zone lets the log go on."""

    def __init__(self, *, zone_name: str, reason: str) -> None:
        super().__init__(f"{zone_name} cannot be encoded: {reason}")
        self.zone_name, self.reason = zone_name, reason


class SegmentsAhead(Permanent):
    """PostgreSQL was restored or altered: sequences that nodes have are to be handed out again."""

    def __init__(self, *, segments: int, head: int) -> None:
        super().__init__(f"segments reach sequence {segments}, the log only {head}: is this a restored database?")
        self.segments, self.head = segments, head


class StoreAhead(Permanent):
    """The panel's LMDB belongs to a later state of the database than this one."""

    def __init__(self, *, store: int, segments: int) -> None:
        super().__init__(
            f"the panel's LMDB is at sequence {store}, segments reach only {segments}: run manage.py rebuild_lmdb"
        )
        self.store, self.segments = store, segments
