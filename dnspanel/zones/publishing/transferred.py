"""Remove expired transferred zones from the nodes, and send them to the nodes again. Verbs.

PowerDNS can't answer SERVFAIL for one zone of a file without an error in the whole backend. If a zone has no SOA, a
disabled SOA or no records, PowerDNS returns REFUSED or an answer from the parent zone (`test_unserved` in
tests/oracle). Expired zones are therefore removed from the nodes, like deleted ones; resolvers then ask other servers.
"""

from collections.abc import Callable, Collection
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, SystemRight
from dnspanel.zones.acting import Acting
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Publication, RevisionKind, Zone
from dnspanel.zones.store import find_zones

InTransaction = Callable[[Publication], object]


def stop_serving(
    *, zone_ids: Collection[int], channel: str, now: datetime, reason: str, in_transaction: InTransaction
) -> Publication | None:
    """Remove transferred zones from the nodes, but keep their content in the panel. The panel itself is the author.

    `in_transaction` runs in the same transaction. If no node has the zones, return None without calling it.
    """
    if not zone_ids:
        return None
    with transaction.atomic(durable=True):
        zones = [zone for zone in find_zones.lock_zones(zone_ids) if zone.is_served and zone.transferred_from]
        if not zones:
            return None
        Zone.objects.filter(pk__in=[zone.pk for zone in zones]).update(is_served=False)
        publication = append_publication(
            revisions=[_revision(zone, RevisionKind.EXPIRE) for zone in zones],
            acting=Acting(None, channel, now, reason),
            under=SystemRight.EXPIRY,
        )
        in_transaction(publication)
        return publication


def serve_within(*, zone: Zone, author: Author, channel: str, now: datetime, reason: str) -> Publication | None:
    """Publish the zone to the nodes. Return None if they already have it.

    Call this function as the last step of a transaction that has locked the zone.
    """
    if zone.is_served:
        return None
    Zone.objects.filter(pk=zone.pk).update(is_served=True)
    return append_publication(
        revisions=[_revision(zone, RevisionKind.RESTORE)],
        acting=Acting(author, channel, now, reason),
        under=SystemRight.TRANSFER,
    )


def _revision(zone: Zone, kind: RevisionKind) -> NewRevision:
    return NewRevision(zone.pk, zone.name, kind, zone.revision + 1, zone.serial, zone.rrset_count)
