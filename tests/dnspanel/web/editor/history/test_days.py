"""Dates in URLs, and texts that are not dates."""

from datetime import UTC, datetime

import pytest

from dnspanel.web.editor.history.days import day_of


def test_a_day_begins_at_midnight_and_as_the_last_one_ends_there() -> None:
    assert day_of("2026-11-21") == datetime(2026, 11, 21, tzinfo=UTC)
    assert day_of("2026-12-31", last=True) == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "x", "2026-02-31", "0001-01-01", "9999-12-31", "2026-11-21T10:00"])
def test_what_is_no_day_is_no_filter(text: str) -> None:
    assert day_of(text) is None
