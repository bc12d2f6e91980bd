"""The axis of the calendar: marks in units of the picture, and the months."""

from datetime import UTC, datetime, timedelta

from dnspanel.web.calendar.events import Event, Kind, Window
from dnspanel.web.calendar.pages import lanes_of, months_of, x_of

BEGIN = datetime(2026, 11, 21, tzinfo=UTC)
WINDOW = Window(BEGIN, BEGIN + timedelta(days=100), 40)


def event(day: float, kind: Kind = Kind.KEY, until: float | None = None) -> Event:
    end = None if until is None else BEGIN + timedelta(days=until)
    return Event(BEGIN + timedelta(days=day), f"k{day}", kind, "", "/", end)


def test_times_have_places_and_are_kept_inside() -> None:
    assert [x_of(BEGIN + timedelta(days=day), WINDOW) for day in (-5, 0, 50, 100, 500)] == [0, 0, 500, 1000, 1000]


def test_events_close_together_share_a_mark() -> None:
    [marks] = lanes_of([event(50), event(50.1), event(60)], WINDOW).values()
    assert [(x, width, len(here)) for x, width, here in marks] == [(498, 6, 2), (600, 6, 1)]


def test_many_events_have_few_marks() -> None:
    [marks] = lanes_of([event(number / 100) for number in range(10_000)], WINDOW).values()
    assert len(marks) <= 167


def test_a_period_is_as_long_as_it_lasts_within_the_window() -> None:
    early, late, last = event(-3, Kind.FREEZE, 2), event(96, Kind.FREEZE, 200), event(99.99)
    lanes = lanes_of([early, late, last], WINDOW)
    assert lanes == {Kind.FREEZE: [(0, 20, [early]), (960, 40, [late])], Kind.KEY: [(994, 6, [last])]}


def test_months_over_the_end_of_the_year() -> None:
    assert [(x, f"{month:%Y-%m}") for x, month in months_of(WINDOW)] == [
        ("10.0%", "2026-12"),
        ("41.0%", "2027-01"),
        ("72.0%", "2027-02"),
    ]
