"""Handle a push in the agent: write it, purge PowerDNS's caches, verify the answers over DNS, then acknowledge.

Pushes are applied one at a time. Committed data always stays committed: if PowerDNS is down, the ack is delayed, but
the data isn't. The panel repeats pushes that weren't acknowledged. The agent verifies a repeated push again, and never
acknowledges it from memory.

PowerDNS finds many new zones only when it reads the list of all zones again (`zonecache`), at 2.5 µs for each zone. If
every push of an import did that, the time would grow with the square of the zone count, and edits would wait. Therefore
the panel can request (`may_defer`) an ack in two parts: the position of the files at once, and later the position that
PowerDNS answers with. `read_list` reads the list while pushes continue, in a twentieth of the time or when pushes
pause, and then proves the new zones. Everything else in those pushes, such as edits of zones that PowerDNS already
serves, is purged and verified as usual before the ack.
"""

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from replication import stats
from replication.agent.updates.prove import PAUSE_SECONDS, Prover
from replication.agent.updates.purge import MAX_ZONES, Purger
from replication.agent.updates.touched import Touched
from replication.agent.updates.unlisted import Unlisted
from replication.codec.schema import Dbi
from replication.errors import (
    NEEDS_A_PERSON,
    BadSegment,
    Busy,
    Damaged,
    Diverged,
    NotServed,
    ReplicationError,
    Unfinished,
)
from replication.store.applying import record_keys
from replication.store.repair_zone import Repaired
from replication.store.store import Applied, Store
from replication.wire.position import Position
from replication.wire.protocol import Ack, Unanswered
from replication.wire.segment import Segment, open_segment, open_segments

LOCK_SECONDS = 10.0
# If a segment's digest differs, at most this many of its zones are checked before all others.
MAX_SUSPECTS = 200
# The maximum number of stored zones that PowerDNS does not know yet.
MAX_UNLISTED = 100_000
# The list is read at once if no new zones came for this time, or for this multiple of its reading time.
QUIET_SECONDS = 0.25
QUIET_READINGS = 2
RETRY_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """The last rejection that a person must fix, and PowerDNS's last wrong answer, as messages.

    The messages are "" once the problem is over. `answered` is the newest position that PowerDNS was proved to serve.
    """

    refusal: str = ""
    refused_at: float = 0.0
    unserved: str = ""
    unserved_since: float = 0.0
    answered: Position | None = None


class Applier:
    """The only applier of pushes to one store. Pushes are verified by querying the PowerDNS that serves the store."""

    def __init__(
        self,
        store: Store,
        purger: Purger,
        *,
        signing_keys: Sequence[bytes],
        dns_address: str,
        dns_port: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._purger, self._clock = store, purger, clock
        self._signing_keys = signing_keys
        self._prover = Prover(store, purger, dns_address=dns_address, dns_port=dns_port, clock=clock)  # with `_lock`
        self._lock = threading.Lock()
        self._ended_at = -math.inf  # monotonic time of the last push
        # Zones that are in the files but not yet in PowerDNS's list: the waiting ones, and those of the current
        # reading. With `_lock`.
        self._unlisted, self._listing = Unlisted(), Unlisted()
        self._has_unlisted = threading.Event()
        self._added_at = 0.0  # monotonic time
        # The position up to which everything is proved, and the one that leaves out zones waiting for the list.
        self._acked: Ack | None = None
        self._acked_but_new: Ack | None = None
        self._health_lock = threading.Lock()
        self.health = Health()
        self.powerdns_version = ""
        self._has_checked = False
        # Zones whose keys or metadata this push changed, while PowerDNS can still use the old ones. With `_lock`.
        self._unseen: set[str] = set()
        # Called with the zones of a segment if it found rows that the agent did not write.
        self.suspect: Callable[[Iterable[int]], None] = lambda zone_ids: None
        # Called with the keys of proved rows. Queries their ALIAS and LUA records, and returns the unanswered ones.
        self.prove_computed: Callable[[Iterable[bytes]], tuple[Unanswered, ...]] = lambda record_keys: ()
        # Called with the reason if a file may be damaged.
        self.damaged: Callable[[str], None] = lambda reason: None

    def apply(self, body: bytes | BinaryIO, *, may_defer: bool = False, unproven: Collection[str] = ()) -> Ack:
        """Apply the segments in `body` to the store, and prove the result over DNS.

        1. Check each segment's signature, then apply its content, in order. Committed transactions stay committed.
        2. Purge and verify everything touched. If a segment was rejected, only purge, and raise the error.
        3. Acknowledge the store's position, or the end of this push if the store has later data that isn't proved yet.
        If many zones are new and the panel requests it, the ack has an earlier position, and `applied` has the store's.
        `ack` later returns a newer ack. Signatures of zones in `unproven` are not verified. Raise NotServed if PowerDNS
        answers wrongly, Busy if another push takes too long, and Unfinished while a snapshot is being installed. Raise
        the errors of `open_segments` and `Store.apply`.
        """
        with self._alone():
            before = self._store.position()
            self._prover.unproven = unproven
            ack = self._apply(body, may_defer=may_defer)
        if ack.place != before:
            self._change_health(refusal="", refused_at=0.0)
        return ack

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock out other pushes, repairs and snapshots. Raise Busy if one of them takes too long.

        Errors raised in the block are logged. Wrong answers and errors that a person must fix go into the status.
        """
        if not self._lock.acquire(timeout=LOCK_SECONDS):
            raise Busy(what="the agent")
        try:
            yield
        except NotServed as exc:
            self._note_unserved(exc)
            raise
        except ReplicationError as exc:
            self.note_refusal(exc)
            raise
        finally:
            self._ended_at = time.monotonic()
            self._lock.release()

    def is_busy(self, within: float = 0.0) -> bool:
        """Return True if a push, repair or snapshot is running, or ended less than `within` seconds ago."""
        return self._lock.locked() or time.monotonic() - self._ended_at < within

    def repair(self, body: bytes | BinaryIO, *, unproven: Collection[str] = ()) -> tuple[Ack, Repaired]:
        """Make one zone equal to the panel's copy at the store's position, and prove the result as in `apply`.

        Raise Gap if the store is at another position, plus the errors of `apply`.
        """
        with self._alone():
            self._prover.unproven = unproven
            segment = open_segment(body, self._signing_keys)
            touched = Touched()
            touched.add_marks(segment)
            repaired = self._store.repair(segment)
            touched.add_keys(repaired.keys)
            ack = self._prove(touched)
        stats.ROWS_WRITTEN.add(repaired.rows)
        logger.warning(
            "repaired zone=%s rows=%d: %s", repaired.mark.name, repaired.rows, "; ".join(repaired.differences)
        )
        return replace(ack, lock_ms=repaired.longest_hold_ms), repaired

    def install(self, write: Callable[[Callable[[], None]], Applied | None], *, unproven: Collection[str] = ()) -> Ack:
        """Write a snapshot, then prove over DNS that PowerDNS serves it and signs a sample of its zones correctly.

        Return the ack. `write` receives a function that makes PowerDNS find new zones, and must call it before it
        deletes records. Signatures of zones in `unproven` are not verified. Raise NotServed if PowerDNS answers
        wrongly, Busy if a push takes too long, and the errors of `write`.
        """
        with self._alone():
            self._prover.unproven = unproven
            began = time.perf_counter()
            applied = write(self._make_zones_known)
            written = time.perf_counter()
            ack = self._prove(Touched.sample_of(self._store))
        self._change_health(refusal="", refused_at=0.0)
        rows, hold = (applied.rows, applied.longest_hold_ms) if applied else (0, 0.0)
        stats.ROWS_WRITTEN.add(rows)
        apply_ms, verify_ms = (written - began) * 1000, (time.perf_counter() - written) * 1000
        logger.info(
            "snapshot installed position=%s rows=%d install_ms=%.0f lock_ms=%.1f verify_ms=%.1f",
            ack.position,
            rows,
            apply_ms,
            hold,
            verify_ms,
        )
        return replace(ack, apply_ms=apply_ms, lock_ms=hold, verify_ms=verify_ms, unanswered=self.prove_computed(()))

    def _make_zones_known(self) -> None:
        """Make PowerDNS find all zones in the files. Ignore NotServed, because PowerDNS finds them when it starts."""
        with contextlib.suppress(NotServed):
            self._purger.purge_everything(None)

    def ack(self) -> Ack:
        """Return the ack for the position that PowerDNS answers with. `applied` has the files' position if it is newer.

        If the last `read_list` failed, raise its error. Raise Busy if nothing has been proved yet.
        """
        acked, problem = self._acked, self._unlisted.problem
        if problem is not None:
            raise problem
        if acked is None:
            raise Busy(what="the agent")
        return replace(self._with_applied(acked), unanswered=self.prove_computed(()))

    def read_list(self) -> None:
        """Make PowerDNS read its list of zones, if there are new zones and reading is due.

        Then prove and acknowledge the new zones. Pushes can be applied during the read. After a failure, `ack` raises
        the error until the next attempt begins or a push proves the zones.
        """
        if not self._is_time_to_read():
            return
        with self._lock:
            listing, self._unlisted = self._unlisted, Unlisted()
            self._listing = listing
            self._has_unlisted.clear()
            ack = self._acked_but_new
        try:
            self._purger.read_list()
            with self._alone():
                if self._listing is not listing:
                    return  # a push has proved it in the meantime
                if not self._unlisted.prefixes:  # only edits of these zones can have come since
                    listing.touched.add(self._unlisted.touched)
                    self._unlisted, ack = Unlisted(), self._acked_but_new
                self._prover.prove(listing.touched, learn=False)
                self.prove_computed(listing.touched.selection()[1])
                self._listing = Unlisted()
                if ack is not None:
                    self._keep(ack)
            logger.info("listed zones=%d acked=%s", len(listing.prefixes), ack and ack.position)
        except (NotServed, Busy) as exc:
            self._list_later(listing, exc)
        except Exception as exc:  # a bug of ours; the calling thread continues, and the panel must see it
            logger.exception("new zones could not be proved")
            question, expected = "the list of zones", "every new zone"
            self._list_later(listing, NotServed(question=question, expected=expected, found=str(exc)))

    def wait_for_new_zones(self, seconds: float) -> None:
        """Wait until `read_list` has new zones to read, `seconds` have passed, or `stop` is called."""
        if self._has_unlisted.wait(seconds):
            time.sleep(PAUSE_SECONDS)

    def stop(self) -> None:
        """Wake all waiters so that they exit."""
        self._has_unlisted.set()

    def _is_time_to_read(self) -> bool:
        """Return True if PowerDNS hasn't found some new zones yet, and it is time to read its list again."""
        if not self._unlisted.prefixes:
            return False
        now = time.monotonic()
        if now < self._unlisted.retry_at:
            return False
        quiet = max(QUIET_SECONDS, QUIET_READINGS * self._purger.list_seconds)
        return now >= self._purger.list_due or now - self._added_at > quiet

    def _list_later(self, listing: "Unlisted", problem: ReplicationError) -> None:
        if isinstance(problem, NotServed):
            self._note_unserved(problem)
        with self._lock:
            if self._listing is listing:
                self._listing = Unlisted()
                self._unlisted.add(listing)
                self._unlisted.problem, self._unlisted.retry_at = problem, time.monotonic() + RETRY_SECONDS
                self._has_unlisted.set()

    def check_powerdns(self) -> None:
        """Check that PowerDNS runs and answers with the store's position. Called at the start and once a second.

        At the start and after an outage, purge everything and query the position zone, until PowerDNS answers
        correctly. A new agent doesn't know which names the previous agent left unpurged, and pushes during an outage
        are unproven. While a snapshot is being installed, only check that PowerDNS runs. Failures go into the status.
        """
        try:
            self._purger.sweep()
            self.powerdns_version = self._purger.version()
            if self._store.installing():  # nothing to verify before a snapshot is complete
                self._change_health(unserved="", unserved_since=0.0)
            elif self.health.unserved or not self._has_checked or self._is_unproven:
                self._purge_everything()
        except NotServed as exc:
            self._note_unserved(exc)

    @property
    def _is_unproven(self) -> bool:
        """True if the files have unproven data that no pending read of PowerDNS's zone list will prove."""
        return not self._waits_for_list and self.health.answered != self._store.position()

    @property
    def _waits_for_list(self) -> bool:
        return bool(self._unlisted.prefixes or self._listing.prefixes)

    def _purge_everything(self) -> None:
        """Purge everything, unless a push runs, and note the answered position if no data waits. Raise NotServed."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            position = self._store.position()
            self._purger.purge_everything(position)
            self._has_checked = True
            if position is None or self._waits_for_list:  # new data must still be proved
                self._change_health(unserved="", unserved_since=0.0)
            else:
                self._note_answered(position)
        finally:
            self._lock.release()

    def _apply(self, body: bytes | BinaryIO, *, may_defer: bool) -> Ack:
        began = time.perf_counter()
        touched, new = Touched(), Unlisted()
        self._unseen.clear()
        first = last = size = 0
        hold, end = 0.0, None
        if self._store.installing():  # before touching anything that would have to be purged
            raise Unfinished(what="this node")
        may_defer = may_defer and self._may_defer()
        try:
            for segment in open_segments(body, self._signing_keys):
                is_new = may_defer and new.take_prefixes(segment)
                hold = max(hold, self._apply_one(segment, new.touched if is_new else touched))
                first, last, size = first or segment.first, segment.last, size + segment.size
                end = Ack(segment.after, segment.digest_main, segment.digest_records)
        except ReplicationError:
            self._wait_for_list(new)
            if touched.zones:  # a part may be committed; it is not acknowledged, but must be noticed
                with contextlib.suppress(NotServed):
                    self._prover.purge(touched, None, by_names=False)
            raise
        if not first or end is None:
            raise BadSegment(reason="the push is empty")
        applied = time.perf_counter()
        self._wait_for_list(new)
        if self._leaves_unproven(end):
            ack = self._prove(touched, end)
        else:
            ack = self._prove_known(touched) if may_defer else self._prove(touched)
        now = time.perf_counter()
        apply_ms, verify_ms = (applied - began) * 1000, (now - applied) * 1000
        stats.VERIFY_MS_MAX.note(verify_ms)
        logger.info(
            "applied from=%d to=%d bytes=%d apply_ms=%.1f lock_ms=%.1f verify_ms=%.1f",
            first - 1,
            last,
            size,
            apply_ms,
            hold,
            verify_ms,
        )
        return replace(ack, apply_ms=apply_ms, lock_ms=hold, verify_ms=verify_ms)

    def _leaves_unproven(self, end: Ack) -> bool:
        """Return True if the files are ahead of `end`, and the data after `end` isn't proved yet.

        The ack for the current push must then be `end`, not the store's position.
        """
        position = self._store.position()
        return end.position != position and (self._acked is None or self._acked.position != position)

    def _may_defer(self) -> bool:
        """Return True if an ack can wait for PowerDNS's zone list, and an earlier ack can be returned until then."""
        waiting = len(self._unlisted.prefixes) + len(self._listing.prefixes)
        return self._acked is not None and waiting < MAX_UNLISTED and self._purger.has_caches()

    def _wait_for_list(self, new: "Unlisted") -> None:
        if new.prefixes:
            self._unlisted.add(new)
            self._added_at = time.monotonic()
            self._has_unlisted.set()

    def _prove_known(self, touched: Touched) -> Ack:
        """Prove these changes like `_prove`, but leave out zones that PowerDNS hasn't found yet.

        If zones are left out, return the last complete ack, with the store's position in `applied`. Raise NotServed if
        PowerDNS answers wrongly.
        """
        if not self._waits_for_list:
            return self._prove(touched)
        position = self._store.position()
        assert position is not None  # otherwise nothing would be deferred
        assert self._acked is not None
        if touched.zones:
            self._prover.prove(touched, without=self._is_unlisted)
            self._unlisted.touched.add(touched)
        self._acked_but_new = Ack(position, *self._store.digests())
        unanswered = self.prove_computed(touched.selection(self._is_unlisted)[1])
        return replace(self._with_applied(self._acked), unanswered=unanswered)

    def _prove(self, touched: Touched, end: Ack | None = None) -> Ack:
        """Purge and verify these changes, plus the changes that wait for PowerDNS's zone list.

        Return the ack for the store's position. If `end` is given, the changes only reach up to `end`, and the ack is
        `end`. Raise NotServed if PowerDNS answers wrongly.
        """
        for waiting in (self._unlisted, self._listing):
            if waiting.prefixes:
                touched.add(waiting.touched)
        position = self._prover.prove(touched)
        self._unlisted, self._listing = Unlisted(), Unlisted()
        self._has_unlisted.clear()
        ack = self._acked_but_new = end or Ack(position, *self._store.digests())
        self._acked = ack
        self._note_answered(position)
        return replace(ack, unanswered=self.prove_computed(touched.selection()[1]))

    def _keep(self, ack: Ack) -> None:
        self._acked = ack
        self._note_answered(ack.position)

    def _with_applied(self, ack: Ack) -> Ack:
        later = self._acked_but_new
        return ack if later is None or later.position == ack.position else replace(ack, applied=later.position)

    def _is_unlisted(self, prefix: bytes) -> bool:
        return prefix in self._unlisted.prefixes or prefix in self._listing.prefixes

    def _apply_one(self, segment: Segment, touched: Touched) -> float:
        """Write one segment and add its changes to `touched`. Return the longest hold of the write lock, in ms.

        Return 0 if the store already has the segment. If the store raises Diverged, suspect the zones of the segment.
        """
        if self._unseen:  # the first answers can need the keys that the last segment brought
            self._purger.purge_before_late(self._unseen)
            self._unseen.clear()
        touched.add_changes(segment, self._store)
        try:
            applied = self._store.apply(
                segment, watch=touched.add_keys, before_late=lambda: self._purger.purge_before_late(_zones_of(segment))
            )
        except Diverged:
            self.suspect(mark.zone_id for mark in islice(segment.marks(), MAX_SUSPECTS))
            raise
        if applied.leaves_attached or (applied.already and segment.main_op_count):
            self._unseen.update(_zones_of(segment))
        if applied.already:
            touched.changes.clear()  # the earlier state is no longer known
            for run in segment.runs():
                if run.dbi is Dbi.RECORDS:
                    touched.add_keys(record_keys(run))
            return 0.0
        stats.SEGMENTS_APPLIED.add()
        stats.SEGMENT_BYTES.add(segment.size)
        stats.ROWS_WRITTEN.add(applied.rows)
        return applied.longest_hold_ms

    def _note_answered(self, position: Position) -> None:
        if self.health.unserved:
            logger.info("PowerDNS answers again")
        self._change_health(answered=position, unserved="", unserved_since=0.0)

    def _note_unserved(self, error: NotServed) -> None:
        if self.health.unserved != str(error):
            logger.warning("not served: %s", error)
        self._change_health(unserved=str(error), unserved_since=self.health.unserved_since or self._clock())

    def note_refusal(self, error: ReplicationError) -> None:
        """Count and log a rejection, and report damage.

        If a person must fix the cause, keep the message in the status until a later push is applied.
        """
        stats.REFUSALS.add()
        logger.warning("refused: %s: %s", type(error).__name__, error)
        if isinstance(error, Damaged):
            self.damaged(str(error))
        if isinstance(error, NEEDS_A_PERSON):
            self._change_health(refusal=str(error), refused_at=self._clock())

    def _change_health(self, **changes: str | float | Position) -> None:
        with self._health_lock:
            self.health = replace(self.health, **changes)  # type: ignore[arg-type]


def _zones_of(segment: Segment) -> list[str]:
    """Return the segment's zones, at most MAX_ZONES + 1. For more than MAX_ZONES zones, everything is purged."""
    return [mark.name for mark in islice(segment.marks(), MAX_ZONES + 1)]
