"""Tests of quiet hours: in the route's time zone, across midnight, and on days when daylight saving time changes."""

from datetime import UTC, datetime, time

import pytest

from dnspanel.quiet_hours import quiet_until


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("begin", "end", "zone", "now", "until"),
    [
        ("22:00", "07:00", "UTC", "2026-11-21T21:59", None),
        ("22:00", "07:00", "UTC", "2026-11-21T22:00", "2026-11-22T07:00"),
        ("22:00", "07:00", "UTC", "2026-11-22T06:59", "2026-11-22T07:00"),
        ("22:00", "07:00", "UTC", "2026-11-22T07:00", None),
        ("12:00", "13:00", "UTC", "2026-11-21T12:30", "2026-11-21T13:00"),
        ("12:00", "13:00", "UTC", "2026-11-21T23:30", None),
        # Berlin is an hour ahead in winter, two in summer.
        ("22:00", "07:00", "Europe/Berlin", "2026-11-21T21:00", "2026-11-22T06:00"),
        ("22:00", "07:00", "Europe/Berlin", "2026-07-01T20:00", "2026-07-02T05:00"),
        # The night when Berlin's clocks go back is an hour longer.
        ("22:00", "07:00", "Europe/Berlin", "2026-10-24T20:00", "2026-10-25T06:00"),
        # In Auckland it is already morning.
        ("22:00", "07:00", "Pacific/Auckland", "2026-11-21T12:00", "2026-11-21T18:00"),
    ],
)
def test_when_it_is_quiet_and_until_when(begin: str, end: str, zone: str, now: str, until: str | None) -> None:
    found = quiet_until(time.fromisoformat(begin), time.fromisoformat(end), zone, at(now))
    assert found == (at(until) if until else None)


@pytest.mark.parametrize(("begin", "end"), [(None, None), ("22:00", None), (None, "07:00"), ("07:00", "07:00")])
def test_without_two_different_ends_it_is_never_quiet(begin: str | None, end: str | None) -> None:
    ends = [time.fromisoformat(text) if text else None for text in (begin, end)]
    assert quiet_until(ends[0], ends[1], "UTC", at("2026-11-21T07:00")) is None
