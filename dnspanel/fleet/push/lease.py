"""Lease the sending of a snapshot to a node to one worker, with the node's `Bootstrap` row. Verbs.

The lease is the time of the worker's last heartbeat. Every change expects the heartbeat that this worker wrote last.
Therefore, a worker that was paused for longer than its lease can't change anything.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Self

from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from dnspanel.fleet.models import Bootstrap, NodeState

# A worker that was silent for this long counts as dead, and another worker continues from the same point.
LIFETIME = timedelta(seconds=20)
BEAT_SECONDS = 5.0
# After a failed attempt, the next one can start after this pause.
PAUSE = timedelta(seconds=5)
# The pause is this short at first, because the node is probably starting and a person is waiting.
SHORT_PAUSE = timedelta(seconds=1)
SHORT_FOR = timedelta(minutes=2)


class LeaseLost(Exception):
    """Raised if another worker has taken over, or if the snapshot is no longer requested."""


class Lease:
    """One worker's lease for one node. It is thread-safe."""

    def __init__(self, node_id: int, beat_at: datetime) -> None:
        self.node_id = node_id
        self._beat_at = beat_at
        self._lock = threading.Lock()
        self._lost = False
        self.pause: timedelta | None = None  # the pause before the next attempt, once this one was given up

    @classmethod
    def take(cls, *, node_id: int, now: datetime) -> Self | None:
        """Take the lease. Return None if no snapshot for the node is in `free_bootstraps`."""
        taken = free_bootstraps(now=now).filter(node_id=node_id).update(beat_at=now)
        return cls(node_id, now) if taken else None

    def note(self, **fields: int | str | datetime) -> None:
        """Write `fields` to the lease's row and renew the lease. Raise LeaseLost if the worker has lost the lease."""
        with self._lock:
            now = timezone.now()
            mine = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at)
            if self._lost or not mine.update(beat_at=now, **fields):
                self._lost = True
                raise LeaseLost
            self._beat_at = now

    def end(self) -> bool:
        """Delete the request after the node has received its snapshot. Return False if the lease was already lost."""
        with self._lock:
            deleted, _ = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at).delete()
            self._lost = True
        return bool(deleted)

    def leave(self, *, error: str, pause: timedelta = PAUSE) -> None:
        """Give up the lease for a new attempt after `pause`. Raise LeaseLost if the lease was already lost."""
        with self._lock:
            beat_at = timezone.now() - LIFETIME + pause
            mine = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at)
            if self._lost or not mine.update(beat_at=beat_at, error=error):
                raise LeaseLost
            self._lost, self.pause = True, pause

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Renew the lease in a thread during the block, so that a long step doesn't lose it."""
        stop = threading.Event()
        thread = threading.Thread(target=self._keep, args=(stop,), name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _keep(self, stop: threading.Event) -> None:
        try:
            while not stop.wait(BEAT_SECONDS):
                try:
                    self.note()
                except (DatabaseError, InterfaceError):
                    connection.close()  # the next heartbeat tries again, because the lease outlives several
        except LeaseLost:
            pass  # the worker finds out at its next step
        finally:
            connection.close()


def free_bootstraps(*, now: datetime) -> "QuerySet[Bootstrap]":
    """Return a query for requested snapshots that a worker can send now: no lease is valid, and no pause is running.

    Only active nodes count, and no node whose identity another machine uses.
    """
    requested = Bootstrap.objects.filter(node__state=NodeState.ACTIVE, node__other_machine="")
    return requested.filter(Q(beat_at=None) | Q(beat_at__lt=now - LIFETIME))
