"""The pickers for the times of a freeze."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone

from dnspanel.web.settings.freeze_times_form import FreezeTimesForm, pickers_of
from dnspanel.zones.governance.freeze_times import fault_of

FRIDAY = {"starts_at": "2099-07-03T18:00", "ends_at": "2099-07-06T06:00"}


def times_form(**fields: object) -> FreezeTimesForm:
    return FreezeTimesForm({**FRIDAY, **fields})


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({}, ""),
        ({"repeats": "FREQ=DAILY"}, ""),
        ({"repeat": "daily", "interval": "2"}, "FREQ=DAILY;INTERVAL=2"),
        ({"repeat": "weekly"}, "FREQ=WEEKLY"),
        ({"repeat": "weekly", "weekdays": ["MO", "FR"], "interval": "1"}, "FREQ=WEEKLY;BYDAY=MO,FR"),
        ({"repeat": "day", "month_day": "-1", "last_day": "2099-12-31"}, "FREQ=MONTHLY;BYMONTHDAY=-1;UNTIL=20991231"),
        ({"repeat": "weekday", "ordinal": "2", "weekday": "TU"}, "FREQ=MONTHLY;BYDAY=2TU"),
        ({"repeat": "rule", "repeats": " freq=monthly;bymonthday=1,15"}, "FREQ=MONTHLY;BYMONTHDAY=1,15"),
    ],
)
def test_pickers_make_a_rule_and_show_it_again(fields: dict[str, object], rule: str) -> None:
    form = times_form(**fields)
    assert form.is_valid(), form.errors
    assert form.times.repeats == rule
    assert not rule or fault_of(rule) == ""
    again = pickers_of(rule)
    assert again["repeat"] == fields.get("repeat", "")
    assert times_form(**{name: value or "" for name, value in again.items()}).is_valid()


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=MONTHLY",
        "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "FREQ=MONTHLY;BYDAY=1MO,3MO",
        "FREQ=MONTHLY;BYDAY=MO",
        "FREQ=DAILY;BYDAY=SA,SU",
        "FREQ=DAILY;INTERVAL=1",
    ],
)
def test_a_rule_that_no_picker_can_express_stays_text(rule: str) -> None:
    assert pickers_of(rule) == {"repeat": "rule", "repeats": rule}


def test_the_next_dates_are_those_of_clocks_in_the_chosen_time_zone() -> None:
    form = times_form(repeat="weekly", weekdays=["FR"], time_zone="Asia/Tokyo")
    with timezone.override("Europe/Berlin"):
        assert form.dates.problem == ""
        begin, end = form.dates.next[0]
    assert (begin, end) == (datetime(2099, 7, 3, 9, tzinfo=UTC), datetime(2099, 7, 5, 21, tzinfo=UTC))
    assert [begin.day for begin, _ in form.dates.next] == [3, 10, 17]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"ends_at": "2099-07-01T10:00"}, "after the start"),
        ({"ends_at": "2099-07-01T1"}, "valid date"),
        ({"repeat": "rule"}, "Enter a repeat rule"),
        ({"repeat": "rule", "repeats": "FREQ=YEARLY"}, "FREQ must be"),
        ({"repeat": "weekly", "weekdays": ["XX"]}, "XX"),
        ({"repeat": "daily", "last_day": "2099-01-01"}, "no dates in the future"),
    ],
)
def test_times_without_dates_give_the_reason(fields: dict[str, object], problem: str) -> None:
    assert problem in times_form(**fields).dates.problem


def test_dates_wait_for_a_start_and_an_end() -> None:
    assert times_form(starts_at="").dates.problem == ""
