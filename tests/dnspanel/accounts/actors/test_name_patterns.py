"""Tests of owner name patterns: matches, and the cost of hostile patterns."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.accounts.actors import name_patterns
from dnspanel.accounts.actors.name_patterns import MOST_STARS, NamePatterns, fault, stars

ZONE = "example.test."


def fits(pattern: str, name: str, zone: str = ZONE) -> bool:
    return NamePatterns([pattern]).fit(name, zone)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("_acme-challenge.www.example.test.", "_acme-challenge.www.example.test."),
        ("*.dyn.example.test.", "a.b.dyn.example.test."),
        ("@", ZONE),
        ("_acme-challenge", "_acme-challenge.example.test."),
        ("_acme-challenge*", "_acme-challenge.www.example.test."),
        ("*", "anything.at.all.example.test."),
        ("*", ZONE),
        ("**", "www.example.test."),
        ("WWW", "www.example.test."),
        (r"\*", "*.example.test."),
        (r"\*.sub", "*.sub.example.test."),
        (r"\**", "*.sub.example.test."),
        ("a*b*a", "aba.example.test."),
    ],
)
def test_a_pattern_fits(pattern: str, name: str) -> None:
    assert fits(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("_acme-challenge.www.example.test.", "x._acme-challenge.www.example.test."),
        ("*.dyn.example.test.", "dyn.example.test."),
        ("@", "www.example.test."),
        ("_acme-challenge", "_acme-challenge.www.example.test."),
        ("www", "www.sub.example.test."),
        ("w.w", "wxw.example.test."),  # a dot matches only a dot
        (r"\*", "www.example.test."),
        ("www.example.test.", "www.example.test.evil.test."),
        ("example.test.", "notexample.test."),
        ("ab*ba", "aba.example.test."),  # the first and the last piece must not overlap
        (r"a\.", r"a\..example.test."),  # ends in a dot, so it is an absolute name
        (r"*\.", r"a\..example.test."),
    ],
)
def test_a_pattern_does_not_fit(pattern: str, name: str) -> None:
    assert not fits(pattern, name)


def _naive(pattern: str, text: str) -> bool:
    """Match as the definition says: try every text that a star can match."""

    @cache
    def fit(p: int, t: int) -> bool:
        if p == len(pattern):
            return t == len(text)
        if pattern.startswith("\\*", p):
            return text.startswith("*", t) and fit(p + 2, t + 1)
        if pattern[p] == "*":
            return any(fit(p + 1, later) for later in range(t, len(text) + 1))
        return text.startswith(pattern[p].lower(), t) and fit(p + 1, t + 1)

    return fit(0, 0)


@given(
    st.lists(st.text("aAb.*\\", min_size=1, max_size=10), min_size=1, max_size=4),
    st.text("ab.*", min_size=1, max_size=10),
)
def test_it_decides_as_a_naive_matcher(patterns: list[str], text: str) -> None:
    name = f"{text}.zone."
    expected = any(_naive(each, name if each.endswith(".") else text) for each in patterns)
    assert NamePatterns(patterns).fit(name, "zone.") == expected


class CountedText(str):
    """A text that counts the characters that searches in it examine."""

    looked_through = 0

    def find(self, sub: str, start: int = 0, end: int | None = None) -> int:  # type: ignore[override]
        found = super().find(sub, start, end)
        CountedText.looked_through += (len(self) if found < 0 else found + len(sub)) - start
        return found


def test_a_hostile_pattern_looks_through_a_name_once() -> None:
    """A regular expression tried every split. A token's scope with twenty `*a` stopped both web workers."""
    text = CountedText("a" * 240 + "b")
    CountedText.looked_through = 0
    pieces = name_patterns._pieces("*a" * 20 + "*c*b")
    assert not name_patterns._fits(pieces, text)
    assert CountedText.looked_through <= len(text)


def test_stars_are_counted_as_they_cost() -> None:
    assert [stars(each) for each in ("www", r"\*", "*", "***", r"*\**", "a*b*c")] == [0, 0, 1, 1, 2, 2]
    assert fault("*a" * MOST_STARS) == ""
    assert fault("*a" * MOST_STARS + "*") == f"A pattern can have at most {MOST_STARS} asterisks: {'*a' * MOST_STARS}*"
