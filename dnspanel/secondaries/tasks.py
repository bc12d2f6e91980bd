"""Celery tasks for secondaries: `celery worker -Q push --pool=threads`.

Each task does all the due work that it finds. Its only argument, if any, is a secondary's id. Celery beat also enqueues
the tasks, in case a wake-up was lost. Publications don't wait for these tasks.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.secondaries import keyless, members, notices, secondary_answers, signed_zones
from dnspanel.secondaries.models import NoticeAddress, Secondary
from dnspanel.wake import wake, wake_each

# After this time a secondary's turn ends, so that other secondaries can have one.
TURN_SECONDS = 10.0
# Secondaries can be slow. Pushes to nodes use the same threads, most of which must stay free.
_places = threading.BoundedSemaphore(4)


@shared_task(ignore_result=True)
def follow_publications() -> None:
    """Queue NOTIFY for publications since the last run. If any was queued, wake the senders."""
    if members.note_publications(now=timezone.now()):
        wake_each(notify_secondary, notices.secondaries_with_due(now=timezone.now()))
    if keyless.note_publications(now=timezone.now()):
        wake(notify_addresses)


@shared_task(ignore_result=True)
def drive_secondaries() -> None:
    """Repeat `follow_publications` in case a wake-up was lost, resend due NOTIFY, and start due queries."""
    if Secondary.objects.filter(active=True).exists():
        members.note_publications(now=timezone.now())
        wake_each(notify_secondary, notices.secondaries_with_due(now=timezone.now()))
        wake_each(ask_secondary, secondary_answers.secondaries_with_due(now=timezone.now()))
    keyless.note_publications(now=timezone.now())
    if NoticeAddress.objects.filter(notify_at__lte=timezone.now()).exists():
        wake(notify_addresses)


@shared_task(ignore_result=True)
def ask_secondary(secondary_id: int) -> None:
    """Query one secondary for the serials of zones that are due. Late, missing or repeated runs are harmless."""

    def ask() -> bool:
        return _is_full(
            secondary_answers.ask_due(secondary_id=secondary_id, clock=timezone.now), secondary_answers.AT_ONCE
        )

    _take_turn(Lock.SECONDARY_QUESTIONS, secondary_id, ask)


@shared_task(ignore_result=True)
def follow_members() -> None:
    """Update the members of every active secondary. This also covers zones whose tags or team changed."""
    for pk in Secondary.objects.filter(active=True).values_list("pk", flat=True):
        members.follow(secondary_id=pk, now=timezone.now())


@shared_task(ignore_result=True)
def notify_secondary(secondary_id: int) -> None:
    """Send the due NOTIFY messages to one secondary. Late, missing or repeated runs are harmless."""

    def send() -> bool:
        return _is_full(notices.send_due(secondary_id=secondary_id, clock=timezone.now), notices.AT_ONCE)

    _take_turn(Lock.SECONDARY, secondary_id, send)


@shared_task(ignore_result=True)
def renew_signatures() -> None:
    """Publish this week's signatures of unchanged zones that other servers transfer, to cause new transfers."""
    _while_more(Lock.NEW_SIGNATURES, 0, lambda: signed_zones.publish_due_signatures(now=timezone.now()) > 0)


@shared_task(ignore_result=True)
def notify_addresses() -> None:
    """Send due NOTIFY to zones' addresses. Late, missing or repeated runs are harmless."""
    _take_turn(Lock.NOTICE_ADDRESSES, 0, lambda: notices.send_to_addresses(clock=timezone.now).sent > 0)


def _take_turn(lock: Lock, key: int, act: Callable[[], bool]) -> None:
    """Run `_while_more` in one of a few slots. Do nothing if all slots are in use."""
    if not _places.acquire(blocking=False):
        return  # beat enqueues it again when a slot is free
    try:
        _while_more(lock, key, act)
    finally:
        _places.release()


def _while_more(lock: Lock, key: int, act: Callable[[], bool]) -> None:
    """Call `act` while it returns True, for at most TURN_SECONDS. Do nothing if another worker holds the lock."""
    with hold_lock(lock, key) as mine:
        until = time.monotonic() + TURN_SECONDS
        while mine and time.monotonic() < until and act():
            continue


def _is_full(sent: notices.Sent, at_once: int) -> bool:
    """Return True if the next batch should be sent at once: this one was full, and the server answered part of it."""
    return sent.sent >= at_once and sent.answered > 0


def wake_after_publication(**_: Any) -> None:
    """Wake `follow_publications` after encoding if any server gets NOTIFY. Makes one small database query."""
    if notices.is_somebody_told():
        wake(follow_publications)
