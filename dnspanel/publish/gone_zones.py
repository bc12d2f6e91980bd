"""Permanently delete zones from the trash before their time is up. Verbs.

This module is not in `zones`, because it has to check that the nodes' log contains the zone's deletion. The log is
encoded from the zone's rows. If the rows are deleted first, the deletion doesn't reach any node.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Max

from dnspanel.accounts.actors.actors import Author, Right
from dnspanel.accounts.audit import audit
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.publish.reading.schemas import schemas_in_use
from dnspanel.zones.audit.audit_chain import PUBLICATION
from dnspanel.zones.errors import NotInTrash, StillOnItsWay
from dnspanel.zones.models import AuditLink, LogHead, Zone
from dnspanel.zones.publishing.restore_zones import GONE, gone_stamp
from dnspanel.zones.rights import access


def delete_for_good(*, zone: Zone, author: Author, now: datetime) -> None:
    """Permanently delete the zone, its records and its history, and record this in the audit log.

    Everything happens in one transaction. Raise NotInTrash if the zone isn't in the trash, RightMissing if the author
    isn't allowed to delete it, and StillOnItsWay if the nodes' log or the audit chain lacks the deletion.
    """
    with transaction.atomic(durable=True):
        trashed = Zone.objects.select_for_update().filter(pk=zone.pk).exclude(deleted_at=None).first()
        if trashed is None or trashed.deleted_at is None:
            raise NotInTrash(zone.name)
        access.require_right(author, trashed, Right.DELETE_ZONE)
        if not _is_known(trashed.sequence):
            raise StillOnItsWay(trashed.name)
        audit.record(
            action=GONE,
            by=author,
            now=now,
            target=trashed.name,
            deleted_at=gone_stamp(trashed.deleted_at),
            revision=trashed.revision,
            rrsets=trashed.rrset_count,
        )
        trashed.delete()


def _is_known(sequence: int) -> bool:
    """Return True if every schema's log is encoded up to this sequence, and the audit log's chain contains it."""
    epoch = LogHead.objects.values_list("epoch", flat=True).get()
    for schema in schemas_in_use():
        segments = Segment.objects.filter(schema=schema, epoch=epoch).aggregate(newest=Max("last"))["newest"]
        snapshots = Snapshot.objects.filter(schema=schema, epoch=epoch).aggregate(newest=Max("sequence"))["newest"]
        if max(segments or 0, snapshots or 0) < sequence:
            return False
    return AuditLink.objects.filter(kind=PUBLICATION, ref=sequence).exists()
