"""Celery tasks that send the audit log, run by `celery worker -Q push --pool=threads`.

A task has at most a destination's id as its argument, and sends the entries that the destination lacks. Celery beat
enqueues the tasks again. Writing an audit log entry never waits for these tasks.
"""

import threading
import time

from celery import shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.audit.forward import deliver_acts
from dnspanel.wake import wake_each

# After this time, a sender makes room for other destinations.
TURN_SECONDS = 20.0
# Receivers can be slow, and pushes to nodes use the same threads, so senders must leave most threads free.
_places = threading.BoundedSemaphore(2)


@shared_task(ignore_result=True)
def drive_evidence() -> None:
    """Start a task for each destination that is behind and isn't paused. Runs every few seconds."""
    wake_each(deliver_evidence, deliver_acts.destinations_with_due(now=timezone.now()))


@shared_task(ignore_result=True)
def deliver_evidence(destination_id: int) -> None:
    """Send a destination its missing entries, batch by batch, for about TURN_SECONDS at most.

    Do nothing if two tasks or another sender of this destination are already running. It is harmless if this task runs
    twice, late or not at all.
    """
    if not _places.acquire(blocking=False):
        return  # beat enqueues it again once a thread is free
    try:
        with hold_lock(Lock.EVIDENCE, destination_id) as mine:  # keeps the entries in order
            until = time.monotonic() + TURN_SECONDS
            while mine and time.monotonic() < until:
                if not deliver_acts.deliver_next(destination_id=destination_id, clock=timezone.now):
                    break
    finally:
        _places.release()
