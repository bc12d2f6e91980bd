"""Celery tasks for webhooks: `celery worker -Q push --pool=threads`.

Tasks carry only a webhook's id, and find their work in the database. Beat queues the tasks regularly, in case a wake-up
was lost.
"""

import threading
import time
from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.wake import wake
from dnspanel.webhooks import deliver_events, place_publish_hooks
from dnspanel.webhooks.collect_events import collect_events

# After this time, a sender stops, and its thread can work for other webhooks.
TURN_SECONDS = 20.0
# Receivers can be slow, and pushes to nodes use the same threads, so senders must leave most threads free.
_places = threading.BoundedSemaphore(4)


@shared_task(ignore_result=True)
def notice_events() -> None:
    """Collect new events, and wake a sender for every webhook with due deliveries."""
    while collect_events(now=timezone.now()):
        pass
    for webhook_id in deliver_events.webhooks_with_due(now=timezone.now()):
        wake_sender(webhook_id=webhook_id)


@shared_task(ignore_result=True)
def deliver_webhook(webhook_id: int) -> None:
    """Send a webhook's due deliveries, unless too many senders run. It can run twice, late or never without harm."""
    if not _places.acquire(blocking=False):
        return  # beat enqueues it again once a thread is free
    try:
        _deliver(webhook_id)
    finally:
        _places.release()


@shared_task(ignore_result=True)
def forget_old_deliveries() -> str:
    """Delete old deliveries and events from the log."""
    return f"forgot deliveries={deliver_events.forget_old_deliveries(now=timezone.now())}"


@shared_task(ignore_result=True)
def ask_quiet_hooks() -> None:
    """Send example requests to hooks that weren't queried recently. It may run twice, late or never without harm."""
    place_publish_hooks.ask_quiet_hooks(clock=timezone.now)


def wake_sender(*, webhook_id: int, **_: Any) -> None:
    """Wake a sender for this webhook. If the broker is unreachable, this takes two seconds, but no delivery is lost."""
    wake(deliver_webhook, webhook_id)


def _deliver(webhook_id: int) -> None:
    """Send a webhook's deliveries for some seconds, if its lock is free. Events keep their order unless one fails."""
    with hold_lock(Lock.WEBHOOK, webhook_id) as mine:
        until = time.monotonic() + TURN_SECONDS
        while (
            mine and time.monotonic() < until and deliver_events.deliver_next(webhook_id=webhook_id, clock=timezone.now)
        ):
            pass
