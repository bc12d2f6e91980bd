"""Store live numbers of nodes in Redis: one capped stream per node, with an entry per second.

    live:<node id>     entry id: unix time of the panel in ms; field `s`: a `protocol.Sample` as JSON
    top:<node id>      the node's most frequent queries: a `protocol.Top` as JSON, for a minute
    log:<node id>      the last lines that its agent logged, as JSON, for a minute
    watched:<node id>  set while someone views the node's page; the collector then fetches its top lists and log
    totals:<node id>   a hash: sums of all samples ever in the stream, and the newest values of other fields

Numbers older than an hour are in `rollup`. Redis is the only store of these numbers. Agents keep an hour of samples, so
the collector can refill a Redis that lost its data. Times without samples are gaps, never zeros or spikes, because
agents send differences and not totals.
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
# How long a page counts as viewed after its last request, and how long top lists are shown.
WATCHED_SECONDS = 30
TOP_SECONDS = 60
# Older numbers no longer count as current.
FRESH_SECONDS = 5

SUMMED = ("udp", "tcp", "packet_hits", "packet_misses", "query_hits", "query_misses")
_NEWEST = ("uptime", "latency_us", "memory_bytes")
_RCODES = {"NOERROR": "noerror", "NXDOMAIN": "nxdomain", "SERVFAIL": "servfail"}


class Point(NamedTuple):
    """A step of a node's chart, by default one second. A gap is a point with only the time set."""

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
    """A node's numbers in the newest second, and its queries per second in the last minute (None: a gap).

    If the newest second is a gap or older than FRESH_SECONDS, its numbers are None and `rcodes` is empty.
    """

    at: int
    qps: float | None
    qps_minute: tuple[float | None, ...]
    rcodes: Mapping[str, float]  # noerror, nxdomain, servfail, other
    latency_ms: float | None
    cache_hit: float | None


@cache
def connection(url: str) -> Any:
    """Return this process's connection pool for live numbers. If Redis is down, commands fail without long retries."""
    return Redis.from_url(
        url, socket_connect_timeout=1, socket_timeout=2, retry=Retry(NoBackoff(), 1), decode_responses=True
    )


def keep_samples(*, node_id: int, samples: Iterable[Sample]) -> int:
    """Add samples, oldest first, to the node's stream and totals. Return the stream's length.

    Samples that aren't newer than the stream's last one are skipped. Raise RedisError if Redis is unreachable.
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
        # The stream refuses an id that is not above its last one: that second is already stored.
        if isinstance(answer, RedisError) and (answer is length or not isinstance(answer, ResponseError)):
            raise answer
    _add_to_totals(
        node_id, [sample for sample, answer in zip(samples, answers, strict=True) if not isinstance(answer, RedisError)]
    )
    return int(length)


def totals(node_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return totals, keyed by node id, in one round trip. Nodes without totals are missing.

    If Redis is unreachable, the result is empty. These counters add up since Redis was last empty, and never decrease
    while Redis is up: `udp`, `tcp`, `packet_hits`, `packet_misses`, `query_hits`, `query_misses` and `rcode:…`. Values
    from the newest sample: `uptime`, `latency_us`, `memory_bytes`.
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
    """Delete the node's stream and its totals. Raise RedisError if Redis is unreachable."""
    connection(settings.REDIS_URL).delete(stream_key(node_id), _totals_key(node_id))


def watch(node_id: int) -> None:
    """Record that someone views this node's page, for WATCHED_SECONDS. If Redis is unreachable, do nothing."""
    with suppress(RedisError):
        connection(settings.REDIS_URL).set(_watched_key(node_id), "1", ex=WATCHED_SECONDS)


def is_watched(*, node_id: int) -> bool:
    """Return True if someone has viewed this node's page recently. Raise RedisError if Redis is unreachable."""
    return bool(connection(settings.REDIS_URL).exists(_watched_key(node_id)))


def keep_top(*, node_id: int, top: Top) -> None:
    """Store the node's top lists. Raise RedisError if Redis is unreachable."""
    connection(settings.REDIS_URL).set(_top_key(node_id), json.dumps(top.to_json()), ex=TOP_SECONDS)


def top(node_id: int) -> Top | None:
    """Return the node's top lists, or None if none were stored within the last minute."""
    found = _read_report(_top_key(node_id))
    return None if found is None else Top.from_json(found)


def keep_log(*, node_id: int, lines: Sequence[str]) -> None:
    """Store the last lines of the agent's log. Raise RedisError if Redis is unreachable."""
    connection(settings.REDIS_URL).set(_log_key(node_id), json.dumps(list(lines)), ex=TOP_SECONDS)


def log(node_id: int) -> list[str]:
    """Return the agent's last log lines, or an empty list if they weren't fetched within the last minute."""
    return list(_read_report(_log_key(node_id)) or ())


def answers_between(node_ids: Sequence[int], begin: float, end: float) -> Counter[str]:
    """Count these nodes' answers after `begin` and up to `end` (Unix times), by rcode.

    A sample that starts before `begin` is left out, so that earlier answers don't count as later ones. If Redis is
    unreachable, the result is empty.
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
    """Return the time of the node's newest stored sample, or 0 if it has none. Raise RedisError if Redis fails."""
    return newest_in(stream_key(node_id))


def newest_in(key: str) -> int:
    """Return the time of the newest sample in a stream, or 0 if it is empty. Raise RedisError if Redis fails."""
    newest = connection(settings.REDIS_URL).xrevrange(key, count=1)
    return sample_of(newest[0]).at if newest else 0


def live_now(node_ids: Sequence[int], *, seconds: int = MINUTE) -> dict[int, LiveNow]:
    """Return live numbers, keyed by node id, in one round trip. Omit nodes without numbers (all if Redis is down).

    `seconds` limits how much is read: 1 is enough if the chart of the last minute isn't shown.
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
    """Return the node's points after a Unix time, oldest first, with gaps marked, within the last `seconds`.

    If Redis is unreachable, the result is empty.
    """
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
    """Return a point that marks a gap in a chart."""
    return Point(at, *(None,) * 7)


def point(sample: Sample) -> Point:
    """Return the chart point of a sample."""
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
            for count in (sample.udp - sample.udp6, sample.tcp - sample.tcp6, sample.udp6, sample.tcp6)
        ),
    )


def _read_report(key: str) -> Any:
    """Return an agent's report from the last minute. Return None if it is missing or Redis is unreachable."""
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
    """Return the rates of the sixty seconds up to `end`. A sample counts for each second in its span."""
    slots: list[float | None] = [None] * MINUTE
    for sample in samples:
        for at in range(_begins(sample) + 1, sample.at + 1):
            if 0 <= (slot := at - end + MINUTE - 1) < MINUTE:
                slots[slot] = sample.qps
    return tuple(slots)


def _begins(sample: Sample) -> int:
    """Return the time (Unix seconds) at which the sample's span starts. The span is at least one second long."""
    return sample.at - max(1, round(sample.seconds))


def _rates(sample: Sample) -> dict[str, float]:
    rates = dict.fromkeys((*_RCODES.values(), "other"), 0.0)
    for rcode, answers in sample.rcodes.items():
        rates[_RCODES.get(rcode, "other")] += answers
    return {rcode: _round_rate(answers / sample.seconds) for rcode, answers in rates.items()}


def _round_rate(rate: float) -> float:
    return round(rate, 2)


def stream_key(node_id: int) -> str:
    """Return the key of the Redis stream with the node's samples, one per second."""
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
    """Return the stream entry of a sample."""
    return {"s": json.dumps(sample.to_json(), separators=(",", ":"))}


def sample_of(entry: tuple[str, Mapping[str, str]]) -> Sample:
    """Return the sample in a stream entry."""
    return Sample.from_json(json.loads(entry[1]["s"]))
