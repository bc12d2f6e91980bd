"""Create texts that can be rendered again in another language: an English message with its values. Pure.

    text                                       stored form
    gettext("{name} is gone.").format(name=x)  {"text":"{name} is gone.","values":{"name":"ns1"}}
    ngettext("1 zone", "{n} zones", 2)         {"text":["1 zone","{n} zones",2], …}
    joined(" ", texts)                         {"text":"{a} {b}","values":{"a":{…},"b":{…}}}
    any other string                           unchanged

A `Text` is a string in the current language. On nodes, and without a chosen language, that is English; `translate_by`
adds the panel's catalogs. A Text also contains its message and values. `format_text` can therefore store it without a
language, and `parse_text` renders it in each reader's language. The result of a string operation on a Text (a slice, or
a concatenation) is a plain string and stays in its language.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache
from typing import Any

# The English text, its plural or "", and the number.
Translate = Callable[[str, str, int], str]

_BEGINNING = '{"text":'
_MOST_NESTED = 8
_MESSAGES = 8_000  # more than exist
_PLAIN = frozenset((str, int))  # values that are inserted unchanged
# Placeholders of our messages: no attributes or items of values, and only short format specifications.
_PLACEHOLDERS = re.compile(r"(?:[^{}]|\{\{|\}\}|\{[a-z_]\w*(?:![ars])?(?::[%,.\-:\w ]{0,20})?\})*", re.ASCII)
_WIDE = re.compile(r":[^{}%]{0,17}\d{3}", re.ASCII)


def english_form(english: str, plural: str, number: int) -> str:
    """Return the singular or plural English form of a message for this number."""
    return plural if plural and number != 1 else english


def _english() -> Translate:
    return english_form


_of_this_moment: Callable[[], Translate] = _english
_of_block: ContextVar[Translate | None] = ContextVar("the language of a block", default=None)


def translate_by(of_this_moment: Callable[[], Translate]) -> None:
    """Set the function that returns this process's translator for the current language."""
    global _of_this_moment
    _of_this_moment = of_this_moment


@contextmanager
def one_language() -> Iterator[None]:
    """Use the current language for all messages created inside the block.

    The language is looked up once, because a lookup costs more than creating a message.
    """
    token = _of_block.set(_of_this_moment())
    try:
        yield
    finally:
        _of_block.reset(token)


class Text(str):
    """A message in the current language, plus its English form and its values. `values` is None before formatting."""

    __slots__ = ("english", "number", "plural", "values")

    english: str
    plural: str
    number: int
    values: "Mapping[str, Any] | None"

    def __str__(self) -> "Text":
        return self  # so that an error's text is still one

    def format(self, *args: object, **values: object) -> str:
        """Format the message with these named values.

        Texts among the values are translated together with the message. If positional values are given, the result is a
        plain string, which stays in its language.
        """
        if args:
            return str.format(self, *args, **values)
        return _text(self.english, self.plural, self.number, values)


def gettext(english: str) -> str:
    """Return the message in the current language."""
    translate = _of_block.get() or _of_this_moment()
    return _in_english(english) if translate is english_form else _text(english, "", 1, None, translate)


def ngettext(english: str, plural: str, number: int) -> str:
    """Return the message's singular or plural form for this number, in the current language."""
    return _text(english, plural, number, None)


def gettext_noop(english: str) -> str:
    """Return the English text unchanged, to mark it for extraction. `gettext` translates it later."""
    return english


def joined(separator: str, texts: Iterable[object]) -> str:
    """Join parts into one Text. A part that is not a Text is not translated."""
    parts = list(texts)
    names = [f"part{number}" for number in range(len(parts))]
    message = separator.replace("{", "{{").replace("}", "}}").join(f"{{{name}}}" for name in names)
    return _text(message, "", 1, dict(zip(names, parts, strict=True)))


def shortened(text: str, most: int) -> str:
    """Cut a string to at most `most` characters. A shortened `Text` becomes a plain string."""
    return text if len(text) <= most else text[:most]


def spoken(text: str) -> str:
    """Render a Text in the current language, even if it was created in another one. Return other strings unchanged."""
    return _text(text.english, text.plural, text.number, text.values) if isinstance(text, Text) else text


def in_english(text: str) -> str:
    """Render a Text in English, whatever the current language is. Return other strings unchanged."""
    if not isinstance(text, Text):
        return text
    return _render_text(text.english, text.plural, text.number, text.values, english_form)


def with_value(text: str, name: str, value: object) -> str:
    """Replace a Text's value with this name, also in nested Texts. Return other strings unchanged."""
    if not isinstance(text, Text) or text.values is None:
        return text
    values = {
        each: value if each == name else with_value(old, name, value) if isinstance(old, str) else old
        for each, old in text.values.items()
    }
    return _text(text.english, text.plural, text.number, values)


def format_text(text: str) -> str:
    """Return a Text's stored form, which has no language. Escape any other string if it looks like a stored form."""
    if isinstance(text, Text):
        return json.dumps(_to_json(text), separators=(",", ":"))
    if text.startswith(_BEGINNING):  # another program's text, which must not be mistaken for ours
        return format_text(joined("", [text]))
    return text


def parse_text(stored: str) -> str:
    """Render a stored Text in the current language. Return other stored strings unchanged. Never raise."""
    if not stored.startswith(_BEGINNING):
        return stored
    try:
        return _from_json(json.loads(stored), _MOST_NESTED)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return stored


@lru_cache(_MESSAGES)
def _in_english(english: str) -> Text:
    """Return the message in English, before formatting. Cached, because many checks use the same messages."""
    return _text(english, "", 1, None, english_form)


def _text(
    english: str, plural: str, number: int, values: Mapping[str, Any] | None, translate: Translate | None = None
) -> Text:
    if values is not None and not _PLAIN.issuperset(map(type, values.values())):
        values = {name: str(value) if isinstance(value, Exception) else value for name, value in values.items()}
    translate = translate or _of_block.get() or _of_this_moment()
    made = Text(_render_text(english, plural, number, values, translate))
    made.english, made.plural, made.number, made.values = english, plural, number, values
    return made


def _render_text(english: str, plural: str, number: int, values: Mapping[str, Any] | None, translate: Translate) -> str:
    message = translate(english, plural, number)
    if values is None:
        return message
    if _PLAIN.issuperset(map(type, values.values())):
        return str.format(message, **values)
    return str.format(message, **{name: _render_value(value, translate) for name, value in values.items()})


def _render_value(value: object, translate: Translate) -> object:
    if isinstance(value, Text):
        return _render_text(value.english, value.plural, value.number, value.values, translate)
    return value


def _to_json(text: Text) -> dict[str, Any]:
    message = [text.english, text.plural, text.number] if text.plural else text.english
    if text.values is None:
        return {"text": message}
    return {"text": message, "values": {name: _value_to_json(value) for name, value in text.values.items()}}


def _value_to_json(value: object) -> object:
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if value is None or isinstance(value, bool | int | float):
        return value
    said = str(value)  # a lazy value becomes a Text here too
    return _to_json(said) if isinstance(said, Text) else said


def _from_json(stored: Mapping[str, Any], most_nested: int) -> Text:
    message = stored["text"]
    english, plural, number = (message, "", 1) if isinstance(message, str) else message
    if most_nested == 0 or not all(map(_is_message, (english, plural))):
        raise ValueError
    values = stored.get("values")
    if values is not None:
        values = {str(name): _value_from_json(value, most_nested - 1) for name, value in values.items()}
    try:
        return _text(english, plural, int(number), values)
    except (ValueError, TypeError, KeyError, IndexError):  # the translation is wrong; the message is English
        return _text(english, plural, int(number), values, english_form)


def _is_message(message: object) -> bool:
    return isinstance(message, str) and _PLACEHOLDERS.fullmatch(message) is not None and not _WIDE.search(message)


def _value_from_json(value: Any, most_nested: int) -> object:
    if not isinstance(value, dict):
        return value
    if "time" in value:
        return datetime.fromisoformat(value["time"])
    return _from_json(value, most_nested)
