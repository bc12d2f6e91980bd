"""Read PowerDNS's own counters once a second, and keep the differences for an hour.

If a counter or the uptime decreased, PowerDNS was restarted. After a restart, and after seconds in which PowerDNS did
not answer, there is nothing to compare with. The sample then has 0 `seconds` and appears as a gap, never as a spike or
a negative number. The agent's own queries are subtracted, so that publishing doesn't look like traffic.
"""

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from replication import stats
from replication.agent.powerdns.pdns_api import PdnsApi, refuse_other_status
from replication.errors import BadBytes, NotServed
from replication.wire.protocol import Sample, encode_message

INTERVAL_SECONDS = 1.0
KEPT_SAMPLES = 3600
# The top lists count answers by rcode over this period.
RECENT_SAMPLES = 300
# Counters with a longer interval aren't compared: an average over a minute is not a live number.
LONGEST_INTERVAL = 10.0

_PATH = "/statistics?includerings=false"
_ANSWER_SECONDS = 2.0
_MAX_ANSWER = 1 << 20

# PowerDNS's names of rcodes in `response-by-rcode`.
_RCODES = {
    "No Error": "NOERROR",
    "Form Error": "FORMERR",
    "Server Failure": "SERVFAIL",
    "Non-Existent domain": "NXDOMAIN",
    "Not Implemented": "NOTIMP",
    "Query Refused": "REFUSED",
    "Not Authoritative": "NOTAUTH",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Counters:
    """PowerDNS's counters at one moment, as totals since its start, with its current latency and memory."""

    at: float  # unix time
    clock: float  # monotonic time
    uptime: int
    udp: int
    tcp: int
    packet_hits: int
    packet_misses: int
    query_hits: int
    query_misses: int
    latency_us: int
    memory_bytes: int
    rcodes: Mapping[str, int] = field(default_factory=dict)
    own_questions: int = 0
    udp6: int = 0  # of `udp` and `tcp`, those by IPv6
    tcp6: int = 0


def parse_counters(answer: bytes, *, at: float, clock: float, own_questions: int = 0) -> Counters:
    """Parse the counters in PowerDNS's statistics. Raise BadBytes if the statistics are invalid."""
    try:
        items: dict[str, Any] = {item["name"]: item["value"] for item in json.loads(answer)}
        rcodes = {
            _RCODES.get(rcode["name"], rcode["name"]): int(rcode["value"]) for rcode in items["response-by-rcode"]
        }
        return Counters(
            at=at,
            clock=clock,
            uptime=int(items["uptime"]),
            udp=int(items["udp-queries"]),
            tcp=int(items["tcp-queries"]),
            packet_hits=int(items["packetcache-hit"]),
            packet_misses=int(items["packetcache-miss"]),
            query_hits=int(items["query-cache-hit"]),
            query_misses=int(items["query-cache-miss"]),
            latency_us=int(items["latency"]),
            memory_bytes=int(items["real-memory-usage"]),
            rcodes=rcodes,
            own_questions=own_questions,
            udp6=int(items["udp6-queries"]),
            tcp6=int(items["tcp6-queries"]),
        )
    except (ValueError, KeyError, TypeError) as exc:
        raise BadBytes(what="PowerDNS's statistics", reason=f"unexpected content ({exc!r})") from exc


def difference(before: Counters | None, now: Counters) -> Sample:
    """Return the difference between the counters at two moments, or a gap if they can't be compared."""
    comparable = (
        before is not None
        and now.uptime >= before.uptime
        and now.udp >= before.udp
        and now.tcp >= before.tcp
        and 0 < now.clock - before.clock <= LONGEST_INTERVAL
    )
    if before is None or not comparable:
        return Sample(int(now.at), 0.0, now.uptime, 0, 0, {}, 0, 0, 0, 0, now.latency_us, now.memory_bytes)
    own = now.own_questions - before.own_questions
    rcodes = {name: count - before.rcodes.get(name, 0) for name, count in now.rcodes.items()}
    if "NOERROR" in rcodes:
        rcodes["NOERROR"] = max(0, rcodes["NOERROR"] - own)
    udp, tcp = max(0, now.udp - before.udp - own), now.tcp - before.tcp
    return Sample(
        at=int(now.at),
        seconds=round(now.clock - before.clock, 3),
        uptime=now.uptime,
        udp=udp,
        tcp=tcp,
        rcodes={name: count for name, count in rcodes.items() if count > 0},
        packet_hits=max(0, now.packet_hits - before.packet_hits),
        packet_misses=max(0, now.packet_misses - before.packet_misses - own),
        query_hits=max(0, now.query_hits - before.query_hits),
        query_misses=max(0, now.query_misses - before.query_misses),
        latency_us=now.latency_us,
        memory_bytes=now.memory_bytes,
        udp6=min(udp, max(0, now.udp6 - before.udp6)),
        tcp6=min(tcp, max(0, now.tcp6 - before.tcp6)),
    )


def read_counters(api: PdnsApi) -> Counters:
    """Return PowerDNS's current counters. Raise NotServed if it sends none, or BadBytes if they are invalid."""
    with api.request("GET", _PATH, question="statistics", seconds=_ANSWER_SECONDS) as connection:
        own = int(stats.OWN_QUESTIONS.value)
        response = connection.getresponse()
        answer = response.read(_MAX_ANSWER)
    refuse_other_status(response, question="statistics")
    return parse_counters(answer, at=time.time(), clock=time.monotonic(), own_questions=own)


class Observer:
    """A sampler of PowerDNS's counters. It stores at most one sample per second, and keeps the last KEPT_SAMPLES."""

    def __init__(self, read: Callable[[], Counters]) -> None:
        self._read = read
        self._before: Counters | None = None
        self._kept: deque[tuple[int, bytes]] = deque(maxlen=KEPT_SAMPLES)
        self._lock = threading.Lock()
        self._answers = True
        self.counters: Counters | None = None  # PowerDNS's totals at the last sample; None if there was no answer

    def step(self) -> bool:
        """Take one sample. Return False if PowerDNS returned no counters."""
        try:
            now = self._read()
        except (NotServed, BadBytes) as exc:
            stats.SAMPLES_MISSED.add()
            if self._answers:
                logger.warning("no statistics: %s", exc)
            self._before, self._answers, self.counters = None, False, None
            return False
        self.counters = now
        sample = difference(self._before, now)
        with self._lock:
            if not self._kept or self._kept[-1][0] < sample.at:
                self._kept.append((sample.at, encode_message(sample.to_json())))
                self._before = now
        stats.SAMPLES.add()
        self._answers = True
        return True

    def recent_rcodes(self) -> Counter[str]:
        """Count the answers in the last RECENT_SAMPLES samples, by rcode."""
        with self._lock:
            recent = [encoded for _, encoded in islice(reversed(self._kept), RECENT_SAMPLES)]
        answers: Counter[str] = Counter()
        for encoded in recent:
            answers.update(Sample.from_json(json.loads(encoded)).rcodes)
        return answers

    def samples_after(self, after: int) -> bytes:
        """Return the samples newer than this Unix time as a JSON array, oldest first."""
        with self._lock:
            newer = []
            for at, encoded in reversed(self._kept):
                if at <= after:
                    break
                newer.append(encoded)
        return b"[" + b",".join(reversed(newer)) + b"]"
