"""The check of values that are served again unedited: from the trash, from an undo, or from another zone.

The rules for edits don't check such values. A value that every node could read when it was published may be unreadable
for a current node (`unreadable`).
"""

from collections.abc import Iterable

from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.rules import unreadable
from dnspanel.zones.rules.computed_types import reasons_against
from dnspanel.zones.rules.rules import unreadable_values
from dnspanel.zones.rules.violations import Violation
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns.rrset import RRset


def refuse_unreadable(content: Iterable[tuple[str, Iterable[RRset]]]) -> None:
    """Raise RuleViolations if some node cannot read values of the zones, each given as its name and RRsets."""
    found = unreadable_in((0, zone, rrset) for zone, rrsets in content for rrset in rrsets)
    if found:
        raise RuleViolations([violation for _, violation in found])


def refusals_of_stored(zones: Iterable[Zone]) -> dict[int, RuleViolations]:
    """Return the violations of those zones with stored values that some node cannot read, by zone id."""
    names = {zone.pk: zone.name for zone in zones}
    rows = StoredRRset.objects.filter(zone__in=list(names), type__in=unreadable.TYPES).order_by("zone", "owner_key")
    found: dict[int, list[Violation]] = {}
    for zone_id, violation in unreadable_in((row.zone_id, names[row.zone_id], rrset_of(row)) for row in rows):
        found.setdefault(zone_id, []).append(violation)
    return {zone_id: RuleViolations(violations) for zone_id, violations in found.items()}


def unreadable_in(rrsets: Iterable[tuple[int, str, RRset]]) -> list[tuple[int, Violation]]:
    """Return a violation for each value that some node cannot read. Items begin with the zone id."""
    concerned = [each for each in rrsets if each[2].type in unreadable.TYPES]
    unanswered = reasons_against({rrset.type for _, _, rrset in concerned})
    return [(id, found) for id, zone, rrset in concerned for found in unreadable_values(zone, rrset, unanswered)]
