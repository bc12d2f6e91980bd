"""Which zone a name belongs to: what a client has to ask before it can update.

Unsigned questions are answered as well, because nsupdate and every ACME
client ask this way. They learn the SOA and NS of a zone, which its name
servers tell everybody, and nothing else: `questions` is for who may more.
"""

from django.db.models.functions import Length

from dnspanel.zones.models import Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset


def zones_around(name: str) -> list[Zone]:
    """Return the zones that this name lies in, the closest first, with their signing; in one query."""
    candidates = [name, *ancestors_within(name, names.ROOT)]
    found = Zone.objects.filter(name__in=candidates, deleted_at=None).select_related("signing")
    return list(found.order_by(Length("name").desc()))


def zone_around(name: str) -> Zone | None:
    """The zone with the longest name that this name lies in."""
    return next(iter(zones_around(name)), None)


def apex_of(zone: Zone) -> dict[int, RRset]:
    """The SOA and NS of a zone, by type."""
    at_apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return {type_: rrset for (_, type_), rrset in at_apex.items() if type_ in (rdtypes.SOA, rdtypes.NS)}
