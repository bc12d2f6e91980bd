"""Wait until the nodes, and optionally the secondaries, serve a publication."""

import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any

from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.fleet.models import NodeState
from dnspanel.polling import poll
from dnspanel.secondaries.arrival import secondaries_lacking
from dnspanel.zones.models import Publication
from dnspanel.zones.publishing.failed import raise_if_taken_back

LONGEST_WAIT = 60.0  # seconds
# Each waiting request occupies a thread of the web process, which has twice as many threads (Procfile).
MOST_WAITING = 12
_LONGEST_PAUSE = 0.25

# Plain SQL, because the query must be fast: it runs for every write and in every poll of a waiting request.
_PROOFS = """
SELECT p.failed_reason <> '' OR EXISTS (  -- or an earlier part of the same write was taken back
    SELECT FROM zones_publication f
    WHERE f.part_of = p.part_of AND f.sequence < p.sequence AND f.failed_at IS NOT NULL
), n.id IS NOT NULL, n.id IS NOT NULL AND EXISTS (
    SELECT FROM fleet_ack a WHERE a.node_id = n.id AND a.epoch = p.epoch AND a.sequence >= p.sequence
)
FROM zones_publication p LEFT JOIN fleet_node n ON n.state = %(state)s AND NOT n.is_ring0
WHERE p.sequence = %(sequence)s
"""

_places = BoundedSemaphore(MOST_WAITING)


def wait_for_nodes(
    publication: Publication,
    seconds: float,
    *,
    with_secondaries: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool | None:
    """Wait for at most `seconds`. Return True once every active node serves the publication, or else False.

    With `with_secondaries`, each secondary that has the publication's zones must serve the publication too. If too many
    requests are already waiting, don't wait, and return None instead of False. If no node is active, return False, as
    soon as no secondary has to be awaited. Raise TakenBack as soon as the publication is reverted, or if it was
    reverted before.
    """
    has_arrived = is_at_all if with_secondaries else is_everywhere
    return wait_until(lambda: has_arrived(publication), seconds, clock=clock, sleep=sleep)


def wait_until(
    ask: Callable[[], bool | None],
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool | None:
    """Call `ask` repeatedly for at most `seconds` or LONGEST_WAIT, and return True once it returns True.

    Return False after the timeout or if `ask` returns None. If too many requests are already waiting, call `ask` only
    once, and return True or None. The caller must not be in a transaction, which would hold a connection during pauses.
    """
    if seconds <= 0:
        return ask() is True
    if not _places.acquire(blocking=False):
        return True if ask() else None
    try:
        return poll(ask, min(seconds, LONGEST_WAIT), longest_pause=_LONGEST_PAUSE, clock=clock, sleep=sleep)
    finally:
        _places.release()


def is_everywhere(publication: Publication) -> bool | None:
    """Return True if every active node has confirmed the publication, or None if no node is active. Needs one query.

    Raise TakenBack if the publication, or an earlier part of the same write, was reverted.
    """
    failed, proofs = _state_and_proofs(publication)
    if failed:
        raise_if_taken_back(publication)
    return all(proofs) if proofs else None


def is_at_all(publication: Publication) -> bool | None:
    """Return the result of `is_everywhere`, but False if a secondary lacks the publication.

    Return None if there is no active node and no secondary lacks the publication.
    """
    at_nodes = is_everywhere(publication)
    return False if at_nodes is not False and secondaries_lacking(publication) else at_nodes


def proofs_of(publication: Publication) -> list[bool]:
    """Return a flag for each active node: True if it confirmed the publication. After a reversal, all are False."""
    failed, proofs = _state_and_proofs(publication)
    return [acked and not failed for acked in proofs]


def _state_and_proofs(publication: Publication) -> tuple[bool, list[bool]]:
    """Return True if this or an earlier part of the write was reverted, and each active node's confirmation."""
    with prepared_cursor() as cursor:
        parameters: dict[str, Any] = {"sequence": publication.sequence, "state": str(NodeState.ACTIVE)}
        cursor.execute(_PROOFS, parameters)
        rows = cursor.fetchall()
    return any(failed for failed, _, _ in rows), [acked for _, is_node, acked in rows if is_node]
