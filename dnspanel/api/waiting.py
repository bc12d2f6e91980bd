"""Waiting until the nodes answer with a publication, holding no connection to the database meanwhile."""

import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

from django.db import connection

from dnspanel.fleet.models import NodeState
from dnspanel.zones.models import Publication

LONGEST_WAIT = 60.0  # seconds
# Each one that waits holds a thread of the web process, which has twice as many (Procfile).
MOST_WAITING = 12
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.25

# Written out, because it runs for every write and at every look of those who wait.
_PROOFS = """
SELECT NOT p.failed AND EXISTS (
    SELECT FROM fleet_ack a WHERE a.node_id = n.id AND a.epoch = %(epoch)s AND a.sequence >= %(sequence)s
)
FROM fleet_node n,
    (SELECT EXISTS (SELECT FROM zones_publication WHERE sequence = %(sequence)s AND failed_reason <> '') failed) p
WHERE n.state = %(state)s AND NOT n.is_ring0
"""

_places = BoundedSemaphore(MOST_WAITING)


def wait_for_nodes(
    publication: Publication,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether every node that takes pushes answers with the publication, after at most so many seconds.

    Not within a transaction. Returns at once when there are no such nodes,
    and when too many wait already.
    """
    if seconds <= 0 or not _places.acquire(blocking=False):
        return is_everywhere(publication) is True
    try:
        return _wait(publication, clock() + min(seconds, LONGEST_WAIT), clock, sleep)
    finally:
        _places.release()


def is_everywhere(publication: Publication) -> bool | None:
    """Whether every node that takes pushes has proved the publication; None when there is no such node. One query."""
    proofs = proofs_of(publication)
    return all(proofs) if proofs else None


def proofs_of(publication: Publication) -> list[bool]:
    """Of each node that takes pushes, whether it proved the publication; one that failed none ever has. One query."""
    with connection.cursor() as cursor:
        parameters: dict[str, Any] = {
            "epoch": publication.epoch,
            "sequence": publication.sequence,
            "state": str(NodeState.ACTIVE),
        }
        cursor.execute(_PROOFS, parameters)
        return [acked for (acked,) in cursor.fetchall()]


def _wait(publication: Publication, end: float, clock: Callable[[], float], sleep: Callable[[float], None]) -> bool:
    pause = _FIRST_PAUSE
    while True:
        everywhere = is_everywhere(publication)
        left = end - clock()
        if everywhere is not False or left <= 0:
            return everywhere is True
        if not connection.in_atomic_block:
            connection.close()  # to the pool, for those who have work to do
        sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
