"""Sum up a node's history: minutes for one day and hours for thirty days, each when it is complete.

    minutes:<node id>  a Redis stream like `live:<node id>`; entry id: end of the minute; field `s`: a `Sample`
    hours:<node id>    the same with hours, summed from the minutes

A minute is complete when a later sample has arrived. This way, samples that an agent sends after an outage still count.
Times without samples are gaps.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.conf import settings
from django.utils import timezone
from redis.exceptions import RedisError

from dnspanel.fleet import telemetry
from dnspanel.fleet.telemetry import Point, connection, entry_of, gap, newest_in, point, sample_of, stream_key
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
