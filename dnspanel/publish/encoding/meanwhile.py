"""Seal edits while the panel's LMDB is still applying a large batch.

Nodes get the new zones of an import before the panel has written them to its own LMDB. Writing takes 0.2 s on a busy
machine. A later edit of other zones results in the same rows and digests whether or not the batch is written yet. The
edit is therefore sealed and sent between two transactions of the batch, and written to the panel's LMDB after the
batch. All other publications wait until the batch is written.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import psycopg
from django.db import DatabaseError, InterfaceError

from dnspanel.publish.encoding.batches import Found, compile_found, next_sound
from dnspanel.publish.reading import publication_log
from dnspanel.publish.reading.publisher_session import Connection, snapshot
from dnspanel.publish.reading.sealing import Batch
from replication.store.store import Store
from replication.wire.position import Position

logger = logging.getLogger(__name__)

# The largest number of sealed segments that wait in memory while a batch is written. Each is as large as one step.
_MOST_WAITING = 64


class Meanwhile:
    """The segments that are sealed while the store is still applying `batch`.

    The caller has stored the segment of `batch`, holds the publisher's lock, and applies `sealed` in order after
    `batch`. After a crash, the stored segments are applied as usual.
    """

    def __init__(
        self, conn: Connection, store: Store, batch: Batch, seal: Callable[[Batch, datetime], bytes], *, now: datetime
    ) -> None:
        self.sealed: list[bytes] = []
        self._conn, self._store, self._seal = conn, store, seal
        self._last = batch
        self._touched = {mark.zone_id for mark in batch.marks}
        self._now, self._began = now, time.monotonic()
        self._is_over = False

    @property
    def position(self) -> Position:
        """The position up to which the log is sealed."""
        return Position(self._last.head.position.epoch, self._last.range.last)

    def encode_edits(self) -> None:
        """Seal the next publications as long as each only edits zones that no unwritten publication touches.

        Also stop after _MOST_WAITING segments. Raise psycopg.Error and DatabaseError if PostgreSQL is unreachable. Stop
        after any other error, because the next step has the same error and reports it.
        """
        try:
            while not self._is_over and (batch := self._next()):
                self.sealed.append(self._seal(batch, self._clock()))
                self._last = batch
                self._touched.update(mark.zone_id for mark in batch.marks)
                self._is_over = len(self.sealed) >= _MOST_WAITING
        except (psycopg.Error, DatabaseError, InterfaceError):
            raise
        except Exception as exc:
            logger.info("what follows sequence=%s waits: %s", self._last.range.last, exc)
            self._is_over = True

    def _next(self) -> Batch | None:
        digests = self._last.digests
        with snapshot(self._conn):
            head = publication_log.read_head(self._conn)
            if head is None or head.on_hold or not head.position > self.position:
                return None
            encoded = publication_log.Encoded(self._last.range.last, digests, stalled=False)
            found = next_sound(self._conn, head, encoded)
            if found is None or not self._is_apart(found):
                self._is_over = True
                return None
            return compile_found(self._conn, self._store, head, found, self._clock(), before=digests)

    def _is_apart(self, found: Found) -> bool:
        """Return True if the range doesn't depend on anything that isn't written to the store yet."""
        return found.range.prepared is None and all(
            step.changed and step.zone_id not in self._touched and not found.signs_anew(step.zone_id)
            for step in found.steps
        )

    def _clock(self) -> datetime:
        return self._now + timedelta(seconds=time.monotonic() - self._began)
