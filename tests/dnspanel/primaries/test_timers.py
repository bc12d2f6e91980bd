"""Tests of the bounds of a SOA's refresh, retry and expire."""

from datetime import timedelta

import pytest

from dnspanel.primaries.timers import MOST_FIRST_RETRY, Timers, due_after_failure, first_retry
from replication.dns import rdtypes
from replication.dns.rrset import make
from tests.people import NOW

HOUR, DAY = 3600, 86_400


@pytest.mark.parametrize(
    ("numbers", "seconds"),
    [
        ("3600 600 86400", (HOUR, 600, DAY)),
        ("1 1 1", (60, 30, 90)),
        ("2147483647 2147483647 2147483647", (DAY, 6 * HOUR, 60 * DAY)),
        ("600 3600 86400", (600, 600, DAY)),
    ],
    ids=["within", "short", "long", "retry-after-refresh"],
)
def test_a_soa_is_taken_within_bounds(numbers: str, seconds: tuple[int, int, int]) -> None:
    soa = make("a.test.", rdtypes.SOA, 60, [f"ns.a.test. h.a.test. 1 {numbers} 60"])
    refresh, retry, expire = (timedelta(seconds=each) for each in seconds)
    assert Timers.of(soa) == Timers(refresh, retry, expire)
    assert due_after_failure(Timers.of(soa), 5, NOW) == NOW + retry


def test_a_zone_that_never_came_is_asked_for_less_and_less() -> None:
    assert [first_retry(failures).total_seconds() for failures in (1, 2, 3)] == [10, 20, 40]
    assert first_retry(1_000_000) == MOST_FIRST_RETRY
    assert due_after_failure(None, 1, NOW) == NOW + timedelta(seconds=10)
