"""Read and write Boost binary archives without their header, limited to the features that PowerDNS uses. Pure.

    class header   00, u32 LE class version; only the first time a class appears in one value
    string         u64 LE byte count, bytes
    numbers        raw, little endian: i64, u32, u8
    name           string with the lowercase wire form; empty string when unset

The bytes are identical for Boost 1.74, 1.83 and 1.92.
"""

import struct

from replication.dns import names
from replication.errors import BadBytes

_U64 = struct.Struct("<Q")
_CLASS = struct.Struct("<BI")


def encode_class(version: int) -> bytes:
    """Encode the header of a class with this version."""
    return _CLASS.pack(0, version)


def encode_string(text: bytes) -> bytes:
    """Encode a byte string with its length."""
    return _U64.pack(len(text)) + text


def encode_name(name: str) -> bytes:
    """Encode a name. An empty string encodes an unset name."""
    return encode_string(names.to_wire(name) if name else b"")


class Reader:
    """A reader of one value, field by field. Methods raise BadBytes (`name` also BadName) if bytes are invalid."""

    def __init__(self, body: bytes, what: str) -> None:
        self._body = bytes(body)
        self._at = 0
        self._what = what

    def number(self, layout: struct.Struct) -> int:
        """Read one number with this struct layout."""
        value: int = layout.unpack(self.take(layout.size))[0]
        return value

    def class_version(self, known: tuple[int, ...]) -> int:
        """Read the version of a class header. Raise BadBytes unless it is one of `known`."""
        tracking, version = _CLASS.unpack(self.take(_CLASS.size))
        if tracking != 0 or version not in known:
            raise self._bad(f"class version {version} is unknown")
        return int(version)

    def string(self) -> bytes:
        return self.take(self.number(_U64))

    def text(self) -> str:
        """Read a UTF-8 string."""
        try:
            return self.string().decode()
        except UnicodeDecodeError as exc:
            raise self._bad("a text is not UTF-8") from exc

    def name(self) -> str:
        """Read a name, or "" if it is unset."""
        wire = self.string()
        return names.from_wire(wire) if wire else ""

    def flag(self) -> bool:
        value = self.take(1)[0]
        if value > 1:
            raise self._bad(f"a flag is {value}")
        return bool(value)

    def take(self, size: int) -> bytes:
        if self._at + size > len(self._body):
            raise self._bad("it ends too early")
        self._at += size
        return self._body[self._at - size : self._at]

    @property
    def at(self) -> int:
        """The number of bytes read so far."""
        return self._at

    @property
    def at_end(self) -> bool:
        return self._at == len(self._body)

    def finish(self) -> None:
        """Raise BadBytes if unread bytes remain."""
        if not self.at_end:
            raise self._bad(f"{len(self._body) - self._at} bytes follow its end")

    def _bad(self, reason: str) -> BadBytes:
        return BadBytes(what=self._what, reason=reason)
