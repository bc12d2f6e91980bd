"""Draft a zone's delegation in its parent zone, for people who are allowed to change the parent zone. Verbs."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from dnspanel.zones.dnssec.trust import ds_into
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import targets_of
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values.reverse_names import classless_aliases
from replication.dns import names, rdtypes
from replication.dns.rrset import Key, RRset, make

_ALIAS_TTL = _DS_TTL = 3600
_MOST_TRACES = 300


def delegating_zones(person: draft.Drafter, zone_names: Sequence[str]) -> dict[str, Zone]:
    """Return the parent zone of each name. Omit parent zones in which the person can't change any record."""
    above = nesting.zones_above(zone_names)
    visible = access.zones_visible_to(person).in_bulk({zone.id for zone in above.values()})
    editable = {pk: zone for pk, zone in visible.items() if access.may_edit_zone(person, zone)}
    return {name: editable[zone.id] for name, zone in above.items() if zone.id in editable}


def draft_delegations(*, zone_names: Sequence[str], author: draft.Drafter, now: datetime) -> list[Zone]:
    """Draft the delegation of live zones in their parent zones: NS, glue, and DS of signed zones.

    For a classless zone (RFC 2317), also draft the CNAMEs into it, unless their owner names are in use. Return the
    changed zones. Skip zones that the author is not allowed to change, and records that already exist. Other people's
    drafts and publications are merged as with any other edit.
    """
    above = delegating_zones(author, zone_names)
    of_zone: dict[int, list[RRset]] = {}
    zones = list(Zone.objects.filter(name__in=list(above), deleted_at=None))
    for name, rrsets in _delegations_of(zones).items():
        of_zone.setdefault(above[name].pk, []).extend(rrsets)
    for added in (_aliases_into(above), _ds_into(zones, above)):
        for zone_id, rrsets in added.items():
            of_zone.setdefault(zone_id, []).extend(rrsets)
    drafted = []
    for parent in {zone.pk: zone for zone in above.values()}.values():
        try:
            made = draft.replace_rrsets(author=author, zone=parent, rrsets=of_zone.get(parent.pk, ()), now=now)
        except RightMissing:  # the author can change some records of the zone, but not these
            continue
        if made:
            drafted.append(parent)
    return sorted(drafted, key=lambda zone: zone.name)


def traces_of(person: draft.Drafter, zone_name: str) -> tuple[Zone, list[RRset]] | None:
    """Return the parent zone, and the records in it that delegate the zone.

    These are the records that are useless without the zone: NS, DS, glue, and the CNAMEs of RFC 2317. Return None if
    the parent zone has no such record, or if the person isn't allowed to change the parent zone.
    """
    parent = delegating_zones(person, [zone_name]).get(zone_name)
    if parent is None:
        return None
    aliases = classless_aliases(zone_name)
    within = store_rrsets.rrsets_within(parent.pk, parent.name, [zone_name], _MOST_TRACES)
    found = [rrset for rrset in within if rrset.name == zone_name and rrset.type in (rdtypes.NS, rdtypes.DS)]
    servers = {target for rrset in found if rrset.type == rdtypes.NS for target in targets_of(rrset)}
    found += [rrset for rrset in within if rrset.name in servers and rrset.type in (rdtypes.A, rdtypes.AAAA)]
    if aliases:
        at = store_rrsets.rrsets_at_names({parent.pk: (parent.name, list(aliases))})[parent.pk]
        found += [
            rrset
            for name, target in aliases.items()
            if (rrset := at.get((name, rdtypes.CNAME))) is not None and rrset.folded.rdata == (target,)
        ]
    return (parent, found) if found else None


def draft_removal(*, parent: Zone, rrsets: Iterable[RRset], author: draft.Drafter, now: datetime) -> int:
    """Delete RRsets of the parent zone in the author's draft. Return their number. Raise like `draft.change_rrsets`."""
    gone: dict[Key, RRset | None] = {(rrset.name, rrset.type): None for rrset in rrsets}
    return len(draft.change_rrsets(author=author, zone=parent, afters=gone, now=now))


def delegation_rrsets(zone_name: str, rrsets: Iterable[RRset]) -> list[RRset]:
    """Return the RRsets that delegate the zone: its served NS, and the addresses of name servers inside it (glue)."""
    content = list(rrsets)
    delegation = next((r for r in content if r.name == zone_name and r.type == rdtypes.NS and r.served), None)
    if delegation is None:
        return []
    servers = {name for name in targets_of(delegation) if names.is_within(name, zone_name)}
    glue = [r for r in content if r.name in servers and r.type in (rdtypes.A, rdtypes.AAAA) and r.served]
    return [make(r.name, r.type, r.ttl, r.served) for r in (delegation, *glue)]


def _aliases_into(above: Mapping[str, Zone]) -> dict[int, list[RRset]]:
    """Return the CNAMEs that classless zones in `above` need in their parent zones, keyed by parent zone id (RFC 2317).

    Skip a CNAME if its owner name already has any record in the parent zone, because the name could be in use.
    """
    aliases = {name: classless_aliases(name) for name in above}
    owners: dict[int, tuple[str, set[str]]] = {}
    for name, of_name in aliases.items():
        if of_name:
            owners.setdefault(above[name].pk, (above[name].name, set()))[1].update(of_name)
    at = store_rrsets.rrsets_at_names(owners) if owners else {}
    found: dict[int, list[RRset]] = {}
    for name, of_name in aliases.items():
        taken = {key[0] for key in at.get(above[name].pk, ())}
        found.setdefault(above[name].pk, []).extend(
            make(owner, rdtypes.CNAME, _ALIAS_TTL, [target]) for owner, target in of_name.items() if owner not in taken
        )
    return found


def _ds_into(zones: Iterable[Zone], above: Mapping[str, Zone]) -> dict[int, list[RRset]]:
    """Return signed zones' DS RRsets, keyed by parent zone id. Skip zones that already have a DS in the parent zone."""
    by_id = {zone.pk: zone for zone in zones}
    texts = {by_id[zone_id].name: ds for zone_id, ds in ds_into(by_id.values()).items() if ds}
    owners: dict[int, tuple[str, set[str]]] = {}
    for name in texts:
        owners.setdefault(above[name].pk, (above[name].name, set()))[1].add(name)
    at = store_rrsets.rrsets_at_names(owners) if owners else {}
    found: dict[int, list[RRset]] = {}
    for name, ds in texts.items():
        if (name, rdtypes.DS) not in at[above[name].pk]:
            found.setdefault(above[name].pk, []).append(make(name, rdtypes.DS, _DS_TTL, ds))
    return found


def _delegations_of(zones: Iterable[Zone]) -> dict[str, list[RRset]]:
    """Return the NS and glue RRsets that delegate each zone, keyed by zone name. Needs two queries."""
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
