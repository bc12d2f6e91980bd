"""A publication's effect on one zone, as input for rules and publish hooks. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dnspanel.zones.values import soa
from replication.dns.rrset import Change

# The kind of an action before its first publication: the zone starts or stops following other primaries.
REPLACE = "replace"
# A new zone's effect on its closest parent zone: names at and below the new apex no longer belong to the parent
# zone.
TAKE = "take"
# The same, if the parent zone delegates the new zone to exactly the servers in the new zone's NS records.
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
    """Count the changed RRsets by type. An SOA RRset doesn't count if only the serial changes."""
    return Counter(change.type for change in changes if not soa.same(change.before, change.after))
