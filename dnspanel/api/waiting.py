"""Waiting until the nodes answer with a publication, and secondaries if wanted, holding no connection meanwhile."""

import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

from django.db import connection

from dnspanel.fleet.models import NodeState
from dnspanel.secondaries.arrival import secondaries_lacking
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
    with_secondaries: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Whether every node that takes pushes answers with the publication, after at most so many seconds.

    With secondaries, whether each of them that has its zones does too. Not within a transaction. Returns at once when
    there is nobody to wait for, and when too many wait already.
    """
    has_arrived = is_at_all if with_secondaries else is_everywhere
    if seconds <= 0 or not _places.acquire(blocking=False):
        return has_arrived(publication) is True
    try:
        return _wait(lambda: has_arrived(publication), clock() + min(seconds, LONGEST_WAIT), clock, sleep)
    finally:
        _places.release()


def is_everywhere(publication: Publication) -> bool | None:
    """Whether every node that takes pushes has proved the publication; None when there is no such node. One query."""
    proofs = proofs_of(publication)
    return all(proofs) if proofs else None


def is_at_all(publication: Publication) -> bool | None:
    """`is_everywhere`, where secondaries answer with it besides; None when there is neither a node nor who lacks it."""
    at_nodes = is_everywhere(publication)
    return False if at_nodes is not False and secondaries_lacking(publication) else at_nodes


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


def _wait(
    ask: Callable[[], bool | None], end: float, clock: Callable[[], float], sleep: Callable[[float], None]
) -> bool:
    pause = _FIRST_PAUSE
    while True:
        everywhere = ask()
        left = end - clock()
        if everywhere is not False or left <= 0:
            return everywhere is True
        if not connection.in_atomic_block:
            connection.close()  # to the pool, for those who have work to do
        sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
