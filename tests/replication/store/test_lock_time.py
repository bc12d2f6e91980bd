"""The measured time that a lock is held, and the processor time used in it."""

import threading
import time

from replication import stats
from replication.store.lock_time import Hold, Stopwatch


class WaitingForTheDisk:
    """A simulated transaction whose commit waits, as for a disk."""

    def __init__(self, commit: threading.Event) -> None:
        self._commit = commit

    def commit(self) -> None:
        self._commit.wait(0.05)


class Computing:
    def commit(self) -> None:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass


def test_waiting_is_in_the_first_figure_and_computing_in_both() -> None:
    stopwatch = Stopwatch()
    stopwatch.begin()
    stopwatch.commit(WaitingForTheDisk(threading.Event()))
    waited = stopwatch.longest
    assert waited.total >= 0.05
    assert waited.own < waited.total
    stopwatch.begin()
    stopwatch.commit(Computing())
    assert stopwatch.longest.own >= 0.02
    assert stopwatch.longest.total >= waited.total
    assert stats.WRITE_LOCK_MS_MAX.value >= stopwatch.longest.total * 1000
    assert stats.WRITE_LOCK_OWN_MS_MAX.value >= stopwatch.longest.own * 1000


def test_of_two_the_longer_of_each_figure_counts() -> None:
    assert Hold(3, 1).or_hold(Hold(2, 2)) == Hold(3, 2)
