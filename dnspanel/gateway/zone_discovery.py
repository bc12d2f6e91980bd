"""Finding the zone of a name: the first question of a client that updates.

Unsigned questions are answered as well, because nsupdate and every ACME client ask this way. Clients learn only the SOA
and NS of a zone, which its name servers answer to everyone. `questions` is for clients with more rights.
"""

from django.db.models.functions import Length

from dnspanel.zones.models import Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset


def zones_around(name: str) -> list[Zone]:
    """Return the zones that contain this name, the closest first, with their signing; in one query."""
    candidates = [name, *ancestors_within(name, names.ROOT)]
    found = Zone.objects.filter(name__in=candidates, deleted_at=None).select_related("signing")
    return list(found.order_by(Length("name").desc()))


def zone_around(name: str) -> Zone | None:
    """Return the zone with the longest name that contains this name."""
    return next(iter(zones_around(name)), None)


def apex_of(zone: Zone) -> dict[int, RRset]:
    """Return the SOA and NS of a zone, by type."""
    at_apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return {type_: rrset for (_, type_), rrset in at_apex.items() if type_ in (rdtypes.SOA, rdtypes.NS)}
