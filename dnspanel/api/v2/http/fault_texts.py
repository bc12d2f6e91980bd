"""Format error messages about invalid values, with the value and the allowed values. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 60
_LONGEST_QUOTED = 60


def unknown_member(name: str, allowed: Iterable[str]) -> str:
    """Return the error message for an unknown member, with the allowed members and the most similar one."""
    allowed = sorted(allowed)
    if not allowed:
        return f"Unknown member {quote_text(name)}. This object accepts no members."
    return f"Unknown member {quote_text(name)}.{meant(name, allowed)} Allowed: {join_limited(allowed)}."


def read_only_member(name: str, allowed: Iterable[str]) -> str:
    """Return the error message for a read-only member in a request."""
    allowed = sorted(allowed)
    settable = f" Allowed: {join_limited(allowed)}." if allowed else ""
    return f"{quote_text(name)} is read-only: leave it out.{settable}"


def unknown_parameter(name: str, allowed: Iterable[str]) -> str:
    """Return the error message for an unknown query parameter, with the allowed and the most similar parameter."""
    allowed = sorted(allowed)
    if not allowed:
        return "This operation has no query parameters."
    return f"Unknown parameter {quote_text(name)}.{meant(name, allowed)} Allowed: {join_limited(allowed)}."


def must_be(pointer: str, needed: str, *, missing: bool = False) -> str:
    """Return the error message for a missing value or a value of the wrong type."""
    return f"{subject(pointer)} {'is required:' if missing else 'must be'} {needed}."


def not_a_choice(pointer: str, given: object, choices: Iterable[str]) -> str:
    """Return the error message for a value that isn't allowed, with all choices and the most similar choice."""
    choices = list(choices)
    if not isinstance(given, str):
        return must_be(pointer, f"one of {join_limited(choices)}")
    return f"{subject(pointer)} must be one of {join_limited(choices)}, not {quote_text(given)}.{meant(given, choices)}"


def subject(pointer: str) -> str:
    """Return the last member of a JSON pointer, with the index if it is in a list, as the subject of a sentence."""
    if not pointer:
        return "The body"
    parts = pointer.split("/")[1:]
    start = len(parts) - 1
    while start and parts[start].isdecimal():
        start -= 1
    return f"`{'/'.join(parts[start:])[: 2 * _LONGEST_QUOTED]}`"


def join_limited(words: Iterable[str]) -> str:
    """Join the first MOST_LISTED words with commas, and add "and N more" for the rest."""
    words = list(words)
    more = len(words) - MOST_LISTED
    return ", ".join(words[:MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")


def list_of(things: str, least: int | None, most: int | None) -> str:
    """Return a phrase that describes a list with these length limits."""
    if most is None:
        return f"a list of one or more {things}" if least else f"a list of {things}"
    return f"a list of {least} to {most:,} {things}" if least else f"a list of at most {most:,} {things}"


def meant(given: str, known: Iterable[str]) -> str:
    """Return a "did you mean" question with the most similar known name, or "" if no known name is similar."""
    close = get_close_matches(given[:_LONGEST_QUOTED].lower(), list(known), 1, 0.6)
    return f" Did you mean {quote_text(close[0])}?" if close else ""


def quote_text(text: str) -> str:
    """Return the client's text in quotes, shortened if it is long."""
    return f"“{text if len(text) <= _LONGEST_QUOTED else text[:_LONGEST_QUOTED] + '…'}”"
