"""How the agent handles a push: write it, purge PowerDNS's caches, verify the answers over DNS, then acknowledge.

One push at a time. Data that was committed stays committed whatever comes after: PowerDNS being down delays the
ack, not the data. The panel repeats what was not acknowledged, and what is repeated is verified again, never
acknowledged from memory.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from replication import stats, verify
from replication.agent.purge import MAX_ZONES, Purger
from replication.agent.stale import ZoneChange, changes_in
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
from replication.store.repair import Repaired
from replication.store.store import Applied, Store
from replication.wire.operations import ZoneMark
from replication.wire.position import Position
from replication.wire.protocol import Ack, Unanswered
from replication.wire.segment import Segment, open_segment, open_segments

LOCK_SECONDS = 10.0
VERIFY_SECONDS = 1.5
# A first look that finds something else is repeated: after this pause, this often.
ATTEMPTS = 2
PAUSE_SECONDS = 0.05
# Of a segment whose digest differs, so many zones are checked before all others.
MAX_SUSPECTS = 200
# Up to so many names are purged one by one; beyond, their zones are purged.
MAX_STALE_NAMES = 1_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Health:
    """The last refusal and the last wrong answer of PowerDNS, as messages; empty once they are over."""

    refusal: str = ""
    refused_at: float = 0.0
    unserved: str = ""
    unserved_since: float = 0.0
    answered: Position | None = None


class Applier:
    """Applies pushes to one store beside one PowerDNS."""

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
        self._dns_address, self._dns_port = dns_address, dns_port
        self._lock = threading.Lock()
        self._health_lock = threading.Lock()
        self.health = Health()
        self.powerdns_version = ""
        self._has_checked = False
        # Called with the zones of a segment that found rows which the agent did not write.
        self.suspect: Callable[[Iterable[int]], None] = lambda zone_ids: None
        # Called with the keys of rows that were proved, of which ALIAS and LUA are asked for; returns all that lack.
        self.prove_computed: Callable[[Iterable[bytes]], tuple[Unanswered, ...]] = lambda record_keys: ()
        # Called with the reason where a file may be damaged.
        self.damaged: Callable[[str], None] = lambda reason: None

    def apply(self, body: bytes | BinaryIO) -> Ack:
        """Bring the store to the end of these segments and prove it by DNS.

        1. Each segment's signature, then its content, in order; what one transaction committed stays.
        2. Purge and verify everything touched, also when a later segment was refused.
        3. Acknowledge the store's position.

        Raises what `open_segments` and `Store.apply` raise, NotServed, or Busy if another push takes too long.
        """
        with self._alone():
            before = self._store.position()
            ack = self._apply(body)
        self._note_answered(ack.position)
        if ack.position != before:
            self._change_health(refusal="", refused_at=0.0)
        return ack

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other pushes, repairs and snapshots out; errors raised inside go into the status.

        Raises Busy if another one takes too long.
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
            self._lock.release()

    @property
    def is_busy(self) -> bool:
        """Whether a push is under way."""
        return self._lock.locked()

    def repair(self, body: bytes | BinaryIO) -> tuple[Ack, Repaired]:
        """Make one zone what the panel has at the store's position, and prove it as `apply` does.

        Raises Gap where the store is elsewhere, and what `apply` raises.
        """
        with self._alone():
            segment = open_segment(body, self._signing_keys)
            touched = _Touched()
            touched.add_marks(segment)
            repaired = self._store.repair(segment)
            touched.keys.extend(repaired.keys)
            position = self._purge_and_verify(touched)
            unanswered = self.prove_computed(touched.selection()[1])
        self._note_answered(position)
        stats.ROWS_WRITTEN.add(repaired.rows)
        stats.WRITE_LOCK_MS_MAX.note(repaired.longest_hold_ms)
        logger.warning(
            "repaired zone=%s rows=%d: %s", repaired.mark.name, repaired.rows, "; ".join(repaired.differences)
        )
        ack = Ack(position, *self._store.digests(), lock_ms=repaired.longest_hold_ms, unanswered=unanswered)
        return ack, repaired

    def install(self, write: Callable[[Callable[[], None]], Applied | None]) -> Ack:
        """Have a snapshot written and prove by DNS that PowerDNS answers from it.

        `write` is called with a function that it has to call before it deletes records of zones which PowerDNS may
        still have in its list.
        Raises what `write` raises, NotServed, or Busy if a push takes too long.
        """
        with self._alone():
            began = time.perf_counter()
            applied = write(self._make_zones_known)
            written = time.perf_counter()
            position = self._purge_and_verify(_Touched.sample_of(self._store))
        self._note_answered(position)
        self._change_health(refusal="", refused_at=0.0)
        rows, hold = (applied.rows, applied.longest_hold_ms) if applied else (0, 0.0)
        stats.ROWS_WRITTEN.add(rows)
        stats.WRITE_LOCK_MS_MAX.note(hold)
        apply_ms, verify_ms = (written - began) * 1000, (time.perf_counter() - written) * 1000
        logger.info(
            "snapshot installed position=%s rows=%d install_ms=%.0f lock_ms=%.1f verify_ms=%.1f",
            position,
            rows,
            apply_ms,
            hold,
            verify_ms,
        )
        digests, unanswered = self._store.digests(), self.prove_computed(())
        return Ack(position, *digests, apply_ms=apply_ms, lock_ms=hold, verify_ms=verify_ms, unanswered=unanswered)

    def _make_zones_known(self) -> None:
        """PowerDNS finds zones as the files have them. One that is down finds them when it starts."""
        with contextlib.suppress(NotServed):
            self._purger.purge_everything(None)

    def check_powerdns(self) -> None:
        """Check that PowerDNS runs and answers our position; called at the start and once a second.

        After a start nobody knows what a former agent left unpurged; after an outage, what was applied meanwhile
        is unproven. Then everything is purged and the position zone asked, until it answers.
        """
        try:
            self._purger.sweep()
            self.powerdns_version = self._purger.version()
            if self._store.installing():  # nothing to verify before a snapshot is complete
                self._change_health(unserved="", unserved_since=0.0)
            elif self.health.unserved or not self._has_checked or self.health.answered != self._store.position():
                self._purge_everything()
        except NotServed as exc:
            self._note_unserved(exc)

    def _purge_everything(self) -> None:
        """Unless a push is under way, which proves more. Raises NotServed."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            position = self._store.position()
            self._purger.purge_everything(position)
            self._has_checked = True
            if position is not None:
                self._note_answered(position)
            else:
                self._change_health(unserved="", unserved_since=0.0)
        finally:
            self._lock.release()

    def _apply(self, body: bytes | BinaryIO) -> Ack:
        began = time.perf_counter()
        touched = _Touched()
        first = last = size = 0
        hold = 0.0
        if self._store.installing():  # before anything is touched that would have to be purged
            raise Unfinished(what="this node")
        try:
            for segment in open_segments(body, self._signing_keys):
                hold = max(hold, self._apply_one(segment, touched))
                first, last, size = first or segment.first, segment.last, size + segment.size
        except ReplicationError:
            if touched.zones:  # a part may have been committed; nobody acknowledges it, but it has to be seen
                with contextlib.suppress(NotServed):
                    self._purge(touched, None, by_names=False)
            raise
        if not first:
            raise BadSegment(reason="the push is empty")
        applied = time.perf_counter()
        position = self._purge_and_verify(touched)
        unanswered = self.prove_computed(touched.selection()[1])
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
        digests = self._store.digests()
        return Ack(position, *digests, apply_ms=apply_ms, lock_ms=hold, verify_ms=verify_ms, unanswered=unanswered)

    def _apply_one(self, segment: Segment, touched: "_Touched") -> float:
        """Write one segment; return the longest time the write lock was held, in ms."""
        touched.add_changes(segment, self._store)
        try:
            applied = self._store.apply(segment, watch=touched.keys.extend)
        except Diverged:
            self.suspect(mark.zone_id for mark in islice(segment.marks(), MAX_SUSPECTS))
            raise
        if applied.already:
            touched.changes.clear()  # how it was before is not known any more
            for run in segment.runs():
                if run.dbi is Dbi.RECORDS:
                    touched.keys.extend(record_keys(run))
            return 0.0
        stats.SEGMENTS_APPLIED.add()
        stats.SEGMENT_BYTES.add(segment.size)
        stats.ROWS_WRITTEN.add(applied.rows)
        stats.WRITE_LOCK_MS_MAX.note(applied.longest_hold_ms)
        return applied.longest_hold_ms

    def _purge_and_verify(self, touched: "_Touched") -> Position:
        """Purge until PowerDNS answers what the store holds; return the position it answered. Raises NotServed."""
        position = self._store.position()
        assert position is not None  # something was applied just now, or earlier
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self._purge(touched, position, by_names=attempt == 1)
                expected = list(verify.expectations(self._store, *touched.selection()))
                verify.verify(expected, self._dns_address, self._dns_port, seconds=VERIFY_SECONDS)
            except NotServed:
                if attempt == ATTEMPTS:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                break
        self._store.release_pages()
        return position

    def _purge(self, touched: "_Touched", position: Position | None, *, by_names: bool) -> None:
        if touched.everything:
            self._purger.purge_everything(position, appeared=bool(touched.appeared))
            return
        zones, names = touched.stale(self._store) if by_names else (touched.zones, set[str]())
        self._purger.purge_zones(zones, position, names=names, appeared=touched.appeared)

    def _note_answered(self, position: Position) -> None:
        if self.health.unserved:
            logger.info("PowerDNS answers again")
        self._change_health(answered=position, unserved="", unserved_since=0.0)

    def _note_unserved(self, error: NotServed) -> None:
        if self.health.unserved != str(error):
            logger.warning("not served: %s", error)
        self._change_health(unserved=str(error), unserved_since=self.health.unserved_since or self._clock())

    def note_refusal(self, error: ReplicationError) -> None:
        """Count and log a refusal; one that needs a person stays in the status until a later push is applied."""
        stats.REFUSALS.add()
        logger.warning("refused: %s: %s", type(error).__name__, error)
        if isinstance(error, Damaged):
            self.damaged(str(error))
        if isinstance(error, NEEDS_A_PERSON):
            self._change_health(refusal=str(error), refused_at=self._clock())

    def _change_health(self, **changes: str | float | Position) -> None:
        with self._health_lock:
            self.health = replace(self.health, **changes)  # type: ignore[arg-type]


class _Touched:
    """What a push touched: the zones to purge, and a bounded selection of zones and rows to verify."""

    def __init__(self) -> None:
        self.zones: set[str] = set()
        self.appeared: set[str] = set()  # those that may be new to PowerDNS
        self.changes: dict[str, ZoneChange] = {}  # of zones of which single names can be purged
        self.everything = False  # too many zones to name
        self.marks: verify.EvenSample[ZoneMark] = verify.EvenSample()
        self.keys: verify.EvenSample[bytes] = verify.EvenSample()

    @classmethod
    def sample_of(cls, store: Store) -> "_Touched":
        """Everything was touched; zones from all over the id space are asked for."""
        touched = cls()
        touched.everything = True
        for first in (1 << power for power in range(31)):
            for zone in store.zones_from(first, limit=1):
                touched.marks.add(ZoneMark(zone.zone_id, zone.name, zone.serial))
                touched.appeared.add(zone.name)
        return touched

    def add_changes(self, segment: Segment, store: Store) -> None:
        """As `add_marks`, of a segment that is about to be applied, and note which names of its zones change."""
        known = set(self.zones)
        marks = self.add_marks(segment)
        if self._is_beyond_names:
            return
        changes = {change.name: change for change in changes_in(segment, marks, store)}
        for mark in marks:
            self._merge(mark.name, changes.get(mark.name), is_first=mark.name not in known)

    def add_marks(self, segment: Segment) -> list[ZoneMark]:
        """Note its zones, and return their marks.

        Of a segment with more zones than are purged by name, only as many as could be verified are noted.
        """
        self.everything |= segment.mark_count > MAX_ZONES
        every = -(-segment.mark_count // verify.MAX_QUESTIONS) if segment.mark_count > MAX_ZONES else 1
        marks = list(segment.marks(every))
        for mark in marks:
            if len(self.zones) <= MAX_ZONES:
                self.zones.add(mark.name)
            if segment.main_op_count and mark.serial is not None and len(self.appeared) <= MAX_ZONES:
                self.appeared.add(mark.name)
            self.marks.add(mark)
        return marks

    def _merge(self, zone: str, change: ZoneChange | None, *, is_first: bool) -> None:
        """Names of a zone are purged singly only if that is possible for every segment of the push."""
        before = self.changes.pop(zone, None)
        if change is not None and (before is not None or is_first):
            self.changes[zone] = before.followed_by(change) if before else change

    @property
    def _is_beyond_names(self) -> bool:
        """More zones than are noted were touched: everything is purged."""
        return self.everything or len(self.zones) > MAX_ZONES

    def stale(self, store: Store) -> tuple[set[str], set[str]]:
        """The zones to purge with all their names, and the single names to purge of the others."""
        if self._is_beyond_names:
            return self.zones, set()
        zones, names = set(self.zones), set[str]()
        for zone, change in self.changes.items():
            stale = change.stale_names(store)
            if stale is not None and len(names) + len(stale) <= MAX_STALE_NAMES:
                zones.discard(zone)
                names.update(stale)
        return zones, names

    def selection(self) -> tuple[list[ZoneMark], list[bytes]]:
        """The zones and rows to ask for.

        The digest says that every row is right, the position that PowerDNS reads this very file, and the purge
        that it holds nothing older. The questions prove the way from file to answer; a few do that as well as many.
        """
        every = verify.MAX_QUESTIONS // verify.FEW_QUESTIONS if self.everything else 1
        return self.marks.items[::every], self.keys.items[::every]
