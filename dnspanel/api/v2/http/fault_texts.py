"""Sentences about values that a request cannot have: each names the value and says what can be there. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 60
_LONGEST_QUOTED = 60


def unknown_member(name: str, allowed: Iterable[str]) -> str:
    """Say that an object has no such member, which one was probably meant, and which it has."""
    allowed = sorted(allowed)
    if not allowed:
        return f"Unknown member {quote_text(name)}: this object has no members."
    return f"Unknown member {quote_text(name)}.{meant(name, allowed)} Allowed: {join_limited(allowed)}."


def read_only_member(name: str, allowed: Iterable[str]) -> str:
    """Say that a member is in answers only."""
    allowed = sorted(allowed)
    settable = f" Allowed: {join_limited(allowed)}." if allowed else ""
    return f"{quote_text(name)} is read-only: leave it out.{settable}"


def unknown_parameter(name: str, allowed: Iterable[str]) -> str:
    """Say that an operation has no such query parameter, and which it has."""
    allowed = sorted(allowed)
    if not allowed:
        return "This operation has no query parameters."
    return f"Unknown parameter {quote_text(name)}.{meant(name, allowed)} Allowed: {join_limited(allowed)}."


def must_be(pointer: str, needed: str, *, missing: bool = False) -> str:
    """Say what a value must be, or that it is missing."""
    return f"{subject(pointer)} {'is required:' if missing else 'must be'} {needed}."


def not_a_choice(pointer: str, given: object, choices: Iterable[str]) -> str:
    """Say that a value is none of the choices, which one was probably meant, and all choices."""
    choices = list(choices)
    if not isinstance(given, str):
        return must_be(pointer, f"one of {join_limited(choices)}")
    return f"{subject(pointer)} must be one of {join_limited(choices)}, not {quote_text(given)}.{meant(given, choices)}"


def subject(pointer: str) -> str:
    """Return how a sentence names the value at a pointer: by its member, and by its place in a list."""
    if not pointer:
        return "The body"
    parts = pointer.split("/")[1:]
    start = len(parts) - 1
    while start and parts[start].isdecimal():
        start -= 1
    return f"`{'/'.join(parts[start:])[: 2 * _LONGEST_QUOTED]}`"


def join_limited(words: Iterable[str]) -> str:
    """Return the words with commas between them, the first MOST_LISTED."""
    words = list(words)
    more = len(words) - MOST_LISTED
    return ", ".join(words[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def list_of(things: str, least: int | None, most: int | None) -> str:
    """Return how a sentence describes a list with these numbers of things."""
    if most is None:
        return f"a list of one or more {things}" if least else f"a list of {things}"
    return f"a list of {least} to {most:,} {things}" if least else f"a list of at most {most:,} {things}"


def meant(given: str, known: Iterable[str]) -> str:
    """Return a question about the one of these that is spelled much like this; nothing without such a word."""
    close = get_close_matches(given[:_LONGEST_QUOTED].lower(), list(known), 1, 0.6)
    return f" Did you mean {quote_text(close[0])}?" if close else ""


def quote_text(text: str) -> str:
    """Return a text of the client as sentences show it, with its end cut off where it is long."""
    return f"“{text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + '…'}”"
