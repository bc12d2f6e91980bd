"""Collect the types for the editor's filter, each with its number of RRsets."""

from dnspanel.accounts.models import User
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Zone
from replication.dns import rdata, rdtypes

TYPE_NAMES = sorted(rdata.type_to_text(type) for type in rdtypes.SERVED_TYPES)


def types_of(zone: Zone, author: User) -> list[tuple[str, int]]:
    """Return (mnemonic, number of RRsets) for each type, most frequent first. The first pair is ("", the total).

    The author's draft is included. The list is empty if the zone has too many RRsets to count.
    """
    counted = [(rdata.type_to_text(type), count) for type, count in rrset_pages.type_counts(zone=zone, author=author)]
    everything = [("", sum(count for _, count in counted))] if counted else []
    return everything + sorted(counted, key=lambda item: (-item[1], item[0]))
