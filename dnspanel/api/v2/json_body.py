"""Reading a JSON body strictly: what cannot be stored, or means nothing, is refused before anybody looks at it."""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.parsers import BaseParser

from dnspanel.api.v2.problems import Problem


class StrictJSONParser(BaseParser):
    """JSON without NaN and Infinity, without half characters and zero bytes, and not nested without end."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        try:
            text = stream.read().decode()
            value = json.loads(text, parse_constant=_refuse_constant)
            if "\\u" in text:  # else there can be no such character
                _refuse_unstorable(value)
        except (ValueError, RecursionError) as exc:
            raise Problem("malformed", f"The body is not usable JSON: {_why(exc)}.") from exc
        return value


class MergePatchParser(StrictJSONParser):
    """The same under the name that RFC 7386 gives to a partial object."""

    media_type = "application/merge-patch+json"


def _why(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    if isinstance(exc, UnicodeDecodeError):
        return f"byte {exc.start} is not UTF-8"
    return str(exc).rstrip(".")


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _refuse_unstorable(value: Any) -> None:
    """ValueError for a text that is not one: with half a character, or the one that PostgreSQL has no place for."""
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
