"""The delegation of zones in the zones above them, drafted for whoever may change those. Verbs."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from dnspanel.zones import access, draft, nesting, store_rrsets
from dnspanel.zones.draft import Drafter
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Zone
from dnspanel.zones.rules import targets_of
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset, make


def delegating_zones(person: Drafter, zone_names: Sequence[str]) -> dict[str, Zone]:
    """The closest zone above each of these names, where it is one of which this person may change records."""
    above = nesting.zones_above(zone_names)
    visible = access.zones_visible_to(person).in_bulk({zone.id for zone in above.values()})
    editable = {pk: zone for pk, zone in visible.items() if access.may_edit_zone(person, zone)}
    return {name: editable[zone.id] for name, zone in above.items() if zone.id in editable}


def draft_delegations(*, zone_names: Sequence[str], author: Drafter, now: datetime) -> list[Zone]:
    """The author's draft delegates these live zones in the closest zones above them: their NS, and glue.

    Returns the zones in which it does; left alone are those in which the author may not do so, and what is so
    already. What others drafted or published is merged as with any other edit.
    """
    above = delegating_zones(author, zone_names)
    of_zone: dict[int, list[RRset]] = {}
    for name, rrsets in _delegations_of(Zone.objects.filter(name__in=list(above), deleted_at=None)).items():
        of_zone.setdefault(above[name].pk, []).extend(rrsets)
    drafted = []
    for parent in {zone.pk: zone for zone in above.values()}.values():
        try:
            made = draft.replace_rrsets(author=author, zone=parent, rrsets=of_zone.get(parent.pk, ()), now=now)
        except RightMissing:  # some of its records the author may change, but not these
            continue
        if made:
            drafted.append(parent)
    return sorted(drafted, key=lambda zone: zone.name)


def delegation_rrsets(zone_name: str, rrsets: Iterable[RRset]) -> list[RRset]:
    """What the zone above needs of a zone with these RRsets: its NS, and the addresses of those inside it (glue)."""
    content = list(rrsets)
    delegation = next((r for r in content if r.name == zone_name and r.type == rdtypes.NS and r.served), None)
    if delegation is None:
        return []
    servers = {name for name in targets_of(delegation) if names.is_within(name, zone_name)}
    glue = [r for r in content if r.name in servers and r.type in (rdtypes.A, rdtypes.AAAA) and r.served]
    return [make(r.name, r.type, r.ttl, r.served) for r in (delegation, *glue)]


def _delegations_of(zones: Iterable[Zone]) -> dict[str, list[RRset]]:
    """The delegation of each zone by its name, from what it has at its apex and at its own servers; in two queries."""
    by_id = {zone.pk: zone for zone in zones}
    found = store_rrsets.rrsets_at_names({pk: (zone.name, {zone.name}) for pk, zone in by_id.items()})
    servers = {}
    for pk, zone in by_id.items():
        named = targets_of(found[pk][zone.name, rdtypes.NS]) if (zone.name, rdtypes.NS) in found[pk] else set()
        if inside := {name for name in named if names.is_within(name, zone.name)}:
            servers[pk] = (zone.name, inside)
    for pk, addresses in store_rrsets.rrsets_at_names(servers).items():
        found[pk] |= addresses
    return {zone.name: delegation_rrsets(zone.name, found[pk].values()) for pk, zone in by_id.items()}
