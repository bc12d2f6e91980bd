"""Measure the write locks on the two files. All other writers wait while a lock is held."""

import time
from dataclasses import dataclass
from typing import Any

from replication import stats


@dataclass(frozen=True, slots=True)
class Hold:
    """The longest time that a lock was held, in seconds, and the most processor time used while a lock was held.

    The difference is the time spent waiting: for the disk in a commit, and on a busy machine for a processor.
    """

    total: float = 0.0
    own: float = 0.0

    def or_hold(self, other: "Hold") -> "Hold":
        """Return a Hold with the longer total time and the longer processor time of the two."""
        return Hold(max(self.total, other.total), max(self.own, other.own))


class Stopwatch:
    """A stopwatch for write transactions. `longest` is the longest time so far."""

    def __init__(self) -> None:
        self._began = self._spent = 0.0
        self.longest = Hold()

    def begin(self) -> None:
        """Start measuring a transaction. Other writers wait from now on."""
        self._began, self._spent = time.monotonic(), time.thread_time()

    def commit(self, txn: Any) -> None:
        """Commit the transaction, and record how long it held the lock."""
        txn.commit()
        hold = Hold(time.monotonic() - self._began, time.thread_time() - self._spent)
        self.longest = self.longest.or_hold(hold)
        stats.WRITE_LOCK_MS_MAX.note(hold.total * 1000)
        stats.WRITE_LOCK_OWN_MS_MAX.note(hold.own * 1000)
