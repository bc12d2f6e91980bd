"""The hold: nothing is published, because nodes may hold data that this database does not know. Verbs.

After a restored backup, or a failover that lost the last second, a sequence would be given to a second publication with
other content. A hold stops that at the one statement that allocates sequences (`sequence_log.append_publication`), at
no cost otherwise. Only a person's decision ends it (`zones.publishing.epoch`).
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dnspanel.zones.models import Epoch, LogHead, Publication

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hold:
    """Why nothing may be published, in words for people, and since when."""

    reason: str
    since: datetime


def hold(*, reason: str, now: datetime) -> bool:
    """Stop all publishing from here on. Return True if it was not held before: a hold keeps its first reason.

    Wait for the publication that is at its commit. Every later one is refused.
    """
    placed = LogHead.objects.filter(held_reason="").update(held_reason=reason, held_since=now)
    if placed:
        logger.error("publishing is held: %s", reason)
    return bool(placed)


def release() -> None:
    """End the hold. Call it in the transaction of the decision that allows it."""
    LogHead.objects.exclude(held_reason="").update(held_reason="", held_since=None)


def current_hold() -> Hold | None:
    """Return the hold, or None in normal work."""
    head = LogHead.objects.exclude(held_reason="").only("held_reason", "held_since").first()
    return Hold(head.held_reason, head.held_since) if head is not None and head.held_since is not None else None


def is_of_this_history(epoch: UUID) -> bool:
    """Return True if this database knows the epoch, as its current or a former one.

    An unknown epoch was begun after the backup that the database was restored from.
    """
    return (
        LogHead.objects.filter(epoch=epoch).exists()
        or Epoch.objects.filter(epoch=epoch).exists()
        or Publication.objects.filter(epoch=epoch).exists()
    )
