"""Celery tasks for alerts, run by `celery worker -Q push --pool=threads`.

Beat queues a check every few seconds. Tasks carry no data except a route's id, and find their work in the database.
"""

import threading
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from dnspanel.alerts import deliver_alerts, watch
from dnspanel.fleet.nodes.heartbeats import WATCH, heartbeats
from dnspanel.wake import wake

# The collector checks every five seconds. Beat's check is needed only after this time without one.
LEAVE_TO_COLLECTOR = timedelta(seconds=15)
# Receivers can be slow, and pushes to nodes use the same threads, so senders must leave most threads free.
_places = threading.BoundedSemaphore(3)


@shared_task(ignore_result=True)
def watch_fleet() -> None:
    """Check for alerts unless the collector did so recently. Wake a sender for every route with due messages."""
    now, looked_at = timezone.now(), heartbeats().get(WATCH)
    # A worker that hangs in a check keeps the lock and blocks all other checks. The collector therefore has priority.
    if looked_at is None or not timedelta(0) <= now - looked_at < LEAVE_TO_COLLECTOR:
        watch.look(now=now)
    for route_id in deliver_alerts.routes_with_due(now=timezone.now()):
        wake_sender(route_id=route_id)


@shared_task(ignore_result=True)
def tell_route(route_id: int) -> None:
    """Send one route's due messages, or do nothing if all senders are busy.

    A lost or repeated call is harmless, because each check queues the task again.
    """
    if not _places.acquire(blocking=False):
        return  # the next check wakes a sender again
    try:
        deliver_alerts.deliver_all(route_id=route_id, clock=timezone.now)
    finally:
        _places.release()


@shared_task(ignore_result=True)
def forget_old_alerts() -> str:
    """Delete alerts that ended more than `watch.KEPT` ago, and test messages of that age."""
    return f"forgot alerts={watch.forget_old_alerts(now=timezone.now())}"


def wake_sender(*, route_id: int) -> None:
    """Wake a sender for this route. If the broker is unreachable, this takes two seconds, but no message is lost."""
    wake(tell_route, route_id)
