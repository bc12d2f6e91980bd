"""The JSON parser of all APIs. Ambiguous JSON and values that can't be stored never reach a view."""

import json
from collections import Counter
from typing import Any


def parse_json(text: str) -> Any:
    """Parse JSON text and return its value.

    Raise ValueError with the reason if the text is invalid: not JSON, NaN or Infinity, a member that is named twice, a
    lone surrogate, a zero byte. Raise RecursionError if it is nested too deeply.
    """
    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object_of)
    if "\\u" in text:  # only escapes can create such characters
        _refuse_unstorable(value)
    return value


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members. Raise ValueError for a duplicate name, because one value would be lost."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the member “{twice[:60]}” is named twice in one object")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _refuse_unstorable(value: Any) -> None:
    """Raise ValueError if a text has a lone surrogate or a zero byte, which PostgreSQL can't store."""
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
