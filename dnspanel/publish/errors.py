"""Errors that stop the publisher, in addition to those of `replication`, and errors of signing keys.

Transient (replication)
└── StorageUnreachable    the storage of segments does not answer, or is full
Permanent (replication)
├── ZoneNotEncoded        a zone's content cannot be compiled
├── ChainBroken           a zone would no longer validate
├── SegmentsAhead         segments exist that the log lacks
├── StoreAhead            the panel's LMDB has more than its segments
└── BadSegment (replication)
    └── DamagedObject     a stored object is missing, or is not what was stored
KeyRefused                a change of the signing keys is refused
├── RotationUnderWay      the nodes do not all have the last new key yet
└── KeyStillNeeded        nodes still need something that the key signed
"""

from dnspanel.texts import gettext
from replication.errors import BadSegment, Permanent, Transient


class StorageUnreachable(Transient):
    """The storage `segments` failed. Publications wait until it works again."""

    def __init__(self, *, object_name: str, reason: str) -> None:
        super().__init__(
            gettext("the segment storage failed for {object_name}: {reason}").format(
                object_name=object_name, reason=reason
            )
        )
        self.object_name, self.reason = object_name, reason


class ZoneNotEncoded(Permanent):
    """A zone can't be compiled. Encoding continues once a later publication fixes the zone."""

    def __init__(self, *, zone_name: str, reason: str) -> None:
        super().__init__(
            gettext("{zone_name} couldn’t be encoded: {reason}").format(zone_name=zone_name, reason=reason)
        )
        self.zone_name, self.reason = zone_name, reason


class ChainBroken(Permanent):
    """Validating resolvers would reject all answers for a zone, and no person has accepted that."""

    def __init__(self, *, zone_name: str, sequence: int, reason: str) -> None:
        super().__init__(
            gettext(
                "from sequence {sequence} on, validating resolvers would reject all answers for {zone_name}, "
                "{reason}. Publish a correct DS or correct keys, or run manage.py let_pass {sequence} --reason …"
            ).format(sequence=sequence, zone_name=zone_name, reason=reason)
        )
        self.zone_name, self.sequence = zone_name, sequence


class SegmentsAhead(Permanent):
    """PostgreSQL was restored or altered, and would use sequences again that nodes already have."""

    def __init__(self, *, segments: int, head: int) -> None:
        super().__init__(
            gettext(
                "segments end at sequence {segments}, but the log ends at {head}. The database might have been restored"
            ).format(segments=segments, head=head)
        )
        self.segments, self.head = segments, head

    @property
    def reason(self) -> str:
        """The reason for a hold, as a sentence."""
        return gettext("the last segment is at sequence {segments}, but the database is only at {head}.").format(
            segments=self.segments, head=self.head
        )


class StoreAhead(Permanent):
    """The panel's LMDB contains a later state than the database."""

    def __init__(self, *, store: int, segments: int) -> None:
        super().__init__(
            gettext(
                "the panel’s LMDB is at sequence {store}, but segments end at {segments}. Run manage.py rebuild_lmdb"
            ).format(store=store, segments=segments)
        )
        self.store, self.segments = store, segments

    @property
    def reason(self) -> str:
        """The reason for a hold, as a sentence."""
        return gettext("the panel’s own LMDB is at sequence {store}, but the database ends at {segments}.").format(
            store=self.store, segments=self.segments
        )


class DamagedObject(BadSegment):
    """A stored object is missing or altered."""

    def __init__(self, *, object_name: str, reason: str) -> None:
        super().__init__(reason=reason)
        self.object_name = object_name


class KeyRefused(Exception):
    """An action on the signing keys isn't possible now. The message is for the user who requested it."""


class RotationUnderWay(KeyRefused):
    """A key rotation is in progress: a new key exists, but isn't in use yet."""

    def __init__(self) -> None:
        super().__init__(gettext("Another key rotation is in progress. Wait until its new key is in use."))


class KeyStillNeeded(KeyRefused):
    """Former keys can't be retired, because nodes still need data that is signed only with them."""
