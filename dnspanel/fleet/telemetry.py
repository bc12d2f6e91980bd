"""Live numbers of the nodes: one capped Redis stream per node, an entry per second.

    live:<node id>     entry id: unix time of the panel in ms; field `s`: a `protocol.Sample` as JSON
    top:<node id>      what the node is asked most: a `protocol.Top` as JSON, for a minute
    log:<node id>      the last lines that its agent logged, as JSON, for a minute
    watched:<node id>  a person looks at the node's page; the collector then asks for its top lists and its log
    totals:<node id>   a hash: sums of all samples that ever came into the stream, and the newest of what is no sum

What is older than an hour is in `rollup`.
Redis is the only place of these numbers. The agents keep an hour of them, so
a lost Redis is filled again by the collector. What was not sampled is a gap,
never a zero and never a spike: agents send differences, not totals.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from django.conf import settings
from django.utils import timezone
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from replication.wire.protocol import Sample, Top

STREAM_LENGTH = 3600
MINUTE = 60
# How long a page that was looked at once counts as being looked at, and how long top lists are worth showing.
WATCHED_SECONDS = 30
TOP_SECONDS = 60
# Numbers older than this are not "now" any more.
FRESH_SECONDS = 5

SUMMED = ("udp", "tcp", "packet_hits", "packet_misses", "query_hits", "query_misses")
_NEWEST = ("uptime", "latency_us", "memory_bytes")
_RCODES = {"NOERROR": "noerror", "NXDOMAIN": "nxdomain", "SERVFAIL": "servfail"}


class Point(NamedTuple):
    """One step of a node's chart, by default a second. In a gap everything but the time is empty."""

    at: int
    qps: float | None
    noerror: float | None
    nxdomain: float | None
    servfail: float | None
    other: float | None
    latency_ms: float | None
    cache_hit: float | None
    udp4: float | None = None
    tcp4: float | None = None
    udp6: float | None = None
    tcp6: float | None = None


@dataclass(frozen=True, slots=True)
class LiveNow:
    """The newest second of a node and its last minute (None: a gap). Rates are per second."""

    at: int
    qps: float | None
    qps_minute: tuple[float | None, ...]
    rcodes: Mapping[str, float]  # noerror, nxdomain, servfail, other
    latency_ms: float | None
    cache_hit: float | None


@cache
def connection(url: str) -> Any:
    """Return this process's connection pool for live numbers; a dead Redis answers at once, not after retries.

    Untyped, because what redis-py states as its answers fits no answer in particular.
    """
    return Redis.from_url(
        url, socket_connect_timeout=1, socket_timeout=2, retry=Retry(NoBackoff(), 1), decode_responses=True
    )


def keep_samples(*, node_id: int, samples: Iterable[Sample]) -> int:
    """Add samples, oldest first, to the node's stream and return its length; what it has already is skipped.

    Raises RedisError.
    """
    samples = list(samples)
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for sample in samples:
        pipe.xadd(
            stream_key(node_id), entry_of(sample), id=f"{sample.at * 1000}-0", maxlen=STREAM_LENGTH, approximate=True
        )
    pipe.xlen(stream_key(node_id))
    *answers, length = pipe.execute(raise_on_error=False)
    for answer in (*answers, length):
        # The stream refuses an id that is not above its last one: that second is there already.
        if isinstance(answer, RedisError) and (answer is length or not isinstance(answer, ResponseError)):
            raise answer
    _add_to_totals(
        node_id, [sample for sample, answer in zip(samples, answers, strict=True) if not isinstance(answer, RedisError)]
    )
    return int(length)


def totals(node_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the totals of those nodes that have any, in one round trip; of none while Redis is away.

    They count from when Redis was last empty, and never go back while it lives: `udp`, `tcp`, `packet_hits`,
    `packet_misses`, `query_hits`, `query_misses` and `rcode:…`. As of the newest sample: `uptime`, `latency_us`,
    `memory_bytes`.
    """
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for node_id in node_ids:
        pipe.hgetall(_totals_key(node_id))
    try:
        found = pipe.execute() if node_ids else []
    except RedisError:
        return {}
    return {
        node_id: {name: int(value) for name, value in fields.items()}
        for node_id, fields in zip(node_ids, found, strict=True)
        if fields
    }


def forget_samples(*, node_id: int) -> None:
    """Empty the node's stream, and forget its totals. Raise RedisError."""
    connection(settings.REDIS_URL).delete(stream_key(node_id), _totals_key(node_id))


def watch(node_id: int) -> None:
    """Record that a person looks at this node: its top lists are fetched for the next WATCHED_SECONDS.

    Nothing without Redis.
    """
    with suppress(RedisError):
        connection(settings.REDIS_URL).set(_watched_key(node_id), "1", ex=WATCHED_SECONDS)


def is_watched(*, node_id: int) -> bool:
    """Return True if a person looked at this node recently. Raise RedisError."""
    return bool(connection(settings.REDIS_URL).exists(_watched_key(node_id)))


def keep_top(*, node_id: int, top: Top) -> None:
    """Keep these as the node's top lists. Raise RedisError."""
    connection(settings.REDIS_URL).set(_top_key(node_id), json.dumps(top.to_json()), ex=TOP_SECONDS)


def top(node_id: int) -> Top | None:
    """Return the node's top lists, of the last minute; None without any."""
    found = _read_report(_top_key(node_id))
    return None if found is None else Top.from_json(found)


def keep_log(*, node_id: int, lines: Sequence[str]) -> None:
    """Keep these as the last lines that the node's agent logged. Raise RedisError."""
    connection(settings.REDIS_URL).set(_log_key(node_id), json.dumps(list(lines)), ex=TOP_SECONDS)


def log(node_id: int) -> list[str]:
    """Return what the node's agent logged last, as of the last minute; nothing where it was not fetched."""
    return list(_read_report(_log_key(node_id)) or ())


def answers_between(node_ids: Sequence[int], begin: float, end: float) -> Counter[str]:
    """Return how many answers these nodes gave after `begin` and up to `end` (unix times), by rcode.

    A sample that tells of a time before `begin` too is left out: what happened then must not count as what came after.
    Empty while Redis is away: nothing can be said of the answers then.
    """
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for node_id in node_ids:
        pipe.xrange(stream_key(node_id), min=f"({int(begin) * 1000}-0", max=f"{int(end) * 1000}-0")
    answers: Counter[str] = Counter()
    try:
        streams = pipe.execute() if node_ids else []
    except RedisError:
        return answers
    for entries in streams:
        for sample in map(sample_of, entries):
            if sample.at - sample.seconds >= begin:
                answers.update(sample.rcodes)
    return answers


def newest_at(*, node_id: int) -> int:
    """Return the time of the newest sample kept, 0 without any. Raises RedisError."""
    return newest_in(stream_key(node_id))


def newest_in(key: str) -> int:
    """Return the time of the newest sample in a stream, 0 without any. Raises RedisError."""
    newest = connection(settings.REDIS_URL).xrevrange(key, count=1)
    return sample_of(newest[0]).at if newest else 0


def live_now(node_ids: Sequence[int], *, seconds: int = MINUTE) -> dict[int, LiveNow]:
    """Return the live numbers of those nodes that have any, in one round trip; of none while Redis is away.

    With fewer `seconds` less is read: one is enough where the line of the last minute is not shown.
    """
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for node_id in node_ids:
        pipe.xrevrange(stream_key(node_id), count=seconds)
    try:
        streams = pipe.execute() if node_ids else []
    except RedisError:
        return {}
    now = int(timezone.now().timestamp())
    found = zip(node_ids, streams, strict=True)
    return {node_id: _live_now([sample_of(entry) for entry in entries], now) for node_id, entries in found if entries}


def points(node_id: int, *, after: float = 0.0, seconds: int = STREAM_LENGTH) -> list[Point]:
    """Return the node's points after a unix time, at most of the last `seconds`, oldest first, gaps marked."""
    start = max(int(after), int(timezone.now().timestamp()) - seconds)
    try:
        entries = connection(settings.REDIS_URL).xrange(stream_key(node_id), min=f"({start * 1000}-0")
    except RedisError:
        return []
    found: list[Point] = []
    last: int | None = start if after >= start else None
    for sample in map(sample_of, entries):
        if last is not None and _begins(sample) > last + 1:
            found.append(gap(last + 1))
        found.append(point(sample))
        last = sample.at
    return found


def gap(at: int) -> Point:
    """Return what a chart shows where there is no number."""
    return Point(at, *(None,) * 7)


def point(sample: Sample) -> Point:
    """Return one second for a chart."""
    qps = sample.qps
    if qps is None:
        return gap(sample.at)
    rates = _rates(sample)
    hit = sample.cache_hit_rate
    return Point(
        sample.at,
        _round_rate(qps),
        rates["noerror"],
        rates["nxdomain"],
        rates["servfail"],
        rates["other"],
        sample.latency_us / 1000,
        None if hit is None else round(hit, 4),
        *(
            _round_rate(count / sample.seconds)
            for count in (
                sample.udp - sample.udp6,
                sample.tcp - sample.tcp6,
                sample.udp6,
                sample.tcp6,
            )
        ),
    )


def _read_report(key: str) -> Any:
    """Return what an agent reported within the last minute; None without a report or without Redis."""
    try:
        found = connection(settings.REDIS_URL).get(key)
    except RedisError:
        return None
    return json.loads(found) if found else None


def _add_to_totals(node_id: int, samples: Sequence[Sample]) -> None:
    if not samples:
        return
    sums: Counter[str] = Counter()
    for sample in samples:
        sums.update({name: getattr(sample, name) for name in SUMMED})
        sums.update({f"rcode:{rcode}": answers for rcode, answers in sample.rcodes.items()})
    pipe = connection(settings.REDIS_URL).pipeline()
    for name, amount in sums.items():
        if amount:
            pipe.hincrby(_totals_key(node_id), name, amount)
    pipe.hset(_totals_key(node_id), mapping={name: getattr(samples[-1], name) for name in _NEWEST})
    pipe.execute()


def _live_now(newest_first: Sequence[Sample], now: int) -> LiveNow:
    newest = newest_first[0]
    fresh = newest if now - newest.at <= FRESH_SECONDS and newest.qps is not None else None
    return LiveNow(
        at=newest.at,
        qps=fresh.qps if fresh else None,
        qps_minute=_minute(newest_first, newest.at if now - newest.at <= FRESH_SECONDS else now),
        rcodes=_rates(fresh) if fresh else {},
        latency_ms=fresh.latency_us / 1000 if fresh else None,
        cache_hit=fresh.cache_hit_rate if fresh else None,
    )


def _minute(samples: Iterable[Sample], end: int) -> tuple[float | None, ...]:
    """Return the rate of each of the sixty seconds up to `end`; a sample counts for all seconds that it spans."""
    slots: list[float | None] = [None] * MINUTE
    for sample in samples:
        for at in range(_begins(sample) + 1, sample.at + 1):
            if 0 <= (slot := at - end + MINUTE - 1) < MINUTE:
                slots[slot] = sample.qps
    return tuple(slots)


def _begins(sample: Sample) -> int:
    """Return the second behind which the sample counts; at least the one before it."""
    return sample.at - max(1, round(sample.seconds))


def _rates(sample: Sample) -> dict[str, float]:
    rates = dict.fromkeys((*_RCODES.values(), "other"), 0.0)
    for rcode, answers in sample.rcodes.items():
        rates[_RCODES.get(rcode, "other")] += answers
    return {rcode: _round_rate(answers / sample.seconds) for rcode, answers in rates.items()}


def _round_rate(rate: float) -> float:
    return round(rate, 2)


def stream_key(node_id: int) -> str:
    """Return the key of the stream of a node's seconds."""
    return f"live:{node_id}"


def _top_key(node_id: int) -> str:
    return f"top:{node_id}"


def _log_key(node_id: int) -> str:
    return f"log:{node_id}"


def _watched_key(node_id: int) -> str:
    return f"watched:{node_id}"


def _totals_key(node_id: int) -> str:
    return f"totals:{node_id}"


def entry_of(sample: Sample) -> dict[str, str]:
    """Return what a stream holds of a sample."""
    return {"s": json.dumps(sample.to_json(), separators=(",", ":"))}


def sample_of(entry: tuple[str, Mapping[str, str]]) -> Sample:
    """Return the sample in an entry of a stream."""
    return Sample.from_json(json.loads(entry[1]["s"]))
