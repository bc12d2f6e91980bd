"""Celery tasks that encode the log and make snapshots.

`encode_log` runs in the publish worker: one process, one thread (`celery worker -Q publish --pool=solo`). It encodes
everything between the last segment and the head of the log. Running it twice or late is harmless. Celery beat runs it
every two seconds, in case a wake-up was lost. `make_snapshot` runs in the system worker.
"""

import logging
import threading
from typing import Any

from celery import shared_task
from django.utils import timezone

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.encoding.sealing_pace import Pace
from dnspanel.publish.files import snapshots
from dnspanel.wake import wake, wake_soon
from replication.errors import ReplicationError
from replication.garbage import collection_paused
from replication.wire.position import Position

# While the system worker is busy, requests for a snapshot repeat. Each expires after this number of seconds.
SNAPSHOT_LIFETIME = 60

_pace = Pace()
# The publisher has one connection and one LMDB, but without Redis a second thread of its process encodes too.
_alone = threading.Lock()

logger = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def make_snapshot(schema: int) -> None:
    """Make a snapshot of the panel's LMDB, unless one exists at the LMDB's position. Failures are only logged."""
    try:
        snapshots.make_snapshot(schema=schema, now=timezone.now())
    except (ReplicationError, OSError) as exc:
        logger.warning("no snapshot schema=%s: %s", schema, exc)


@shared_task(ignore_result=True)
def encode_log() -> str:
    """Encode the log up to its head. Return a summary for the worker's log."""
    position = None
    with _alone:
        while encoded := _step():
            position = encoded
    return f"encoded up to {position}" if position else "nothing to encode"


def _step() -> Position | None:
    _pace.wait()
    with collection_paused():
        encoded = encode_step(now=timezone.now())
    if encoded:
        _pace.count(encoded.sequence)
    return encoded


def wake_publisher(**_: Any) -> None:
    """Wake the publisher. If the broker is down, an edit is delayed by two seconds, but not lost."""
    wake_soon(encode_log)


def request_snapshot(*, schema: int) -> None:
    """Request a snapshot. If the broker is down, the request is lost, and the caller has to repeat it."""
    wake(make_snapshot, schema, lifetime=SNAPSHOT_LIFETIME)
