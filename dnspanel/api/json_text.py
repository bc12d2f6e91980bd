"""Parse JSON for all APIs. Reject ambiguous JSON and values that can't be stored."""

import json
from collections import Counter
from typing import Any


def parse_json(text: str) -> Any:
    """Parse JSON text and return its value.

    Raise ValueError with the reason if the text isn't JSON or contains NaN, Infinity, a duplicate member, a lone
    surrogate or a zero byte. Raise RecursionError if the text is nested too deeply.
    """
    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object_of)
    if "\\u" in text:  # only escapes can create such characters
        _refuse_unstorable(value)
    return value


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with these members. Raise ValueError for a duplicate name, because one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the member “{twice[:60]}” is named twice in one object")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _refuse_unstorable(value: Any) -> None:
    """Raise ValueError if a string contains a lone surrogate or a zero byte, which PostgreSQL can't store."""
    if isinstance(value, str):
        if "\0" in value:
            raise ValueError("a text contains a zero byte")
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise ValueError("a text contains half a character")
    elif isinstance(value, dict):
        for key, member in value.items():
            _refuse_unstorable(key)
            _refuse_unstorable(member)
    elif isinstance(value, list):
        for member in value:
            _refuse_unstorable(member)
