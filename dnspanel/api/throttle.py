"""Limit the requests per minute of each token, counted in Redis, or in this process while Redis is unreachable.

The APIs must work without Redis. Calls to Redis therefore have a short timeout and stop for a while after a failure.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil
from threading import Lock

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from limits.storage import MemoryStorage, RedisStorage
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import Token
from dnspanel.accounts.tokens.token_terms import request_limits

WINDOW = 60  # seconds
REDIS_ANSWERS_WITHIN = 0.1  # seconds
REDIS_LEFT_ALONE_FOR = 5.0  # seconds after a failure


@dataclass(frozen=True, slots=True)
class Allowance:
    """The number of requests that a token has left in the current window."""

    limit: int
    remaining: int
    reset: int  # seconds until the window ends
    exceeded: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The rate limit headers for every response: the three common headers and the headers from the IETF draft."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.reset),
            "RateLimit-Policy": f'"token";q={self.limit};w={WINDOW}',
            "RateLimit": f'"token";r={self.remaining};t={self.reset}',
        }


class Counters:
    """Counters by key and window, in Redis if possible. They never raise an error or block for long."""

    def __init__(self, redis_url: str) -> None:
        self._shared = RedisStorage(
            redis_url, socket_connect_timeout=REDIS_ANSWERS_WITHIN, socket_timeout=REDIS_ANSWERS_WITHIN
        )
        self._own = MemoryStorage()
        self._away_until = 0.0
        self._lock = Lock()

    def count(self, key: str, *, seconds: int = WINDOW, clock: Callable[[], float] = time.monotonic) -> int:
        """Count a call with this key. Return all processes' total, or this process's if Redis is unreachable.

        The count expires `seconds` after the key's first call.
        """
        if clock() >= self._away_until:
            try:
                return int(self._shared.incr(key, seconds))
            except RedisError:
                with self._lock:
                    self._away_until = clock() + REDIS_LEFT_ALONE_FOR
        return int(self._own.incr(key, seconds))


class TokenThrottle(BaseThrottle):
    """A throttle that rejects a token's requests above its limit, and stores its allowance on the request."""

    _reset = 0

    def allow_request(self, request: Request, view: object) -> bool:
        if not isinstance(request.auth, Actor) or request.auth.token is None:
            return True  # a view that needs no token
        allowance = spend_of(request.auth.token, now=time.time())
        request._request.allowance = allowance
        self._reset = allowance.reset
        return not allowance.exceeded

    def wait(self) -> float:
        return self._reset


class AllowanceHeadersMiddleware:
    """Middleware that adds the token's allowance to the response headers, if the request has a token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        allowance: Allowance | None = getattr(request, "allowance", None)
        if allowance is not None:
            for name, value in allowance.headers.items():
                response[name] = value
        return response


def spend_of(token: Token, *, now: float) -> Allowance:
    """Count a request for this token, and for the token whose limit it shares. Return the smaller allowance."""
    spent = [spend(f"token/{token_id}", limit, now=now) for token_id, limit in request_limits(token).items()]
    return min(spent, key=lambda each: (not each.exceeded, each.remaining))


def spend(key: str, limit: int, *, now: float) -> Allowance:
    """Count one request for this key and return the remaining allowance. Every window starts at a full minute."""
    window = int(now // WINDOW)
    count = counters().count(f"{key}/{window}")
    reset = max(1, ceil((window + 1) * WINDOW - now))
    return Allowance(limit, max(0, limit - count), reset, exceeded=count > limit)


@cache
def counters() -> Counters:
    """Return this process's counters."""
    return Counters(settings.REDIS_URL)
