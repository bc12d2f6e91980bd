"""Find the zone, or the RRsets, whose full name a person types into a search box."""

from dataclasses import dataclass

from dnspanel.accounts.actors.actors import Person
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.access import closest_zones_visible_to
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.codec import keys
from replication.dns import names
from replication.dns.rrset import RRset
from replication.errors import BadName


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """A zone, and the RRsets at the typed name. `rrsets` is empty if the typed name is the zone's name."""

    zone: Zone
    rrsets: tuple[RRset, ...] = ()


def exact_match(*, person: Person, text: str) -> ExactMatch | None:
    """Return the zone named `text`, or the RRsets at this name in the closest zone above it.

    Return None if nothing matches, or if the person can't see that zone. The final dot is optional. Needs at most three
    queries.
    """
    try:
        name = names.parse(text)
    except BadName:
        return None
    zone = closest_zones_visible_to(person, [name]).get(name)
    if zone is None or zone.name == name:
        return None if zone is None else ExactMatch(zone)
    rows = StoredRRset.objects.filter(zone=zone, owner_key=keys.relative_key(name, zone.name)).order_by("type")
    rrsets = tuple(rrset_of(row) for row in rows)
    return ExactMatch(zone, rrsets) if rrsets else None
