"""Check a zone's name servers and glue at its parent over DNS, on request. Verbs."""

from datetime import datetime

from django.conf import settings

from dnspanel.accounts.actors.actors import Person
from dnspanel.fleet.lookups.turns import turn
from dnspanel.transfer.allowed_servers import is_allowed
from dnspanel.transfer.cutover.delegation_checklist import Point, parent_points
from dnspanel.transfer.cutover.parent_servers import Resolver
from dnspanel.zones.models import KeptAddresses
from dnspanel.zones.rights import access
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import names, rdtypes
from replication.wire.protocol import split_resolver


def ask_parent(*, kept: KeptAddresses, by: Person, now: datetime, resolver: Resolver | None = None) -> list[Point]:
    """Check the zone's delegation and glue at the parent zone, store the results and return them.

    This can take several seconds. The delegation is read from the parent's own servers, which a resolver finds. Raise
    Forbidden if the person is not allowed to edit the zone, and `turns.Busy` if too many checks run.
    """
    zone = kept.zone
    access.require_editor(by, zone)
    apex = rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk].get((zone.name, rdtypes.NS))
    servers = () if apex is None else apex.folded.served
    inside = {name for name in servers if names.is_within(name, zone.name)}
    found = rrsets_at_names({zone.pk: (zone.name, inside)})[zone.pk] if inside else {}
    addresses = {
        name: [
            text for type_ in (rdtypes.A, rdtypes.AAAA) if (name, type_) in found for text in found[name, type_].served
        ]
        for name in inside
    }
    with turn():
        delegation = (resolver or _first_resolver()).delegation(zone.name)
    points = parent_points(zone.name, servers, addresses, delegation)
    KeptAddresses.objects.filter(pk=kept.pk).update(asked_at=now, points=[point.to_json() for point in points])
    return points


def _first_resolver() -> Resolver:
    """Return the first resolver in the settings, or the system's resolvers if the settings don't have any."""
    address, port = next(map(split_resolver, settings.DNS_RESOLVERS), ("", 53))
    return Resolver(address, port, allows=is_allowed)
