"""Estimate query rates of zones from the nodes' most recent queries.

PowerDNS has no counters per zone, but it remembers its last 10,000 queries. A zone's share of them, multiplied by the
node's queries per second, is an estimate with a sampling error.

    zone-minute:<minute>        a hash for one minute of Unix time, kept for an hour: `q:<zone>` is the sum of the
                                nodes' estimates, `v:<zone>` the sum of their variances, `nodes` their number
    zone-minute:<minute>:<node> set for two minutes: the node has reported for this minute
    watched:zones               a sorted set of zones whose pages are open. The score is the time when the entry expires
    zone-top:<node>:<zone>      a `protocol.Top` of only this zone, as JSON, kept for a minute

Redis is the only store of these numbers. An unknown rate is None or left out, never zero. If Redis is unreachable, the
functions for pages return empty results, and the functions for workers raise RedisError.
"""

import json
import math
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from redis.exceptions import RedisError

from dnspanel.fleet import telemetry
from dnspanel.fleet.telemetry import TOP_SECONDS, WATCHED_SECONDS, connection
from replication.dns import names
from replication.errors import BadName
from replication.wire.protocol import MOST_TOP_ZONES, Top

MINUTES_KEPT = 60
MINUTE = 60
# Of a normal distribution, 95 % are within this many standard deviations.
_DEVIATIONS = 1.96
# If none of N samples matches, the share is below 3/N with 95 % confidence.
_RULE_OF_THREE = 3.0
_WATCHED = "watched:zones"


class Estimate(NamedTuple):
    """An estimate of queries per second. With 95 % confidence, the sampling error is at most `error`."""

    qps: float
    error: float


class MinuteOfZone(NamedTuple):
    """A minute of a zone: its start (Unix time), the estimated query rate, and the number of reporting nodes.

    `estimate` is None if no node listed the zone, even if nodes reported.
    """

    at: int
    estimate: Estimate | None
    nodes: int


class QueriedName(NamedTuple):
    """A frequently queried name and type, with the queries per second on all nodes that list it."""

    name: str
    type: str
    qps: float


@dataclass(frozen=True, slots=True)
class NodeSample:
    """A node's sample of its queries: `times` of the last `questions` were for the zone. `qps` is its query rate."""

    top: Top
    times: int
    questions: int
    qps: float

    @property
    def estimate(self) -> Estimate:
        """The zone's queries per second on this node. If `times` is 0, `error` is the highest likely rate."""
        if not self.times:
            return Estimate(0.0, _RULE_OF_THREE / self.questions * self.qps)
        return Estimate(self.per_second(self.times), _DEVIATIONS * math.sqrt(_variance(self.times, self)))

    def per_second(self, times: int) -> float:
        """Convert a number of remembered queries to queries per second."""
        return times / self.questions * self.qps


def watch_zones(zones: Iterable[str]) -> None:
    """Record for WATCHED_SECONDS that someone views these zones' pages, or do nothing if Redis is unreachable.

    Only the first MOST_TOP_ZONES zones are recorded.
    """
    until = time.time() + WATCHED_SECONDS
    wanted = {zone: until for zone, _ in zip(zones, range(MOST_TOP_ZONES), strict=False)}
    if wanted:
        with suppress(RedisError):
            connection(settings.REDIS_URL).zadd(_WATCHED, wanted)


def watched_zones() -> list[str]:
    """Return the most recently viewed zones, at most MOST_TOP_ZONES. Raise RedisError if Redis is unreachable."""
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    pipe.zremrangebyscore(_WATCHED, "-inf", time.time())
    pipe.zrevrange(_WATCHED, 0, MOST_TOP_ZONES - 1)
    _, found = pipe.execute()
    return list(found)


def keep_zone_top(*, node_id: int, zone: str, top: Top) -> None:
    """Store a node's top lists for this zone. Raise RedisError if Redis is unreachable."""
    connection(settings.REDIS_URL).set(_top_key(node_id, zone), json.dumps(top.to_json()), ex=TOP_SECONDS)


def keep_minute(*, node_id: int, top: Top, at: float) -> None:
    """Add a node's list of zones to the minute that contains `at`, once per node.

    Do nothing if the list is about no queries, or if the node's query rate is unknown. Raise RedisError if Redis fails.
    """
    node_qps = _qps_of([node_id]).get(node_id)
    if not top.questions or node_qps is None:
        return
    redis, minute = connection(settings.REDIS_URL), int(at) // MINUTE
    if not redis.set(f"{_minute_key(minute)}:{node_id}", "1", ex=2 * MINUTE, nx=True):
        return
    pipe = redis.pipeline()
    key = _minute_key(minute)
    pipe.hincrby(key, "nodes", 1)
    for zone, times in top.zones:
        sample = NodeSample(top, times, top.questions, node_qps)
        pipe.hincrbyfloat(key, f"q:{zone}", round(sample.per_second(times), 4))
        pipe.hincrbyfloat(key, f"v:{zone}", round(_variance(times, sample), 6))
    pipe.expire(key, (MINUTES_KEPT + 2) * MINUTE)
    pipe.execute()


def minutes_of(zone: str, *, now: float) -> list[MinuteOfZone]:
    """Return a zone's minutes in the last hour except the current one, oldest first, or an empty list without Redis."""
    first = int(now) // MINUTE - MINUTES_KEPT
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for minute in range(first, first + MINUTES_KEPT):
        pipe.hmget(_minute_key(minute), "nodes", f"q:{zone}", f"v:{zone}")
    try:
        found = pipe.execute()
    except RedisError:
        return []
    return [
        MinuteOfZone(
            (first + number) * MINUTE,
            None if qps is None else Estimate(float(qps), _DEVIATIONS * math.sqrt(max(0.0, float(variance)))),
            int(nodes or 0),
        )
        for number, (nodes, qps, variance) in enumerate(found)
    ]


def samples_of(zone: str, node_ids: Sequence[int]) -> dict[int, NodeSample]:
    """Return this zone's samples from the last minute, keyed by node id. If Redis fails, the result is empty."""
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for node_id in node_ids:
        pipe.get(_top_key(node_id, zone))
    try:
        found = dict(zip(node_ids, pipe.execute(), strict=True)) if node_ids else {}
    except RedisError:
        return {}
    tops = {node_id: Top.from_json(json.loads(text)) for node_id, text in found.items() if text}
    rates = _qps_of(list(tops))
    return {
        node_id: NodeSample(top, dict(top.zones).get(zone, 0), top.questions, rates[node_id])
        for node_id, top in tops.items()
        if top.questions and node_id in rates
    }


def total_of(samples: Iterable[NodeSample]) -> Estimate | None:
    """Return the zone's total queries per second on the sampled nodes, or None if there are no samples."""
    estimates = [sample.estimate for sample in samples]
    if not estimates:
        return None
    error = math.sqrt(sum(estimate.error**2 for estimate in estimates))
    return Estimate(sum(estimate.qps for estimate in estimates), error)


def queried_names(samples: Iterable[NodeSample]) -> list[QueriedName]:
    """Return a zone's most queried names on all sampled nodes, most queried first."""
    rates: dict[tuple[str, str], float] = {}
    for sample in samples:
        for what, times in sample.top.names:
            text, _, rrtype = what.rpartition("/")
            with suppress(BadName):
                key = names.parse(text), rrtype
                rates[key] = rates.get(key, 0.0) + sample.per_second(times)
    ordered = sorted(rates.items(), key=lambda item: (-item[1], item[0]))
    return [QueriedName(name, rrtype, qps) for (name, rrtype), qps in ordered]


def _variance(times: int, sample: NodeSample) -> float:
    share = times / sample.questions
    return sample.qps**2 * share * (1 - share) / sample.questions


def _qps_of(node_ids: Sequence[int]) -> dict[int, float]:
    """Return the nodes' queries per second: the mean of the known seconds in the last minute."""
    found = {}
    for node_id, live in telemetry.live_now(node_ids).items():
        known = [qps for qps in live.qps_minute if qps is not None]
        if known:
            found[node_id] = sum(known) / len(known)
    return found


def _minute_key(minute: int) -> str:
    return f"zone-minute:{minute}"


def _top_key(node_id: int, zone: str) -> str:
    return f"zone-top:{node_id}:{zone}"
