"""The times of freezes: once, and repeated in a place's local time."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest

from dnspanel.zones.governance.freeze_times import fault_of, frozen_until, next_begin, periods
from dnspanel.zones.models import Freeze

HOUR = timedelta(hours=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def freeze(begin: str, hours: float, repeats: str = "", time_zone: str = "UTC") -> Freeze:
    starts_at = at(begin)
    ends_at = starts_at + timedelta(hours=hours)
    return Freeze(starts_at=starts_at, ends_at=ends_at, repeats=repeats, time_zone=time_zone)


def test_a_freeze_holds_from_its_first_moment_up_to_its_last() -> None:
    once = freeze("2026-07-01T10:00", 2)
    assert frozen_until(once, at("2026-07-01T09:59")) is None
    assert frozen_until(once, at("2026-07-01T10:00")) == at("2026-07-01T12:00")
    assert frozen_until(once, at("2026-07-01T12:00")) is None
    assert next_begin(once, at("2026-07-01T09:00")) == at("2026-07-01T10:00")
    assert next_begin(once, at("2026-07-01T10:00")) is None


def test_a_weekly_freeze_over_a_weekend_comes_again() -> None:
    weekend = freeze("2026-07-03T18:00", 60, "FREQ=WEEKLY;BYDAY=FR")
    assert frozen_until(weekend, at("2026-07-04T12:00")) == at("2026-07-06T06:00")
    assert frozen_until(weekend, at("2026-07-08T12:00")) is None
    assert frozen_until(weekend, at("2027-01-02T12:00")) == at("2027-01-04T06:00")
    assert next_begin(weekend, at("2026-07-08T12:00")) == at("2026-07-10T18:00")


def test_a_freeze_keeps_to_the_clocks_of_its_place_when_they_change() -> None:
    evening = freeze("2026-07-01T16:00", 1, "FREQ=DAILY", "Europe/Berlin")  # at 18:00 local time
    assert frozen_until(evening, at("2026-07-09T16:30")) == at("2026-07-09T17:00")
    assert frozen_until(evening, at("2026-12-09T16:30")) is None
    assert frozen_until(evening, at("2026-12-09T17:30")) == at("2026-12-09T18:00")


def test_a_period_ends_at_the_same_clock_time_when_clocks_change_in_it() -> None:
    # It lasted the same number of hours, so a weekend until Monday 6:00 ended at 5:00.
    weekend = freeze("2026-10-16T16:00", 60, "FREQ=WEEKLY;BYDAY=FR", "Europe/Berlin")
    autumn = at("2026-10-23T16:00"), at("2026-10-26T05:00")
    assert list(islice(periods(weekend, at("2026-10-26T04:30")), 1)) == [autumn]
    assert frozen_until(weekend, at("2026-10-26T04:30")) == autumn[1]
    assert frozen_until(weekend, autumn[1]) is None


def test_the_last_friday_of_each_month_until_a_day() -> None:
    last = freeze("2026-07-31T00:00", 24, "FREQ=MONTHLY;BYDAY=-1FR;UNTIL=20260901")
    assert frozen_until(last, at("2026-08-28T10:00")) is not None
    assert frozen_until(last, at("2026-09-25T10:00")) is None
    assert next_begin(last, at("2026-08-29T10:00")) is None


def test_the_last_day_of_a_rule_belongs_to_it() -> None:
    # A freeze at 18:00 ended a day early.
    evening = freeze("2026-07-01T18:00", 1, "FREQ=DAILY;UNTIL=20260702")
    assert list(periods(evening, at("2026-07-01T18:30"))) == [
        (at("2026-07-01T18:00"), at("2026-07-01T19:00")),
        (at("2026-07-02T18:00"), at("2026-07-02T19:00")),
    ]


@pytest.mark.parametrize(
    "repeats",
    [
        "FREQ=DAILY",
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=SA,SU",
        "FREQ=MONTHLY;BYMONTHDAY=1,-1",
        "FREQ=MONTHLY;BYDAY=1MO",
        "FREQ=DAILY;UNTIL=20270101",
    ],
)
def test_a_rule_of_these_parts_can_be(repeats: str) -> None:
    assert fault_of(repeats) == ""
    assert next_begin(freeze("2026-07-01T00:00", 1, repeats), at("2026-07-02T12:00")) is not None


@pytest.mark.parametrize(
    "repeats",
    [
        "FREQ=SECONDLY",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",  # never occurs, which takes long to find out
        "FREQ=MONTHLY;BYMONTHDAY=31",
        "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=MO",
        "FREQ=WEEKLY;BYDAY=1MO",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;INTERVAL=99999999999999999999",
        "FREQ=DAILY;UNTIL=20269999",
        "FREQ=DAILY;FREQ=DAILY",
        "FREQ=DAILY;COUNT=3",
        "nonsense",
        ";",
        "FREQ=DAILY;" + "X" * 300,
        "FREQ=DÄILY",
    ],
)
def test_a_rule_that_cannot_be_counted_quickly_is_refused(repeats: str) -> None:
    assert fault_of(repeats)
