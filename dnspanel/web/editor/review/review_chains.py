"""Prepare the chains of trust that a draft changes, with DS records of zones below or with keys of other signers."""

from collections.abc import Sequence

from django.utils import timezone

from dnspanel.accounts.actors.actors import Person
from dnspanel.fleet.reads.parent_check import parent_of
from dnspanel.web.frame.dnssec_chain import AnyKey, Chain, ParentSide, chain_of
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.other_keys import keys_in
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.rights import access
from replication.dns import rdtypes
from replication.dns.rrset import Change

# Each chain costs up to five queries, and a draft can change thousands of DS records.
MOST_CHAINS = 3


def chains_after(plans: Sequence[ZonePlan], person: Person) -> list[Chain]:
    """Return the first MOST_CHAINS chains that the plans change, as they will be after publishing.

    Nothing is queried over the network. The keys of a zone that the person isn't allowed to see are unknown.
    """
    types = (rdtypes.DS, rdtypes.DNSKEY)
    found = [(plan.zone, change) for plan in plans for change in plan.changes if change.type in types]
    return [_chain_after(zone, change, person) for zone, change in found[:MOST_CHAINS]]


def _chain_after(zone: Zone, change: Change, person: Person) -> Chain:
    if change.type == rdtypes.DNSKEY:
        parent = ParentSide.of(*parent_of(zone, person, timezone.now()))
        return chain_of(zone.name, parent, [*queries.keys_of(zone), *keys_in(change.after)])
    side = ParentSide(zone.name, {"": change.after.served if change.after else ()})
    below = access.zones_visible_to(person).filter(name=change.name).first()
    keys: list[AnyKey] = [*queries.keys_of(below), *queries.other_keys_of(below)] if below else []
    return chain_of(change.name, side, keys if below else None)
