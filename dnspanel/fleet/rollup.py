"""Sum up a node's history: minutes for one day and hours for thirty days, each when it is complete, and its lag.

    minutes:<node id>  a Redis stream like `live:<node id>`; entry id: end of the minute; field `s`: a `Sample`
    hours:<node id>    the same with hours, summed from the minutes
    lags:<minute>      a sorted set: the longest lag of each node in this minute of Unix time, in seconds, by node id.
                       Nodes that lacked nothing are missing. The id 0 marks a checked minute.

A minute is complete when a later sample has arrived. This way, samples that an agent sends after an outage still count.
Times without samples are gaps.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from math import inf

from django.conf import settings
from django.utils import timezone
from redis.exceptions import RedisError

from dnspanel.fleet import telemetry
from dnspanel.fleet.node_health import Health, Word
from dnspanel.fleet.telemetry import MINUTE, Point, connection, entry_of, gap, newest_in, point, sample_of, stream_key
from replication.wire.protocol import Sample

_SUMMED = (*telemetry.SUMMED, "udp6", "tcp6")


@dataclass(frozen=True, slots=True)
class Level:
    """A resolution of the history: steps of `seconds` seconds each. The last `kept` steps are stored."""

    name: str
    seconds: int
    kept: int

    def key(self, node_id: int) -> str:
        return f"{self.name}:{node_id}"

    def end_of(self, at: int) -> int:
        """Return the end of the step that contains this time (Unix seconds)."""
        return -(-at // self.seconds) * self.seconds


MINUTES = Level("minutes", 60, 24 * 60)
HOURS = Level("hours", 3600, 30 * 24)
LEVELS = {"minute": MINUTES, "hour": HOURS}
# Instead of a lag: a node that waits on purpose, and a node without contact.
WAITS, AWAY = -1.0, inf
LAGS_KEPT_SECONDS = 2 * 3600


def roll_up(*, node_id: int) -> None:
    """Store every completed minute and hour once. Raise RedisError if Redis is unreachable."""
    source = stream_key(node_id)
    for level in (MINUTES, HOURS):
        _roll_up(source, level.key(node_id), level)
        source = level.key(node_id)


def points_of(node_id: int, level: Level | None, *, after: float = 0.0) -> list[Point]:
    """Return the node's points, oldest first, with gaps marked. If Redis is unreachable, return an empty list.

    If `level` is None, return the live points since the Unix time `after`, one per second. Otherwise ignore `after`.
    """
    if level is None:
        return telemetry.points(node_id, after=after)
    start = int(timezone.now().timestamp()) - level.seconds * level.kept
    try:
        entries = connection(settings.REDIS_URL).xrange(level.key(node_id), min=f"({start * 1000}-0")
    except RedisError:
        return []
    found: list[Point] = []
    for sample in map(sample_of, entries):
        if found and sample.at > found[-1].at + level.seconds:
            found.append(gap(found[-1].at + level.seconds))
        found.append(point(sample))
    return found


def last_minutes(node_ids: Sequence[int], count: int) -> list[list[Sample]]:
    """Return the last `count` minutes of each node, newest first, in one round trip. Without Redis, they are empty."""
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for node_id in node_ids:
        pipe.xrevrange(MINUTES.key(node_id), count=count)
    try:
        return [[sample_of(entry) for entry in entries] for entries in pipe.execute()]
    except RedisError:
        return [[] for _ in node_ids]


def lag_of(health: Health) -> float:
    """Return a node's lag in seconds, 0 if it lacks nothing, WAITS if it isn't allowed to get more, or AWAY."""
    special = {Word.OFFLINE: AWAY, Word.DRAINED: WAITS, Word.LIMITED: WAITS, Word.LIVE: 0.0}
    return special.get(health.word, health.lag_seconds)


def keep_lags(healths: Mapping[int, Health], *, now: datetime) -> None:
    """Store the nodes' lags for this minute, unless it has longer ones. If Redis is unreachable, do nothing.

    `healths` is keyed by node id.
    """
    lags = {node_id: lag_of(health) for node_id, health in healths.items() if health.word != Word.WAITING}
    key = f"lags:{int(now.timestamp()) // MINUTE}"
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    pipe.zadd(key, {0: 0, **{node_id: lag for node_id, lag in lags.items() if lag}}, gt=True)
    pipe.expire(key, LAGS_KEPT_SECONDS)
    with suppress(RedisError):
        pipe.execute()


def lags_of(minutes: Sequence[int]) -> list[dict[int, float] | None]:
    """Return the lags in each of these minutes of Unix time, keyed by node id, in one round trip.

    A minute is None if it wasn't checked, or if Redis is unreachable.
    """
    pipe = connection(settings.REDIS_URL).pipeline(transaction=False)
    for minute in minutes:
        pipe.zrange(f"lags:{minute}", 0, -1, withscores=True)
    try:
        return [{int(node_id): lag for node_id, lag in lags} if lags else None for lags in pipe.execute()]
    except RedisError:
        return [None] * len(minutes)


def _roll_up(source: str, target: str, level: Level) -> None:
    redis = connection(settings.REDIS_URL)
    done, newest = newest_in(target), newest_in(source)
    over = newest - newest % level.seconds  # the last end of a step before which all samples have arrived
    if over <= done:
        return
    entries = redis.xrange(source, min=f"({done * 1000}-0", max=f"{over * 1000}-0")
    pipe = redis.pipeline(transaction=False)
    for end, samples in groupby(map(sample_of, entries), key=lambda sample: level.end_of(sample.at)):
        step = _sum_of(samples, end=end)
        if step.seconds:
            pipe.xadd(target, entry_of(step), id=f"{end * 1000}-0", maxlen=level.kept, approximate=True)
    pipe.expire(target, level.seconds * level.kept)  # the data of a removed node expires
    pipe.execute()


def _sum_of(samples: Iterable[Sample], *, end: int) -> Sample:
    """Return one sample with summed counters, the mean latency, and the newest uptime and memory."""
    sums: Counter[str] = Counter()
    rcodes: Counter[str] = Counter()
    seconds, weighted = 0.0, 0.0
    newest = None
    for sample in samples:
        newest = sample
        if not sample.seconds:
            continue
        sums.update({name: getattr(sample, name) for name in _SUMMED})
        rcodes.update(sample.rcodes)
        seconds += sample.seconds
        weighted += sample.latency_us * sample.seconds
    return Sample(
        at=end,
        seconds=round(seconds, 3),
        uptime=newest.uptime if newest else 0,
        rcodes=dict(rcodes),
        latency_us=round(weighted / seconds) if seconds else 0,
        memory_bytes=newest.memory_bytes if newest else 0,
        **{name: sums[name] for name in _SUMMED},
    )
