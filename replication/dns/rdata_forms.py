"""Encode and decode rdata of the common types, and of types that dnspython lacks, without dnspython.

A *form* turns presentation text into wire bytes and back: `encode` accepts typed text, and `decode` returns the
canonical text. Both raise ValueError with a message for the user. `rdata` chooses the form, or dnspython.

    type                         wire form
    A, AAAA                      4 or 16 address bytes
    NS CNAME PTR DNAME ALIAS     name
    MB MG MR                     name
    MX AFSDB KX                  u16 preference, name
    SRV                          u16 priority, u16 weight, u16 port, name
    RP MINFO                     name, name
    SOA                          name, name, u32 serial, u32 refresh, u32 retry, u32 expire, u32 minimum
    TXT SPF                      one or more: u8 length, bytes
    RKEY                         u16 flags, u8 protocol, u8 algorithm, key to the end
    LUA                          u16 type, then as TXT

Names keep their capital letters (RFC 4343 4.1). Code that compares names uses `rdata.fold`.
"""

import base64
import binascii
import re
import socket
import struct
from dataclasses import dataclass
from typing import Protocol

from replication.dns import names, rdtypes
from replication.errors import BadName
from replication.message_texts import gettext, gettext_noop, joined

MAX_STRING = 255


def shorten_text(text: str) -> str:
    """Shorten a string to at most 60 characters for a message."""
    return text if len(text) <= 60 else text[:57] + "…"


class Form(Protocol):
    def encode(self, text: str, origin: str | None) -> bytes: ...
    def decode(self, wire: bytes) -> str: ...


@dataclass(frozen=True)
class AddressForm:
    """The form of A and AAAA."""

    family: socket.AddressFamily
    size: int
    title: str

    def encode(self, text: str, origin: str | None) -> bytes:
        try:
            return socket.inet_pton(self.family, text)
        except (OSError, ValueError):
            raise ValueError(self._reason(text)) from None

    def _reason(self, text: str) -> str:
        reason = gettext("{text} isn’t a valid {title} address").format(text=shorten_text(text), title=self.title)
        other = socket.AF_INET6 if self.family == socket.AF_INET else socket.AF_INET
        try:
            socket.inet_pton(other, text)
        except (OSError, ValueError):
            return reason
        if ":" in text:
            return gettext("{reason} (use AAAA for IPv6 addresses)").format(reason=reason)
        return gettext("{reason} (use A for IPv4 addresses)").format(reason=reason)

    def decode(self, wire: bytes) -> str:
        if len(wire) != self.size:
            raise ValueError(
                gettext("an {title} address must have {size} bytes, not {count}").format(
                    title=self.title, size=self.size, count=len(wire)
                )
            )
        return socket.inet_ntop(self.family, wire)


@dataclass(frozen=True)
class FieldsForm:
    """A form with numbers and names in a fixed order. `fields` pairs each title with `name`, `u16`, `u32` or `seconds`.

    Parentheses and comments are skipped, as in zone files.
    """

    fields: tuple[tuple[str, str], ...]

    def encode(self, text: str, origin: str | None) -> bytes:
        parts = _LAYOUT.sub(" ", text).split()
        if len(parts) != len(self.fields):
            titles = joined(", ", (gettext(title) for title, _ in self.fields))
            raise ValueError(
                gettext("expected {expected} fields ({titles}), but found {found}").format(
                    expected=len(self.fields), titles=titles, found=len(parts)
                )
            )
        return b"".join(
            _encode_name(word, origin) if kind == "name" else _encode_number(word, title, kind)
            for word, (title, kind) in zip(parts, self.fields, strict=True)
        )

    def decode(self, wire: bytes) -> str:
        parts: list[str] = []
        at = 0
        for title, kind in self.fields:
            if kind == "name":
                word, at = names.from_rdata_at(wire, at)
            else:
                size = 2 if kind == "u16" else 4
                if at + size > len(wire):
                    raise ValueError(gettext("the data ends before {title}").format(title=gettext(title)))
                word, at = str(int.from_bytes(wire[at : at + size], "big")), at + size
            parts.append(word)
        if at != len(wire):
            raise ValueError(gettext("{count} extra bytes at the end").format(count=len(wire) - at))
        return " ".join(parts)


# Comments up to the end of their line, and parentheses, unless escaped.
_LAYOUT = re.compile(r"(?<!\\)(?:;[^\n]*|[()])")


def _encode_name(word: str, origin: str | None) -> bytes:
    try:
        return names.to_wire(names.parse_in_rdata(word, origin))
    except BadName as exc:
        raise ValueError(str(exc)) from exc


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?:\d{1,10}[smhdw])+", re.ASCII)
_DURATION_PART = re.compile(r"(\d{1,10})([smhdw])", re.ASCII)


def _encode_number(word: str, title: str, kind: str) -> bytes:
    size = 2 if kind == "u16" else 4
    if word.isascii() and word.isdigit() and len(word) <= 10:
        value = int(word)
    elif kind == "seconds" and _DURATION.fullmatch(word.lower()):
        value = sum(int(n) * _UNITS[unit] for n, unit in _DURATION_PART.findall(word.lower()))
    else:
        raise ValueError(
            gettext("the {title} “{word}” must be a whole number").format(title=gettext(title), word=shorten_text(word))
        )
    # RFC 2181 section 8 limits times in an SOA, like TTLs.
    limit = 1 << (31 if kind == "seconds" else 8 * size)
    if value >= limit:
        raise ValueError(
            gettext("the {title} {word} must be from 0 to {highest}").format(
                title=gettext(title), word=shorten_text(word), highest=limit - 1
            )
        )
    return value.to_bytes(size, "big")


@dataclass(frozen=True)
class StringsForm:
    """The form of TXT and SPF.

    Text that starts with a quote is a sequence of quoted strings, as in a zone file, optionally in parentheses. Any
    other text is one string exactly as typed, including spaces and semicolons, because that is the intended meaning of
    `v=spf1 mx -all`. Strings over 255 bytes are split into strings of 255.
    """

    def encode(self, text: str, origin: str | None) -> bytes:
        if text.startswith("(") and text[1:].lstrip().startswith('"'):
            strings = _quoted_strings(text[1:].lstrip(), closing=")")
        else:
            strings = _quoted_strings(text) if text.startswith('"') else [_unescape(text)]
        wire = bytearray()
        for string in strings:
            for at in range(0, len(string) or 1, MAX_STRING):
                chunk = string[at : at + MAX_STRING]
                wire += bytes((len(chunk),)) + chunk
        return bytes(wire)

    def decode(self, wire: bytes) -> str:
        texts: list[str] = []
        at = 0
        while at < len(wire):
            end = at + 1 + wire[at]
            if end > len(wire):
                raise ValueError(gettext("the data ends inside a string"))
            texts.append(f'"{_escape(wire[at + 1 : end])}"')
            at = end
        if not texts:
            raise ValueError(gettext("no string found"))
        return " ".join(texts)


_NEEDS_ESCAPE = re.compile(rb'[^ -~]|["\\]')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\s+|$|(?=[;)]))', re.DOTALL)
# Text after the strings. No other part may match the same spaces, or each combination would be tried.
_COMMENT = re.compile(r"\s*(?:;[^\n]*(?:\n\s*)?)?")


def _escape(string: bytes) -> str:
    if not _NEEDS_ESCAPE.search(string):
        return string.decode("ascii")
    return _NEEDS_ESCAPE.sub(lambda m: b"\\" + m[0] if m[0] in b'"\\' else b"\\%03d" % m[0][0], string).decode("ascii")


def _quoted_strings(text: str, closing: str = "") -> list[bytes]:
    """Parse the strings in `"one" "two" ; comment`. Raise ValueError unless `closing` follows the last string."""
    strings: list[bytes] = []
    at = 0
    while match := _QUOTED.match(text, at):
        strings.append(_unescape(match[1]))
        at = match.end()
    if not text.startswith(closing, at) or not _COMMENT.fullmatch(text, at + len(closing)):
        raise ValueError(gettext('the quotes don’t match. Write each string like "this", with a space between strings'))
    return strings


def _unescape(text: str) -> bytes:
    r"""Decode `\DDD` and `\X` escapes, and encode the text as UTF-8. Raise ValueError if an escape is invalid."""
    if "\\" not in text:
        return text.encode()
    out = bytearray()
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            out += char.encode()
            at += 1
            continue
        digits = text[at + 1 : at + 4]
        if digits[:1].isdigit() and digits.isascii():
            if len(digits) < 3 or not digits.isdigit() or int(digits) > 255:
                raise ValueError(gettext("“\\” must be followed by three digits up to 255, or by one character"))
            out.append(int(digits))
            at += 4
        elif digits:
            out += digits[0].encode()
            at += 2
        else:
            raise ValueError(gettext("the text ends in the middle of a “\\” escape"))
    return bytes(out)


@dataclass(frozen=True)
class KeyForm:
    """The form of RKEY."""

    def encode(self, text: str, origin: str | None) -> bytes:
        parts = text.split()
        if len(parts) < 4:
            raise ValueError(gettext("expected flags, protocol, algorithm and a Base64 key"))
        try:
            head = struct.pack(">HBB", *(int(word) for word in parts[:3]))
            return head + base64.b64decode("".join(parts[3:]), validate=True)
        except (ValueError, struct.error, binascii.Error) as exc:
            raise ValueError(gettext("expected flags, protocol, algorithm and a Base64 key")) from exc

    def decode(self, wire: bytes) -> str:
        if len(wire) < 5:
            raise ValueError(gettext("the data ends before the key"))
        flags, protocol, algorithm = struct.unpack_from(">HBB", wire)
        return f"{flags} {protocol} {algorithm} {base64.b64encode(wire[4:]).decode()}"


@dataclass(frozen=True)
class LuaForm:
    """The form of LUA: the type that the code returns, and the code, such as `A "ifportup(443, {'192.0.2.1'})"`."""

    def encode(self, text: str, origin: str | None) -> bytes:
        parts = text.split(None, 1)
        if len(parts) != 2:
            raise ValueError(gettext("expected a record type and Lua code in quotes"))
        code = parts[1]
        if not code.startswith('"'):
            raise ValueError(gettext("the Lua code must be in double quotes"))
        return rdtypes.type_from_text(parts[0]).to_bytes(2, "big") + _STRINGS.encode(code, origin)

    def decode(self, wire: bytes) -> str:
        if len(wire) < 3:
            raise ValueError(gettext("the data ends before the code"))
        return f"{rdtypes.type_to_text(int.from_bytes(wire[:2], 'big'))} {_STRINGS.decode(wire[2:])}"


_STRINGS = StringsForm()
_TARGET = FieldsForm(((gettext_noop("target"), "name"),))
_PREFERRED = FieldsForm(((gettext_noop("preference"), "u16"), (gettext_noop("host"), "name")))
_MAILBOXES = FieldsForm(((gettext_noop("mailbox"), "name"), (gettext_noop("second name"), "name")))

FORMS: dict[int, Form] = {
    rdtypes.A: AddressForm(socket.AF_INET, 4, "IPv4"),
    rdtypes.AAAA: AddressForm(socket.AF_INET6, 16, "IPv6"),
    **dict.fromkeys(
        (rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, rdtypes.ALIAS, rdtypes.MB, rdtypes.MG, rdtypes.MR),
        _TARGET,
    ),
    **dict.fromkeys((rdtypes.MX, rdtypes.AFSDB, rdtypes.KX), _PREFERRED),
    **dict.fromkeys((rdtypes.RP, rdtypes.MINFO), _MAILBOXES),
    **dict.fromkeys((rdtypes.TXT, rdtypes.SPF), _STRINGS),
    rdtypes.SRV: FieldsForm(
        (
            (gettext_noop("priority"), "u16"),
            (gettext_noop("weight"), "u16"),
            (gettext_noop("port"), "u16"),
            (gettext_noop("target"), "name"),
        )
    ),
    rdtypes.SOA: FieldsForm(
        (
            (gettext_noop("SOA primary server"), "name"),
            (gettext_noop("mailbox"), "name"),
            (gettext_noop("serial"), "u32"),
            (gettext_noop("refresh"), "seconds"),
            (gettext_noop("retry"), "seconds"),
            (gettext_noop("expire"), "seconds"),
            (gettext_noop("minimum"), "seconds"),
        )
    ),
    rdtypes.RKEY: KeyForm(),
    rdtypes.LUA: LuaForm(),
}
