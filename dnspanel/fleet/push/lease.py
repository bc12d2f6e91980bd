"""Which worker sends a node its snapshot: a lease in the node's `Bootstrap` row. Verbs.

The lease is the moment of its last beat. Every change expects the beat that
this worker wrote last, so one that was paused past its lease changes nothing
any more, whatever another has done since.
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

# A worker that was silent for this long is taken for dead, and another goes on where it was.
LIFETIME = timedelta(seconds=20)
BEAT_SECONDS = 5.0
# After an attempt that failed, the next one may begin so much later.
PAUSE = timedelta(seconds=5)
# This much later while the node is probably just being started, and a person waits for it.
SHORT_PAUSE = timedelta(seconds=1)
SHORT_FOR = timedelta(minutes=2)


class LeaseLost(Exception):
    """Another worker has taken over, or the snapshot is not wanted any longer."""


class Lease:
    """One worker's turn with one node. Safe for threads."""

    def __init__(self, node_id: int, beat_at: datetime) -> None:
        self.node_id = node_id
        self._beat_at = beat_at
        self._lock = threading.Lock()
        self._lost = False
        self.pause: timedelta | None = None  # after which the next attempt may begin, once this one was left

    @classmethod
    def take(cls, *, node_id: int, now: datetime) -> Self | None:
        """Take the lease. Return None if nothing is requested, or another worker has it."""
        taken = free_bootstraps(now=now).filter(node_id=node_id).update(beat_at=now)
        return cls(node_id, now) if taken else None

    def note(self, **fields: int | str | datetime) -> None:
        """Write these fields of the row, and that we live. Raises LeaseLost."""
        with self._lock:
            now = timezone.now()
            mine = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at)
            if self._lost or not mine.update(beat_at=now, **fields):
                self._lost = True
                raise LeaseLost
            self._beat_at = now

    def end(self) -> bool:
        """End the lease: the node has its snapshot. Return False if the lease was not ours any more."""
        with self._lock:
            deleted, _ = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at).delete()
            self._lost = True
        return bool(deleted)

    def leave(self, *, error: str, pause: timedelta = PAUSE) -> None:
        """Leave the lease after an attempt that failed; another may begin after a pause. Raise LeaseLost."""
        with self._lock:
            beat_at = timezone.now() - LIFETIME + pause
            mine = Bootstrap.objects.filter(node_id=self.node_id, beat_at=self._beat_at)
            if self._lost or not mine.update(beat_at=beat_at, error=error):
                raise LeaseLost
            self._lost, self.pause = True, pause

    @contextmanager
    def keep_alive(self) -> Iterator[None]:
        """Keep the lease from running out inside the block, however long one step takes."""
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
                    connection.close()  # the next beat tries again; the lease outlives some
        except LeaseLost:
            pass  # the worker finds out at its next step
        finally:
            connection.close()


def free_bootstraps(*, now: datetime) -> "QuerySet[Bootstrap]":
    """Return what is requested and no worker is busy with."""
    requested = Bootstrap.objects.filter(node__state=NodeState.ACTIVE, node__other_machine="")
    return requested.filter(Q(beat_at=None) | Q(beat_at__lt=now - LIFETIME))
