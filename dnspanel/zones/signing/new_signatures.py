"""Increase the serials of signed zones every week, so that secondaries transfer new signatures. Verbs.

PowerDNS signs answers by weeks that begin on Thursdays: a signature is valid from a week before to two weeks after the
start of its week. Nodes sign automatically. A secondary has the signatures of its last transfer, and transfers again
only if the serial changes.
"""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.zones.acting import Acting
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Channel, Publication, RevisionKind
from dnspanel.zones.store import find_zones, store_rrsets
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change


def publish_new_signatures(*, zone_ids: Collection[int], before: datetime, now: datetime) -> Publication | None:
    """Increase the serial of each zone that was last published before `before`, in one publication.

    Skip deleted, transferred and unserved zones. The author is the panel. A repeated call returns None.
    """
    with transaction.atomic(durable=True):
        zones = [
            zone
            for zone in find_zones.lock_zones(zone_ids)
            if zone.is_served and not zone.transferred_from and zone.changed_at < before
        ]
        apexes = store_rrsets.rrsets_at_names({zone.pk: (zone.name, [zone.name]) for zone in zones})
        revisions = []
        for zone in zones:
            key = zone.name, rdtypes.SOA
            old = apexes[zone.pk][key]
            new = soa.next_soa(old, old, zone.soa_edits, now)
            assert new is not None
            revisions.append(
                NewRevision(
                    zone_id=zone.pk,
                    zone_name=zone.name,
                    kind=RevisionKind.CHANGE,
                    number=zone.revision + 1,
                    serial=soa.serial_of(new).value,
                    rrset_count=zone.rrset_count,
                    changes=[Change(*key, before=old, after=new)],
                )
            )
        if not revisions:
            return None
        store_rrsets.write_changes((each.zone_id, each.zone_name, each.changes) for each in revisions)
        return append_publication(
            revisions=revisions,
            acting=Acting(None, Channel.SYSTEM, now, panel_reasons.SIGNATURES),
            under=SystemRight.SIGNING,
        )
