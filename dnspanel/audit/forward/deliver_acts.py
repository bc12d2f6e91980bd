"""Deliver the audit log to each destination, in the chain's order and at least once. Verbs.

The panel moves a destination's position after the destination has confirmed a batch, unless someone changed the
destination while the batch was sent. If a worker is killed before the position moves, the same entries are sent again,
with the same numbers and hashes.
"""

import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F, Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.audit.forward.act_records import Sender
from dnspanel.audit.forward.destination_address import parse_headers
from dnspanel.audit.forward.errors import NotSent
from dnspanel.audit.forward.models import WELL, Destination
from dnspanel.audit.forward.send import Sent, Target, send
from dnspanel.zones.audit.audit_trail import Act, linked_acts
from dnspanel.zones.models import AuditLink, LogHead
from replication import __version__

BATCH = 500
# The pauses of a destination after the first, second, third, and any further failure in a row.
RESTS = tuple(timedelta(seconds=seconds) for seconds in (5, 15, 60, 300))
LONGEST_RETRY_AFTER = timedelta(hours=1)

logger = logging.getLogger(__name__)


class Send(Protocol):
    """The type of `send.send` and of its replacements in tests."""

    def __call__(self, target: Target, acts: Sequence[Act], *, sender: Sender, now: datetime) -> Sent: ...


def last_number() -> int:
    """Return the number of the newest entry in the chain, or 0 if the chain is empty."""
    return AuditLink.objects.aggregate(newest=Max("number"))["newest"] or 0


def read_by_all() -> int | None:
    """Return the number up to which all active destinations have the chain, or None without destinations."""
    found: int | None = Destination.objects.filter(active=True).aggregate(least=Min("sent_to"))["least"]
    return found


def destinations_with_due(*, now: datetime) -> list[int]:
    """Return the ids of active destinations that lack entries and aren't paused after a failure."""
    rested = Q(resting_until=None) | Q(resting_until__lte=now)
    behind = Destination.objects.filter(rested, active=True, sent_to__lt=last_number())
    return list(behind.order_by("pk").values_list("pk", flat=True))


def deliver_next(*, destination_id: int, clock: Callable[[], datetime], send: Send = send) -> bool:
    """Send the next batch and record the result. Return True if the destination's position has moved.

    1. Read the entries after the destination's position, in the order of the chain.
    2. Send them, outside of any transaction.
    3. Move the position. After a crash before this step, the same entries are sent again.
    """
    now, begun = clock(), time.monotonic()
    row = Destination.objects.filter(pk=destination_id, active=True).first()
    if row is None or (row.resting_until is not None and row.resting_until > now):
        return False
    acts = linked_acts(after=row.sent_to, limit=BATCH, now=now)
    if not acts:
        return False
    try:
        sent = send(target_of(row), acts, sender=sender(), now=now)
    except NotSent as exc:
        _record_failure(row, exc, clock())
        return False
    last = acts[sent.count - 1].number
    moved = _as_it_was(row).update(sent_to=last, sent_at=clock(), **WELL)
    if sent.rejected:
        _as_it_is(row).update(rejected_at=clock(), rejected=sent.rejected)
        logger.warning("evidence=%s: %s", row.pk, sent.rejected)
    ms = (time.monotonic() - begun) * 1000
    logger.info("sent evidence=%s from=%s to=%s count=%s ms=%.0f", row.pk, row.sent_to, last, sent.count, ms)
    return bool(moved)


def target_of(row: Destination) -> Target:
    """Return the connection data of the destination, with decrypted secrets."""
    return Target(
        kind=row.kind,
        address=row.address,
        ca=row.ca,
        certificate=row.certificate,
        key=decrypt_secret(row.key) if row.key is not None else b"",
        headers=parse_headers(decrypt_secret(row.headers).decode()) if row.headers is not None else {},
    )


def sender() -> Sender:
    """Return this panel's identity for messages to destinations."""
    host = urlsplit(settings.PANEL_URL).hostname or ""
    return Sender(host, str(LogHead.objects.get().cluster), __version__)


def _record_failure(row: Destination, exc: NotSent, now: datetime) -> None:
    """Record the failure and pause the destination, unless its settings or position changed since `row` was read.

    Repeated failures make the pause longer. It is at least as long as requested, up to LONGEST_RETRY_AFTER.
    """
    rest = max(RESTS[min(row.failures, len(RESTS) - 1)], min(timedelta(seconds=exc.retry_after), LONGEST_RETRY_AFTER))
    _as_it_was(row).update(
        failures=F("failures") + 1,
        failing_since=Coalesce("failing_since", now),
        resting_until=now + rest,
        error=str(exc),
    )
    logger.warning("not sent evidence=%s from=%s failures=%s: %s", row.pk, row.sent_to, row.failures + 1, exc)


def _as_it_is(row: Destination) -> "QuerySet[Destination]":
    return Destination.objects.filter(pk=row.pk, version=row.version)


def _as_it_was(row: Destination) -> "QuerySet[Destination]":
    """Select the destination only if its settings and its position haven't changed since `row` was read."""
    return _as_it_is(row).filter(sent_to=row.sent_to)
