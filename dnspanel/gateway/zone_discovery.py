"""Find the zone that contains a name. Clients query this zone's SOA before they send an update.

Unsigned queries are answered too, because nsupdate and all ACME clients send them. Clients only learn a zone's SOA and
NS, which its name servers send to everyone. `zone_questions` is for clients with more permissions.
"""

from django.db.models.functions import Length

from dnspanel.zones.models import Zone
from dnspanel.zones.rules.neighbourhood import ancestors_within
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset


def zones_around(name: str) -> list[Zone]:
    """Return the zones that contain a name, closest first, with their signing state. Makes one database query."""
    candidates = [name, *ancestors_within(name, names.ROOT)]
    found = Zone.objects.filter(name__in=candidates, deleted_at=None).select_related("signing")
    return list(found.order_by(Length("name").desc()))


def zone_around(name: str) -> Zone | None:
    """Return the closest zone that contains a name, or None if no zone contains it."""
    return next(iter(zones_around(name)), None)


def apex_of(zone: Zone) -> dict[int, RRset]:
    """Return the SOA and NS RRsets of a zone, keyed by type."""
    at_apex = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    return {type_: rrset for (_, type_), rrset in at_apex.items() if type_ in (rdtypes.SOA, rdtypes.NS)}
