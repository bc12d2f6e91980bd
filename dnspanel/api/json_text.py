"""JSON as both APIs read it: what means nothing, or cannot be stored, is refused before anybody looks at it."""

import json
from collections import Counter
from typing import Any


def parse_json(text: str) -> Any:
    """Return the value that the text says.

    Raise ValueError with what is wrong: no JSON, NaN and Infinity included, a member that is named twice, half a
    character, a zero byte; RecursionError if it is nested too deeply.
    """
    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object_of)
    if "\\u" in text:  # else there can be no such character
        _refuse_unstorable(value)
    return value


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object with these members; a second one of a name would silently take the place of the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the member “{twice[:60]}” is named twice in one object")
    return found


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _refuse_unstorable(value: Any) -> None:
    """Raise ValueError for a text that is not one: with half a character, or the one that PostgreSQL cannot store."""
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
