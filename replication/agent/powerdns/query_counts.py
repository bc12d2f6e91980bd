"""Count the questions for each RRset of the node's zones, while the panel asks for the counts.

The counts are of RRsets that exist: a question counts for the RRset that answers it, and for each RRset to which a
CNAME or DNAME leads. Other questions leave no trace. Client addresses aren't read. All is in memory only.
"""

import logging
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress

from replication.agent.powerdns.capture import Capture, Captured
from replication.agent.powerdns.observe import Counters
from replication.codec import keys, values
from replication.dns import names, rdtypes
from replication.errors import ReplicationError
from replication.store.store import Store
from replication.wire.protocol import QueryReport

READ_SECONDS = 0.1
RESOLVE_SECONDS = 5.0
# More names and types between two resolutions are not counted (random names), and more RRsets until a report is taken.
MOST_QUESTIONS = 10_000
MOST_RRSETS = 100_000
# Counting ends if the panel doesn't ask for so long.
KEPT_SECONDS = 86_400.0
_MOST_LED = 8  # CNAMEs in a row
_ANY = 255
_RRset = tuple[int, bytes, int]

logger = logging.getLogger(__name__)


class QueryCounter:
    """A counter of questions with its own thread, which runs from the first call of `report` until `stop`."""

    def __init__(self, store: Store, port: int, *, counters: Callable[[], Counters | None]) -> None:
        self._store, self._port, self._counters = store, port, counters
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._instance, self._number = secrets.token_hex(8), 0
        self._sealed: QueryReport | None = None
        self._requested_at = 0.0
        self.problem = ""

    def report(self, taken: str) -> QueryReport:
        """Return the questions since the last report that the panel has taken, and begin to count if needed.

        `taken` is the id of the last report that the panel has stored. Another id returns the same report again.
        """
        with self._lock:
            self._requested_at = time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._begin()
            if self._sealed is not None and self._sealed.id == taken:
                self._sealed = None
            if self._sealed is None and self._thread is not None:
                self._sealed = self._seal()
            return self._sealed or QueryReport("", 0, 0, self.problem, ())

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _begin(self) -> None:
        try:
            self._capture = Capture(self._port)
        except OSError as exc:
            self.problem = f"the agent may not read packets (CAP_NET_RAW): {exc}"
            return
        self.problem = ""
        self._pending, self._rrsets = Counter[bytes](), Counter[_RRset]()
        self._lost = self._seen = self._uptime = 0
        self._base: int | None = None  # PowerDNS's count of questions when the capture had seen none
        self._started_at = self._begun_at = time.time()
        self._thread = threading.Thread(target=self._run, name="count-questions", daemon=True)
        self._thread.start()
        logger.info("counting questions port=%d", self._port)

    def _run(self) -> None:
        resolved_at = time.monotonic()
        while not self._stop.wait(READ_SECONDS):
            with self._lock:
                now = time.monotonic()
                self._read()
                if now - resolved_at > RESOLVE_SECONDS:
                    resolved_at = now
                    self._resolve()
                if now - self._requested_at > KEPT_SECONDS:
                    break
        with self._lock:
            self._capture.close()
            self._thread = self._sealed = None

    def _read(self) -> None:
        """Count the messages that have arrived, and the questions of PowerDNS's earlier counters that are missing."""
        counters, seen_before = self._counters(), self._seen
        for captured in self._capture.read():
            self._seen += 1
            if (question := _question_in(captured)) is not None:
                if question in self._pending or len(self._pending) < MOST_QUESTIONS:
                    self._pending[question] += 1
                else:
                    self._lost += 1
        dropped = self._capture.count_dropped()
        self._seen, self._lost = self._seen + dropped, self._lost + dropped
        if counters is None or counters.at < self._started_at:
            return
        total = counters.udp + counters.tcp
        if self._base is None or counters.uptime < self._uptime:
            # The first counters are newer than the capture. Those of a restarted PowerDNS begin with 0.
            self._base = total if self._base is None else -seen_before
        self._uptime = counters.uptime
        if (unseen := total - self._base - self._seen) > 0:  # through a proxy or to another port, for example
            self._lost, self._base = self._lost + unseen, self._base + unseen

    def _resolve(self) -> None:
        """Replace the questions that were read by the RRsets that answer them."""
        find = Answers(self._store)
        for question, times in self._pending.items():
            with suppress(ReplicationError):
                name, type = names.from_wire(question[:-2]), int.from_bytes(question[-2:], "big")
                for rrset in set(find.rrsets(name, type)):
                    if rrset in self._rrsets or len(self._rrsets) < MOST_RRSETS:
                        self._rrsets[rrset] += times
                    else:
                        self._lost += times
        self._pending.clear()

    def _seal(self) -> QueryReport:
        self._read()
        self._resolve()
        lost = self._lost + self._capture.lost
        problem = f"{lost} questions could not be counted" if lost else ""
        if self._base is None:
            problem = "PowerDNS reports no counters to compare with"
        now, self._number = time.time(), self._number + 1
        counts = tuple((zone, rel.hex(), type, times) for (zone, rel, type), times in self._rrsets.items())
        report = QueryReport(f"{self._instance}-{self._number}", self._begun_at, now, problem, counts)
        self._lost = self._capture.lost = 0
        self._begun_at, self._rrsets = now, Counter()
        return report


class Answers:
    """The RRsets in the node's files that answer questions. Names that were looked up are remembered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._zones: dict[str, int | None] = {}
        self._types: dict[tuple[int, bytes], frozenset[int]] = {}

    def rrsets(self, name: str, type: int, led: int = 0) -> Iterator[_RRset]:
        """Yield the RRsets that answer a question, as zone id, relative key and type. A name error yields nothing."""
        zone = self._zone_of(name, type)
        if zone is None or led > _MOST_LED:
            return
        zone_id, rel = self._zones[zone] or 0, keys.relative_key(name, zone)
        closest = keys.APEX
        for at in reversed([*keys.ancestors(rel)]):
            types = self._types_at(zone_id, at)
            if rdtypes.DNAME in types or (rdtypes.NS in types and at != keys.APEX):
                answering = rdtypes.DNAME if rdtypes.DNAME in types else rdtypes.NS
                yield zone_id, at, answering
                if answering == rdtypes.DNAME:
                    target, owner = self._target(zone_id, at, answering), keys.name_from_relative_key(at, zone)
                    with suppress(ReplicationError):
                        yield from self.rrsets(names.parse(name.removesuffix(owner) + target), type, led + 1)
                return
            closest = at if types else closest
        types = self._types_at(zone_id, rel)
        if not types:
            rel = keys.wildcard_below(closest)
            types = self._types_at(zone_id, rel)
        if rdtypes.NS in types and rel != keys.APEX and type != rdtypes.DS:
            yield zone_id, rel, rdtypes.NS
        elif type == _ANY or type in types:
            yield from ((zone_id, rel, each) for each in (types if type == _ANY else (type,)) if each != values.ENT)
        elif rdtypes.CNAME in types:
            yield zone_id, rel, rdtypes.CNAME
            yield from self.rrsets(self._target(zone_id, rel, rdtypes.CNAME), type, led + 1)
        else:
            computed = {rdtypes.LUA, *({rdtypes.ALIAS} if type in (rdtypes.A, rdtypes.AAAA) else ())}
            yield from ((zone_id, rel, each) for each in computed & types)

    def _zone_of(self, name: str, type: int) -> str | None:
        """Return the closest zone at or above the name. The zone above a delegation answers for its DS."""
        at: str | None = names.parent(name) if type == rdtypes.DS else name
        while at is not None:
            if at not in self._zones:
                self._zones[at] = self._store.zone_id(at)
            if self._zones[at] is not None:
                return at
            at = names.parent(at)
        return None

    def _types_at(self, zone_id: int, rel: bytes) -> frozenset[int]:
        found = self._types.get((zone_id, rel))
        if found is None:
            found = self._types[zone_id, rel] = frozenset(type for type, _ in self._store.rows(zone_id).at(rel))
        return found

    def _target(self, zone_id: int, rel: bytes, type: int) -> str:
        body = self._store.rows(zone_id).get(rel, type)
        return names.from_wire(values.decode_records(body)[0].content) if body else names.ROOT


def _question_in(captured: Captured) -> bytes | None:
    """Return the lowercase name and the type of a query's only question in wire format, or None for another message."""
    message = captured.message
    if captured.is_own or len(message) < 17 or message[2] & 0xF8 or message[4:6] != b"\0\1":
        return None
    at = 12
    while at < len(message) and (length := message[at]):
        at += length + 1
    # Bytes of lengths are below "A", so they don't change.
    return message[12 : at + 1].lower() + message[at + 1 : at + 3] if at + 5 <= len(message) else None
