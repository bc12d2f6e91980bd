"""Check every row that PowerDNS serves: regularly, and immediately if there is a reason.

A check (`store.checking`) runs in slices of a few milliseconds with pauses between them. The first check after a start
uses about a twentieth of one core, so that even a large database is checked within minutes. Later checks, including the
pauses between them, use 1/1,200 of one core on average. A small database is checked every minute or two, and one with
millions of rows every few hours. A check is faster, up to about half a core, in three cases: another process has
committed to a file (each slice checks this), the panel requests the check, or a zone with many rows is read in one
transaction. A check waits during a push. Unless it is urgent, it also waits for the next push, so that an import gets
the processor. Memory pages that the check touched are released.

If the agent finds rows that it did not write while it applies a segment, it rejects the segment. The zones in the
segment are then checked first: the panel learns within a second which zones to repair.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from replication import stats
from replication.store.check_state import DivergedZone, Steps
from replication.store.checking import Check
from replication.store.opening import is_damage
from replication.store.store import Store
from replication.wire.protocol import MAX_LISTED_DIVERGED

SLICE_SECONDS = 0.002
# The share of time for reading: the maximum of a normal check, the average, and the share of an urgent check.
SHARE = 0.05
AVERAGE_SHARE = 1 / 1200
HURRIED_SHARE = 0.5
# The pause between two checks without a request.
PAUSE_SECONDS = 20.0
# The interval between checks for foreign commits and requests.
POLL_SECONDS = 0.5
# The longest time that a slice waits for a push: an import must not keep a check from ending.
LONGEST_WAIT = 0.25
# The time after a push in which a check that isn't urgent waits for another push.
PUSH_PAUSE = 0.5
_RELEASE_EVERY = 16  # slices

logger = logging.getLogger(__name__)


class IntegrityScanner:
    """A scanner for one store. `run` needs its own thread, and the attributes have the results of the last check."""

    def __init__(
        self,
        store: Store,
        *,
        is_busy: Callable[[float], bool] = lambda within: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # Returns True while a push runs, or if one ended less than this many seconds ago.
        self._is_busy = is_busy
        self._store, self._clock = store, clock
        # Called with the reason if a file may be damaged.
        self.damaged: Callable[[str], None] = lambda reason: None
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._diverged: dict[int, DivergedZone] = {}
        self._suspects: deque[int] = deque()
        self._is_requested = False
        self._due = 0.0  # monotonic time
        self._slices = 0  # of the running steps
        self._reading_seconds = 0.0  # of the last finished check
        self.checked_at = 0.0
        self.share = 0.0

    @property
    def diverged(self) -> tuple[tuple[int, str, str], ...]:
        """The first MAX_LISTED_DIVERGED zones that differ from the agent's writes: (id, name, reason), sorted by id."""
        with self._lock:
            first = sorted(self._diverged.items())[:MAX_LISTED_DIVERGED]
        return tuple((zone.zone_id, zone.name, zone.reason) for _, zone in first)

    @property
    def diverged_count(self) -> int:
        return len(self._diverged)

    def check_now(self) -> None:
        """Request a fast check of every row. A slow check in progress is interrupted; a fast one is finished first."""
        self._is_requested = True
        self._wake.set()

    def suspect(self, zone_ids: Iterable[int]) -> None:
        """Queue these zones. The scanner checks them before any others."""
        self._suspects.extend(zone_ids)
        self._wake.set()

    def recheck(self, zone_ids: Iterable[int]) -> None:
        """Check these repaired zones again, in the caller's thread, and update the results."""
        for _ in self._check_zones(list(zone_ids)):
            pass

    def run(self) -> None:
        """Check rows until the scanner is stopped."""
        while not self._stop.is_set():
            if not self.step(time.monotonic()):
                self._wake.wait(POLL_SECONDS)
                self._wake.clear()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def step(self, now: float) -> bool:
        """Run the check that is due. Return False if no check is due."""
        if self._suspects:
            suspects = list(dict.fromkeys(self._suspects.popleft() for _ in range(len(self._suspects))))
            self._drive(self._check_zones(suspects), HURRIED_SHARE)
            return True
        is_urgent = self._is_requested or self._store.has_foreign_commit()
        if not is_urgent and now < self._due:
            return False
        self._is_requested = False
        self._check_everything(HURRIED_SHARE if is_urgent else share_of(self._reading_seconds))
        return True

    def _check_everything(self, share: float) -> None:
        began = time.monotonic()
        check = self._store.check()
        try:
            ended = self._drive(check.everything(), share, check)
        except Exception as exc:  # damage can raise anything; the agent continues and reports it
            logger.exception("a check ended unexpectedly")
            self._replace({0: DivergedZone(0, "", f"the files cannot be read: {exc}")})
            if is_damage(exc):
                self.damaged(f"a check of every row ended with: {exc}")
            ended = True
        self._due = time.monotonic() + (PAUSE_SECONDS if ended and check.is_done else POLL_SECONDS)
        if ended and check.is_done:
            self._replace(check.diverged)
            self.checked_at, self.share = self._clock(), 1.0
            self._reading_seconds = self._slices * SLICE_SECONDS
            stats.ROWS_CHECKED.add(check.rows)
            logger.debug("checked rows=%d faults=%d s=%.1f", check.rows, len(check.diverged), time.monotonic() - began)

    def _check_zones(self, zone_ids: list[int]) -> Steps:
        """Check only these zones. Keep the results for other zones."""
        check = self._store.check()
        yield from check.zones(zone_ids)
        if check.is_done:
            with self._lock:
                known = {zone_id: zone for zone_id, zone in self._diverged.items() if zone_id not in zone_ids}
            self._replace(known | check.diverged)

    def _drive(self, steps: Steps, share: float, check: Check | None = None) -> bool:
        """Run a check's steps with pauses between them. Return False if the scanner stops or has more urgent work."""
        self._slices = 0
        while self._slice(steps):
            self._slices += 1
            if check is not None:
                self.share = check.share
                if self._stop.is_set() or self._suspects or (self._is_requested and share != HURRIED_SHARE):
                    steps.close()
                    return False
                if share != HURRIED_SHARE and self._store.has_foreign_commit():
                    share = HURRIED_SHARE
            if not self._slices % _RELEASE_EVERY:
                self._store.release_pages()
            self._rest(SLICE_SECONDS * (1 - share) / share, 0.0 if share == HURRIED_SHARE else PUSH_PAUSE)
        self._store.release_pages()
        return True

    def _slice(self, steps: Steps) -> bool:
        """Read rows for SLICE_SECONDS. Return False at the end of the check."""
        until = time.monotonic() + SLICE_SECONDS
        return any(time.monotonic() >= until for _ in steps)

    def _rest(self, seconds: float, push_pause: float) -> None:
        if self._wake.wait(seconds):
            self._wake.clear()
        until = time.monotonic() + LONGEST_WAIT
        while self._is_busy(push_pause) and time.monotonic() < until and not self._stop.is_set():
            time.sleep(SLICE_SECONDS)

    def _replace(self, diverged: dict[int, DivergedZone]) -> None:
        """Store the zones that currently differ. Log the zones that newly differ or no longer differ."""
        with self._lock:
            before, self._diverged = self._diverged, dict(diverged)
        for zone_id, zone in diverged.items():
            if before.get(zone_id) != zone:
                logger.warning("diverged zone=%d name=%s: %s", zone_id, zone.name or "unknown", zone.reason)
        for zone_id, zone in before.items():
            if zone_id not in diverged:
                logger.info("in order again zone=%d name=%s", zone_id, zone.name or "unknown")


def share_of(reading_seconds: float) -> float:
    """Return the share of time, at most SHARE, that a check with this total reading time should spend on reading.

    The average share over checks, including the pauses between them, is then AVERAGE_SHARE.
    """
    lasts = reading_seconds / AVERAGE_SHARE - PAUSE_SECONDS
    return min(SHARE, reading_seconds / lasts) if lasts > 0 else SHARE
