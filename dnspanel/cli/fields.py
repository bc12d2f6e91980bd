"""Parse the fields of a request: `key=value`, and `key[member]=value` or `key[]=value` for nested values."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dnspanel.cli.standard_input import read_text

_KEY = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)", re.ASCII)
_INSIDE = re.compile(r"\[([^\[\]]*)\]", re.ASCII)


def fields_of(texts: Iterable[str], typed: Iterable[str]) -> dict[str, Any]:
    """Convert the fields to a nested dictionary.

    The values of `texts` stay strings. The values of `typed` are parsed as JSON if possible. In `typed`, `@FILE` is
    replaced by the text of a file, and `@-` by standard input. Raise UsageError if a field is not `key=value` or
    conflicts with an earlier field.
    """
    found: dict[str, Any] = {}
    for text in texts:
        _set_value(found, *_split(text))
    for text in typed:
        key, value = _split(text)
        _set_value(found, key, _parse_value(value))
    return found


def _split(text: str) -> tuple[str, str]:
    key, sign, value = text.partition("=")
    if not sign or _KEY.fullmatch(key) is None:
        raise click.UsageError(f"{text} is not a field: write key=value, key[member]=value or key[]=value.")
    return key, value


def _parse_value(value: str) -> Any:
    if value.startswith("@"):
        return read_text(Path(value[1:]))
    try:
        return json.loads(value)
    except ValueError:
        return value


def _set_value(fields: dict[str, Any], key: str, value: Any) -> None:
    """Set a nested value. Raise UsageError if another field has set the key to a value of a different type."""
    matched = _KEY.fullmatch(key)
    assert matched is not None  # `_split` has checked it
    names = [matched[1], *_INSIDE.findall(matched[2])]
    place: Any = fields
    for name, inside in zip(names, [*names[1:], None], strict=True):
        is_list = name == "" and place is not fields
        if is_list != isinstance(place, list):
            raise click.UsageError(f"{key}: another field has the same name and is of another kind.")
        if inside is None:
            new = value
        elif is_list or name not in place:
            new = [] if inside == "" else {}
        else:
            new = place[name]
        if is_list:
            place.append(new)
        elif isinstance(place, dict):
            place[name] = new
        else:
            raise click.UsageError(f"{key}: another field has the same name and is of another kind.")
        place = new
