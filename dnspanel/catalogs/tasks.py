"""Tasks that follow consumer catalogs and update producer catalogs: `celery worker -Q push --pool=threads`.

The tasks have no arguments and process the catalogs that are due. Celery beat enqueues the tasks again in case a
wake-up was lost.
"""

import time
from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.catalogs import consumer, producer
from dnspanel.wake import wake
from dnspanel.zones.models import Zone

# After this time a worker ends its turn, so that other tasks can run.
TURN_SECONDS = 10.0


@shared_task(ignore_result=True)
def follow_catalogs() -> None:
    """Take at least one turn of each due consumer catalog. It is harmless if this runs twice, late or not at all."""
    until = time.monotonic() + TURN_SECONDS
    for catalog_id in consumer.catalogs_due(timezone.now()):
        with hold_lock(Lock.CATALOG, catalog_id) as mine:
            while mine and consumer.take_turn(catalog_id=catalog_id, now=timezone.now()):
                if time.monotonic() > until:
                    break


@shared_task(ignore_result=True)
def follow_producers() -> None:
    """Update the member lists of producer catalogs. It is harmless if this task runs twice, late or not at all."""
    until = time.monotonic() + TURN_SECONDS
    with hold_lock(Lock.CATALOG, 0) as mine:
        while mine and producer.follow_members(now=timezone.now()) and time.monotonic() < until:
            continue


def wake_for_catalog(*, zone: Zone, **_: Any) -> None:
    """Wake a worker if the transferred zone is a consumer catalog."""
    if zone.is_catalog:
        wake(follow_catalogs)
