"""The search for the zone that contains a name, which is the first question of clients that send updates.

Unsigned questions are answered too, because nsupdate and all ACME clients ask this way. Clients only learn the SOA and
NS of a zone, which its name servers answer to everyone. `zone_questions` is for clients with more rights.
"""

from django.db.models.functions import Length

from dnspanel.zones.models import Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset


def zones_around(name: str) -> list[Zone]:
    """Return the zones that contain a name, closest first, with their signing state. Needs one query."""
    candidates = [name, *ancestors_within(name, names.ROOT)]
    found = Zone.objects.filter(name__in=candidates, deleted_at=None).select_related("signing")
    return list(found.order_by(Length("name").desc()))


def zone_around(name: str) -> Zone | None:
    """Return the closest zone that contains a name, or None."""
    return next(iter(zones_around(name)), None)


def apex_of(zone: Zone) -> dict[int, RRset]:
    """Return the SOA and NS RRsets of a zone by type."""
    at_apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return {type_: rrset for (_, type_), rrset in at_apex.items() if type_ in (rdtypes.SOA, rdtypes.NS)}
