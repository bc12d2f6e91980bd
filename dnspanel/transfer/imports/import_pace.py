"""Delay imports and large changes, to let edits reach the nodes quickly.

Publications are processed in order, so an edit waits for everything that was published before it. That wait is short if
few publications are still being processed. Two things are ignored: nodes that make no progress, and new zones that a
node has applied but its PowerDNS hasn't loaded yet.
"""

import time
from collections.abc import Callable

from dnspanel import rehearsal
from dnspanel.database.sql import fetch_one
from dnspanel.publish.reading.schemas import schemas_in_use

# The number of publications on their way to the nodes when the next one is made. More do not make an import faster,
# but delay edits: 585 instead of 330 ms.
MOST_UNDER_WAY = 1
# Nodes that are behind and made no progress for this long are not waited for.
STUCK_SECONDS = 3.0
# The longest wait. Imports continue even if nothing is being encoded or all nodes are slow.
MOST_SECONDS = 5.0
_POLL_SECONDS = 0.02
# How often a waiting worker checks whether to continue.
_ASK_SECONDS = 0.25

_BEHIND = """
SELECT head.sequence - coalesce((
        SELECT min(reached) FROM (
            SELECT max(s.last) AS reached FROM publish_segment s
            WHERE s.epoch = head.epoch AND s.schema = ANY(%(schemas)s) GROUP BY s.schema
        ) AS encoded), 0) AS not_encoded,
    coalesce((
        SELECT max(head.sequence - greatest(n.acked, n.applied)) FROM fleet_node n
        WHERE n.state = 'active' AND greatest(n.acked_at, n.applied_at) > now() - %(stuck)s * interval '1 second'
    ), 0) AS not_applied
FROM zones_loghead head"""


def wait_for_room(goes_on: Callable[[], bool]) -> bool:
    """Wait until few publications are still being processed, and return True.

    Return False after MOST_SECONDS, or as soon as `goes_on` returns False.
    """
    schemas = schemas_in_use()
    deadline, ask_at = time.monotonic() + MOST_SECONDS, 0.0
    while _under_way(schemas) > MOST_UNDER_WAY:
        now = time.monotonic()
        if now >= ask_at:
            if not goes_on():
                return False
            ask_at = now + _ASK_SECONDS
        if now >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def give_way(**_: object) -> bool:
    """Wait, like imports, until the next piece of a large API change can be published. Rehearsals don't wait.

    Return False if too many publications are still being processed after MOST_SECONDS.
    """
    return rehearsal.under_way() is not None or wait_for_room(lambda: True)


def publications_under_way() -> int:
    """Return the number of publications that the publisher or the slowest node that progresses hasn't processed yet."""
    return _under_way(schemas_in_use())


def _under_way(schemas: list[int]) -> int:
    row = fetch_one(_BEHIND, {"schemas": schemas, "stuck": STUCK_SECONDS})
    return max(row) if row else 0
