"""Decode DNS messages of zone transfers into records, without an object for each name or rdata.

dnspython cannot be used: it does not expand compressed names in types that it has no class for (MB, MINFO).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from dnspanel.texts import gettext
from replication.dns import names, rdtypes
from replication.dns.compression import BadCompression, expand_rdata, name_at
from replication.errors import BadName

_HEADER = struct.Struct("!HHHHHH")
_FIXED = struct.Struct("!HHIH")
_RESPONSE, _OPCODE, _RCODE = 0x8000, 0x7800, 0x000F
_POINTER = 0xC0
TSIG = 250


class BadMessage(ValueError):
    """Raised if bytes are not a valid DNS message. The error's text is a part of a sentence."""


class Record(NamedTuple):
    """One record, with its canonical owner name and its rdata, in which all names are uncompressed."""

    name: str
    type: int
    ttl: int
    rdata: bytes


class _Place(NamedTuple):
    """A record's type, TTL and offsets in its message."""

    start: int
    type: int
    ttl: int
    rdata: int
    end: int


class Message:
    """One DNS message. The constructor raises BadMessage if the sections are invalid or do not match the header."""

    def __init__(self, wire: bytes) -> None:
        self.wire = wire
        self._names: dict[int, bytes] = {}
        self._texts: dict[bytes, str] = {}
        try:
            self.id, self.flags, questions, answers, authorities, more = _HEADER.unpack_from(wire)
            at = _HEADER.size
            self.question: tuple[str, int] | None = None
            for _ in range(questions):
                name, at = self._name(at)
                self.question = (self._text(name), int.from_bytes(wire[at : at + 2], "big"))
                at += 4
            places = []
            for _ in range(answers + authorities + more):
                place = self._place(at)
                places.append(place)
                at = place.end
        except (struct.error, IndexError) as exc:
            raise BadMessage(gettext("the message ends too early")) from exc
        if at != len(wire):
            raise BadMessage(gettext("the message has extra bytes at the end"))
        self._answers = places[:answers]
        # A signature must be the last record.
        self.signature = places[-1] if places and places[-1].type == TSIG and answers < len(places) else None

    @property
    def rcode(self) -> int:
        return int(self.flags & _RCODE)

    @property
    def is_response(self) -> bool:
        """True if the message is a response to a standard query."""
        return bool(self.flags & _RESPONSE) and not self.flags & _OPCODE

    def answers(self) -> Iterator[Record]:
        """Yield the records of the answer section, in the message's order. Raise BadMessage if a record is invalid."""
        try:
            for place in self._answers:
                owner, _ = self._name(place.start)
                yield Record(self._text(owner), place.type, place.ttl, self._rdata(place))
        except (struct.error, IndexError) as exc:
            raise BadMessage(gettext("a record ends too early")) from exc

    def owner(self, place: _Place) -> str:
        return self._text(self._name(place.start)[0])

    def _place(self, at: int) -> _Place:
        start = at
        length = self.wire[at]
        while 0 < length < _POINTER:
            at += 1 + length
            length = self.wire[at]
        at += 2 if length >= _POINTER else 1
        type, _, ttl, size = _FIXED.unpack_from(self.wire, at)
        begin = at + _FIXED.size
        if begin + size > len(self.wire):
            raise BadMessage(gettext("a record is longer than the message"))
        return _Place(start, type, ttl, begin, begin + size)

    def _rdata(self, place: _Place) -> bytes:
        if place.type == rdtypes.NAPTR:
            return self._naptr(place)
        try:
            return expand_rdata(self.wire, place.rdata, place.end, place.type, self._names)[0]
        except BadCompression as exc:
            raise BadMessage(str(exc)) from exc

    def _naptr(self, place: _Place) -> bytes:
        at = place.rdata + 4
        for _ in range(3):
            at += 1 + self.wire[at]
        name, end = self._name(at)
        if end != place.end:
            raise BadMessage(gettext("a name is longer than the record"))
        return self.wire[place.rdata : at] + name

    def _name(self, at: int) -> tuple[bytes, int]:
        """Return the uncompressed name at an offset, and the offset after it. Raise BadMessage if it is invalid."""
        try:
            return name_at(self.wire, at, self._names)
        except BadCompression as exc:
            raise BadMessage(str(exc)) from exc

    def _text(self, name: bytes) -> str:
        text = self._texts.get(name)
        if text is None:
            try:
                text = self._texts[name] = names.from_wire(name)
            except BadName as exc:
                raise BadMessage(str(exc)) from exc
        return text
