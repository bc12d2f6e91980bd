"""Which processes of the panel are at work: each says so every few seconds, in PostgreSQL. Verbs."""

from datetime import datetime

from django.db import connection

from dnspanel.fleet.models import Heartbeat

# Names under which processes say that they are at work.
COLLECTOR = "collector"
WATCH = "watch"

_BEAT = """
INSERT INTO fleet_heartbeat (process, at) VALUES (%s, %s)
ON CONFLICT (process) DO UPDATE SET at = greatest(fleet_heartbeat.at, excluded.at)
"""


def beat(*, process: str, now: datetime) -> None:
    """The process was at work at `now`; an older moment changes nothing. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(_BEAT, [process, now])


def heartbeats() -> dict[str, datetime]:
    """When each process that ever was at work last was."""
    return dict(Heartbeat.objects.values_list("process", "at"))
