"""Revert publications that ring 0 can't serve, so that other nodes never receive them. Verbs.

The panel reverts a failed publication with another publication. Other nodes receive no publications from the failed one
onwards, until the failed publication and its revert are merged into one segment. The merged segment doesn't contain the
failed content.
"""

import logging
from datetime import datetime

from django.db.models import Max, Min

from dnspanel.fleet import events
from dnspanel.fleet.models import Isolation, Node, NodeState
from dnspanel.publish.models import Segment
from dnspanel.publish.storage.consolidate import merge_range
from dnspanel.texts import gettext
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.publishing import failed

logger = logging.getLogger(__name__)


def isolate(*, node: Node, sequence: int, reason: str, now: datetime) -> Publication | None:
    """Revert the publication and mark it with the reason. Return the reverting publication.

    If there is nothing to revert, return None and change nothing.
    """

    inverse = failed.take_back(
        sequence=sequence, reason=reason, now=now, in_transaction=lambda inverse: _keep(inverse, sequence, now)
    )
    if inverse is not None:
        _note(node, sequence, inverse, reason, now)
    return inverse


def isolate_signing(*, node: Node, zone: Zone, up_to: int, reason: str, now: datetime) -> Publication | None:
    """Restore the zone's signing as of the node's ack, and cancel its rollovers. Return the reverting publication.

    The first publication up to `up_to` that changed the signing is marked with the reason. Return None if there is no
    such publication, or if an old key's private part no longer exists.
    """
    failed_ones: list[int] = []

    def keep(inverse: Publication, sequence: int) -> None:
        _keep(inverse, sequence, now)
        failed_ones.append(sequence)

    inverse = failed.take_back_signing(
        zone=zone, after=node.acked, up_to=up_to, reason=reason, now=now, in_transaction=keep
    )
    if inverse is not None:
        _note(node, failed_ones[0], inverse, reason, now)
    return inverse


def _keep(inverse: Publication, sequence: int, now: datetime) -> None:
    Isolation.objects.update_or_create(
        failed=sequence, defaults={"epoch": inverse.epoch, "inverse": inverse.sequence, "found_at": now}
    )


def _note(node: Node, sequence: int, inverse: Publication, reason: str, now: datetime) -> None:
    message = gettext("Publication {sequence} reverted before reaching other nodes. Reason: {reason}").format(
        sequence=sequence, reason=reason
    )
    events.note(node_id=node.pk, kind="isolated", message=message, now=now)
    logger.error("isolated sequence=%s inverse=%s: %s", sequence, inverse.sequence, reason)


def merge_acked(*, now: datetime) -> bool:
    """Merge failed publications and their reverts into one segment. Return True if they were merged now.

    They are merged once they are encoded for every schema and ring 0, if there is one, has acknowledged them.
    """
    epoch = LogHead.objects.values_list("epoch", flat=True).get()
    open_ones = Isolation.objects.filter(epoch=epoch, merged_at=None)
    first, last = open_ones.aggregate(first=Min("failed"), last=Max("inverse")).values()
    if first is None:
        return False
    ring0 = Node.objects.filter(is_ring0=True, state=NodeState.ACTIVE)
    if ring0.exists() and not ring0.filter(epoch=epoch, acked__gte=last).exists():
        return False
    segments = Segment.objects.filter(epoch=epoch, last__gte=first)
    encoded = segments.values("schema").annotate(newest=Max("last"))
    if not encoded or any(row["newest"] < last for row in encoded):
        return False
    if merge_range(epoch=epoch, first=first, last=last, now=now) < len(encoded):
        return False  # an object is damaged, or the storage has changed: the next call, a second later, tries again
    open_ones.filter(failed__gte=first, inverse__lte=last).update(merged_at=now)
    logger.info("merged failed=%s..%s: other nodes go on behind it", first, last)
    return True
