"""A publication's effect on one zone, as input for rules and publish hooks. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dnspanel.zones.values import soa
from replication.dns.rrset import Change

# The kind of an act that isn't a publication yet: another server begins or stops deciding the zone's content.
REPLACE = "replace"
# The kind of a new zone's effect on the closest zone above: names at and below its apex no longer belong to that
# zone.
TAKE = "take"
# The same, if the zone above delegates the new zone to exactly the servers in the new zone's NS records.
TAKE_DELEGATED = "take delegated"


@dataclass(frozen=True, slots=True)
class Part:
    """The effect on one zone of a publication, or of an action that causes a publication.

    `kind` is the kind of the zone's new revision, or REPLACE, TAKE or TAKE_DELEGATED.
    """

    zone_id: int
    kind: str
    changes: Sequence[Change]


def types_changed(changes: Iterable[Change]) -> Counter[int]:
    """Count the changed RRsets by type. A SOA change of only the serial doesn't count."""
    return Counter(change.type for change in changes if not soa.same(change.before, change.after))
