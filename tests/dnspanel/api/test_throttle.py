"""Tests of the request limit of a token: separate counters, headers in every answer, and a failed Redis."""

import dataclasses
import time

import pytest
from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.api import throttle
from dnspanel.zones.models import Zone
from tests.dnspanel.api.v2.conftest import *  # noqa: F403
from tests.dnspanel.api.v2.conftest import MakeCaller
from tests.people import NOW

DEAD_REDIS = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _no_counts() -> None:
    """Delete all counters: tokens of other tests had the same ids."""
    redis = Redis.from_url(settings.REDIS_URL)
    for key in redis.scan_iter("LIMITS*"):
        redis.delete(key)


@pytest.mark.django_db
def test_every_answer_says_what_is_left_until_nothing_is(make_caller: MakeCaller, zone: Zone) -> None:
    wait_for_a_new_minute_if_this_one_ends()
    call = make_caller(requests_per_minute=3)
    for left, path in ((2, "/zones"), (1, "/none"), (0, "/zones?limit=x")):
        answer = call("GET", path)
        assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("3", str(left))
        assert 1 <= int(answer["RateLimit-Reset"]) <= 60
    answer = call("GET", "/zones")
    assert (answer.status_code, answer["RateLimit-Remaining"]) == (429, "0")
    assert answer["Retry-After"] == answer["RateLimit-Reset"]
    assert answer["RateLimit-Policy"] == '"token";q=3;w=60'
    v1 = call("GET", "/api/v1/servers")
    assert (v1.status_code, v1["RateLimit-Remaining"]) == (429, "0")


@pytest.mark.django_db
def test_one_token_does_not_use_up_what_another_has(make_caller: MakeCaller) -> None:
    spent, fresh = make_caller(requests_per_minute=1), make_caller(requests_per_minute=1)
    assert [spent("GET", "/zones").status_code for _ in range(2)][1] == 429
    assert fresh("GET", "/zones").status_code == 200


@pytest.mark.django_db
def test_making_and_rotating_tokens_does_not_multiply_a_limit(alice: User) -> None:
    wait_for_a_new_minute_if_this_one_ends()
    terms = TokenTerms("CI", (Grant(EVERY_RIGHT, everywhere=True),), requests_per_minute=4)
    first = tokens.create_token(owner=alice, terms=terms, by=alice, now=NOW)
    by = tokens.actor_by_secret(secret=first.secret, address=None, now=NOW)
    child = tokens.create_token(owner=alice, terms=dataclasses.replace(terms, requests_per_minute=2), by=by, now=NOW)
    second = tokens.rotate_token(token=first.token, by=by, now=NOW)
    now = time.time()
    spent = [throttle.spend_of(token, now=now) for token in (child.token, child.token, child.token, second.token)]
    assert [each.exceeded for each in spent] == [False, False, True, False]
    assert throttle.spend_of(first.token, now=now).exceeded
    assert throttle.spend_of(second.token, now=now).exceeded


def test_a_window_is_the_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = throttle.Counters(DEAD_REDIS)
    monkeypatch.setattr(throttle, "counters", lambda: counters)
    assert throttle.spend("k", 1, now=6000.5) == throttle.Allowance(1, 0, 60)
    assert throttle.spend("k", 1, now=6059.5) == throttle.Allowance(1, 0, 1, exceeded=True)
    assert throttle.spend("k", 1, now=6060.0) == throttle.Allowance(1, 0, 60)


def test_a_dead_redis_costs_one_short_wait_and_counting_goes_on() -> None:
    counters = throttle.Counters(DEAD_REDIS)
    begun = time.monotonic()
    assert [counters.count("k") for _ in range(100)] == list(range(1, 101))
    assert time.monotonic() - begun < 3  # a hundred waits would be ten seconds


def test_redis_is_asked_again_after_a_while() -> None:
    calls = []

    class Shared:
        def incr(self, key: str, expiry: int) -> int:
            calls.append(key)
            if len(calls) == 1:
                raise RedisError("away")
            return 41

    now = 100.0
    counters = throttle.Counters(DEAD_REDIS)
    counters._shared = Shared()  # type: ignore[assignment]
    assert counters.count("k", clock=lambda: now) == 1
    assert counters.count("k", clock=lambda: now + throttle.REDIS_LEFT_ALONE_FOR / 2) == 2
    assert counters.count("k", clock=lambda: now + throttle.REDIS_LEFT_ALONE_FOR) == 41
    assert len(calls) == 2


def test_counting_takes_little_time() -> None:
    throttle.spend("k", 10, now=time.time())
    begun = time.process_time()
    for _ in range(500):
        throttle.spend("k", 10, now=time.time())
    assert (time.process_time() - begun) / 500 < 0.002


def wait_for_a_new_minute_if_this_one_ends() -> None:
    """Wait for the next minute if less than 3 seconds are left, so that all requests are in one window."""
    left = throttle.WINDOW - time.time() % throttle.WINDOW
    if left < 3:
        time.sleep(left)
