"""Celery tasks for transfers: `celery worker -Q push --pool=threads`.

The tasks have no arguments. They process the due zones one after another. Beat also enqueues them periodically, in case
a wake-up is lost. Publications don't wait for these tasks.
"""

import threading
import time

from celery import shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.primaries import apply_transfer, refresh
from dnspanel.primaries.models import TransferredZone

# After this time, a worker makes room for other tasks.
TURN_SECONDS = 10.0
# Primaries can be slow, and pushes to nodes use the same threads, so transfers must leave most threads free.
AT_ONCE = 4
_places = threading.BoundedSemaphore(AT_ONCE)


@shared_task(ignore_result=True)
def drive_transfers_in() -> None:
    """Stop serving expired zones and transfer due zones. Beat runs this in case a wake-up is lost."""
    if not TransferredZone.objects.exists():
        return
    apply_transfer.expire_due(now=timezone.now())
    _transfer_due()


@shared_task(ignore_result=True)
def transfer_due() -> None:
    """Transfer due zones, one by one, for TURN_SECONDS. It is harmless if the task runs twice, late or never."""
    _transfer_due()


def _transfer_due() -> None:
    if not _places.acquire(blocking=False):
        return  # other threads do the transfers, and beat enqueues the task again
    try:
        until = time.monotonic() + TURN_SECONDS
        while time.monotonic() < until and (zone_id := refresh.claim_due(timezone.now())) is not None:
            with hold_lock(Lock.TRANSFER_IN, zone_id) as mine:
                if mine:
                    refresh.take_turn(zone_id=zone_id, clock=timezone.now)
    finally:
        _places.release()
