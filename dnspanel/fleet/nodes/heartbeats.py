"""Record and read the heartbeats of the panel's processes, and the answers of queues to beat's roll call. Verbs."""

from collections.abc import Mapping
from datetime import datetime

from dnspanel.database.sql import execute
from dnspanel.fleet.models import Heartbeat

# Names under which processes report that they are working.
COLLECTOR = "collector"
WATCH = "watch"
# Since when heartbeats have been watched without a break. A process is silent only if it was silent for that long.
WATCH_SINCE = "watch-since"
# The last time that Redis didn't answer.
REDIS_AWAY = "redis-away"
# The last time that a backup drill found no fault.
DRILL = "drill"
# The last time that a process with this name shut down cleanly.
LEFT = "left-"
# The last answer of a queue to the roll call of beat.
_QUEUE = "queue-"

_BEAT = """
INSERT INTO fleet_heartbeat (process, at) VALUES (%s, %s)
ON CONFLICT (process) DO UPDATE SET at = greatest(fleet_heartbeat.at, excluded.at)
"""


def beat(*, process: str, now: datetime) -> None:
    """Record that the process was running at `now`. A time before the recorded one changes nothing."""
    execute(_BEAT, [process, now])


def heartbeats() -> dict[str, datetime]:
    """Return all last heartbeats, keyed by name. The names include queues and events such as REDIS_AWAY."""
    return dict(Heartbeat.objects.values_list("process", "at"))


def answer_roll(*, queue: str, now: datetime) -> None:
    """Record, in one SQL statement, that a worker of this queue answered the roll call at `now`."""
    beat(process=f"{_QUEUE}{queue}", now=now)


def answers_in(beats: Mapping[str, datetime]) -> dict[str, datetime]:
    """Return each queue's last answer to the roll call from these heartbeats."""
    return {name.removeprefix(_QUEUE): at for name, at in beats.items() if name.startswith(_QUEUE)}
