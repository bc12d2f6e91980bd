"""Check values that are published again without an edit: from the trash, an undo, or another zone.

The rules for edits don't check such values. Every node could read them when they were first published, but a current
node may be unable to (`unreadable`).
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
    """Raise RuleViolations if some node can't read values in the zones. `content` has (zone name, RRsets)."""
    found = unreadable_in((0, zone, rrset) for zone, rrsets in content for rrset in rrsets)
    if found:
        raise RuleViolations([violation for _, violation in found])


def refusals_of_stored(zones: Iterable[Zone]) -> dict[int, RuleViolations]:
    """Return the violations of zones that store values that some node can't read, keyed by zone id."""
    names = {zone.pk: zone.name for zone in zones}
    rows = StoredRRset.objects.filter(zone__in=list(names), type__in=unreadable.TYPES).order_by("zone", "owner_key")
    found: dict[int, list[Violation]] = {}
    for zone_id, violation in unreadable_in((row.zone_id, names[row.zone_id], rrset_of(row)) for row in rows):
        found.setdefault(zone_id, []).append(violation)
    return {zone_id: RuleViolations(violations) for zone_id, violations in found.items()}


def unreadable_in(rrsets: Iterable[tuple[int, str, RRset]]) -> list[tuple[int, Violation]]:
    """Return (zone id, violation) for each value that some node can't read.

    `rrsets` has (zone id, zone name, RRset).
    """
    concerned = [each for each in rrsets if each[2].type in unreadable.TYPES]
    unanswered = reasons_against({rrset.type for _, _, rrset in concerned})
    return [(id, found) for id, zone, rrset in concerned for found in unreadable_values(zone, rrset, unanswered)]
