"""Tests of durations in messages."""

from datetime import timedelta

import pytest

from dnspanel.texts import duration_text


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (7199, "119 min"),
        (7200, "2 h"),
        (172_799, "47 h"),
        (172_800, "2 days"),
    ],
)
def test_a_duration_has_the_unit_that_says_enough(seconds: int, expected: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == expected
