"""Put publishing on hold if nodes may have publications that this database lacks. Verbs.

After a restored backup or a lossy failover, a second publication could get the same sequence with other content. A hold
prevents this in the one statement that allocates sequences (`sequence_log.append_publication`). The check for a hold
needs no extra query. Only a person ends a hold (`zones.publishing.epoch`).
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dnspanel.zones.models import Epoch, LogHead, Publication

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hold:
    """The reason why publishing is on hold, as a sentence, and the time when the hold began."""

    reason: str
    since: datetime


def hold(*, reason: str, now: datetime) -> bool:
    """Put publishing on hold. If it is already on hold, keep the first reason and return False.

    The call waits for a publication that is being committed. Later publications are rejected.
    """
    placed = LogHead.objects.filter(held_reason="").update(held_reason=reason, held_since=now)
    if placed:
        logger.error("publishing is held: %s", reason)
    return bool(placed)


def release() -> None:
    """End the hold. Must be called in the transaction that stores the person's decision to end it."""
    LogHead.objects.exclude(held_reason="").update(held_reason="", held_since=None)


def current_hold() -> Hold | None:
    """Return the hold, or None if publishing isn't on hold."""
    head = LogHead.objects.exclude(held_reason="").only("held_reason", "held_since").first()
    return Hold(head.held_reason, head.held_since) if head is not None and head.held_since is not None else None


def is_of_this_history(epoch: UUID) -> bool:
    """Return True if this epoch is the current or a former epoch of this database.

    An unknown epoch began after the backup that the database was restored from.
    """
    return (
        LogHead.objects.filter(epoch=epoch).exists()
        or Epoch.objects.filter(epoch=epoch).exists()
        or Publication.objects.filter(epoch=epoch).exists()
    )
