"""Check that Redis answers and accepts a write. A full Redis answers PING but refuses every task."""

from enum import StrEnum
from functools import cache
from typing import Any

from django.conf import settings
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

# All processes write this key, which has one byte. It expires when no process checks Redis any longer.
_KEY = "dnspanel:write-test"
_KEY_SECONDS = 60
ANSWERS_WITHIN = 1.0  # seconds


class RedisProblem(StrEnum):
    AWAY = "away"  # no connection, or no answer in time
    FULL = "full"  # maxmemory is reached
    REFUSES = "refuses"  # writes are refused for another reason, for example by a replica


def redis_problem() -> RedisProblem | None:
    """Return the current problem with Redis, or None if it accepts a write. Takes at most two seconds."""
    return explained_problem()[0]


def explained_problem() -> tuple[RedisProblem | None, str]:
    """Return the problem and the message from Redis or the connection, or (None, "") if Redis accepts a write."""
    try:
        quick_connection(settings.REDIS_URL).set(_KEY, "1", ex=_KEY_SECONDS)
    except ResponseError as exc:
        return RedisProblem.FULL if "maxmemory" in str(exc) else RedisProblem.REFUSES, str(exc)
    except (RedisError, OSError) as exc:
        return RedisProblem.AWAY, str(exc)
    return None, ""


@cache
def quick_connection(url: str) -> Any:
    """Return a connection that gives up after ANSWERS_WITHIN seconds, and doesn't try again."""
    return Redis.from_url(
        url, socket_connect_timeout=ANSWERS_WITHIN, socket_timeout=ANSWERS_WITHIN, retry=Retry(NoBackoff(), 0)
    )
