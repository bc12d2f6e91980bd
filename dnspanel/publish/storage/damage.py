"""Handle missing or altered objects: log each one once, and bypass it with a snapshot. Verbs.

A node before a damaged segment can't be updated with segments, only with a later snapshot. Once such a snapshot exists,
the damaged segment is pruned, and the alert ends.
"""

import logging
from datetime import datetime

from dnspanel.publish.models import Segment, Snapshot
from dnspanel.publish.storage.prune import discard_snapshots

logger = logging.getLogger(__name__)


def record_damage(*, object_name: str, reason: str) -> None:
    """Mark the segment as damaged, so that it is no longer sent to nodes."""
    if Segment.objects.filter(object_name=object_name, damaged=False).update(damaged=True):
        logger.error("a segment is damaged, nodes before it will get a snapshot: %s", reason)


def drop_snapshot(*, snapshot: Snapshot, reason: str, now: datetime) -> None:
    """Discard a snapshot with a missing or altered object, so that it is no longer sent to nodes."""
    if discard_snapshots(snapshots=[snapshot], now=now):
        logger.error("a snapshot is damaged, another one will be made: %s", reason)
