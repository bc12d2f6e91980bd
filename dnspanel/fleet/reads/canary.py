"""Wait a short time for the canary's verdict, for callers whose protocol has no way to wait for it."""

import time
from collections.abc import Callable
from threading import BoundedSemaphore

from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.polling import poll
from dnspanel.zones.models import Publication
from dnspanel.zones.publishing.failed import raise_if_taken_back

# Longer than the canary needs to refuse a publication, including the revert.
PATIENCE = 4.0  # seconds
# Each waiting call occupies a thread of its process. Further calls don't wait.
MOST_WAITING = 4
_LONGEST_PAUSE = 0.1

_places = BoundedSemaphore(MOST_WAITING)


def wait_for_canary(
    publication: Publication,
    *,
    seconds: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Wait until the canary, if there is one, has confirmed the publication, for at most `seconds` seconds.

    Raise TakenBack if the publication has been reverted by then. Don't call this within a transaction. If too many
    calls are waiting, further calls return without a wait.
    """
    if not _places.acquire(blocking=False):
        raise_if_taken_back(publication)
        return

    def is_acked() -> bool:
        if not _is_awaited(publication):
            return True
        raise_if_taken_back(publication)
        return False

    try:
        poll(is_acked, seconds, longest_pause=_LONGEST_PAUSE, clock=clock, sleep=sleep)
        raise_if_taken_back(publication)
    finally:
        _places.release()


def _is_awaited(publication: Publication) -> bool:
    """Return True if there is a canary that hasn't confirmed the publication yet."""
    canary = Node.objects.filter(is_ring0=True, state=NodeState.ACTIVE).values_list("pk", flat=True).first()
    if canary is None:
        return False
    proofs = Ack.objects.filter(node=canary, epoch=publication.epoch, sequence__gte=publication.sequence)
    return not proofs.exists()
