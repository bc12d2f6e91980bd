"""Tests of the line count that runs before a text is parsed, for every kind of line ending."""

import pytest

from dnspanel.counted_lines import TooManyLines, counted_lines, numbered_lines
from tests.work import work_of


@pytest.mark.parametrize(
    "text", ["", "a", "a\n", "a\r\nb\rc\n\nd", "a\x0bb\x0cc\x85d\u2028e\u2029f", "\n\n", "a\r\n\r\nb"]
)
def test_lines_are_those_of_splitlines(text: str) -> None:
    assert list(numbered_lines(text)) == list(enumerate(text.splitlines(), 1))


def test_empty_lines_are_not_counted_but_numbered() -> None:
    assert counted_lines("a\n\n  \nb\n", 2) == [(1, "a"), (4, "b")]


def test_too_many_lines_are_refused_with_their_number() -> None:
    with pytest.raises(TooManyLines) as refused:
        counted_lines("a\n" * 83_000, 1_000)
    assert (refused.value.count, refused.value.most) == (83_000, 1_000)
    assert str(refused.value) == "Enter at most 1,000 lines, not 83,000."


@pytest.mark.parametrize("line", ["a\n", "\n", "a\n\n", "\u2028a"])
def test_a_text_that_is_too_long_costs_no_more_than_one_that_is_as_long_as_allowed(line: str) -> None:
    def read(times: int) -> None:
        with pytest.raises(TooManyLines):
            counted_lines(f"x{line * times}x", 1_000)

    assert (
        work_of(lambda: read(1_000_000)).steps <= 2 * work_of(lambda: counted_lines("a\n" * 1_000, 1_000)).steps + 100
    )
