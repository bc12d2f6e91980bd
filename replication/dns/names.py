"""Convert domain names between typed text, the canonical `name`, and wire form. Pure.

A `name` is a str: absolute, lowercase, with a final dot, escaped as in dnspython's output. Only `parse` and `from_wire`
create names; all other code trusts them. Names inside rdata differ only in that they keep their capital letters (RFC
4343 4.1). `parse_in_rdata` and `from_rdata_at` create them. Labels with a zero byte are rejected, because PowerDNS's
LMDB keys cannot contain them.
"""

import re
from contextlib import suppress
from functools import lru_cache

from replication.errors import BadName
from replication.message_texts import gettext

MAX_WIRE = 255
MAX_LABEL = 63
MAX_TEXT = 4 * MAX_WIRE  # every octet as `\DDD`; letters of other scripts have at most as many characters as octets
ROOT = "."

# Names of letters, digits, hyphens, underscores and asterisks need neither escapes nor IDNA.
_PLAIN = re.compile(r"(?:[a-z0-9_*-]{1,63}\.)*[a-z0-9_*-]{1,63}\.?", re.ASCII)
_PLAIN_LABEL = re.compile(rb"[A-Za-z0-9_*-]+")
_PLAIN_LABELS = re.compile(rb"[A-Za-z0-9_*.-]+")
_ESCAPED = frozenset(b'"().;\\@$')
_FULL_STOPS = re.compile("[。．｡]")
_LOWER = bytes(byte + 32 if 65 <= byte <= 90 else byte for byte in range(256))


_ESCAPED_SPACE = re.compile(r"\\(.)", re.DOTALL)


def escape_spaces(text: str) -> str:
    r"""Return the text with `\032` for an escaped space, and `\009` for an escaped tab (RFC 1035 5.1).

    Go programs write `\ `, which has the same meaning, but code that splits a text into fields would split it there.
    """
    if "\\" not in text:
        return text
    return _ESCAPED_SPACE.sub(lambda match: f"\\{ord(match[1]):03d}" if match[1] in " \t" else match[0], text)


def parse(text: str, origin: str | None = None) -> str:
    """Parse a typed name. Raise BadName if it is invalid.

    A name without a final dot is relative to `origin`, or absolute if `origin` is None. `@` is the origin itself.
    Unicode is converted to IDNA (UTS 46).
    """
    text = _strip_blanks(text)
    if len(text) > MAX_TEXT:
        raise BadName(
            text=text,
            reason=gettext("the name has {count} characters, but at most {max_text} are allowed").format(
                count=len(text), max_text=MAX_TEXT
            ),
        )
    lowered = text.lower()
    if len(text) <= 253 and _PLAIN.fullmatch(lowered):
        if lowered.endswith("."):
            return lowered
        if origin is None:
            return lowered + "."
        name = lowered + "." + origin if origin != ROOT else lowered + "."
        if len(name) <= 254 and "\\" not in name:
            return name
    return _parse_slowly(text, origin)


def parse_in_rdata(text: str, origin: str | None = None) -> str:
    """Parse a name in rdata, keeping its capital letters. Raise the errors of `parse`."""
    name, text = parse(text, origin), _strip_blanks(text)
    lowered = text.lower()
    if text == lowered:
        return name
    # Nearly always the text has the same spelling as the name.
    if text.isascii() and name.startswith(lowered):
        return text + name[len(text) :]
    return _parse_slowly(text, origin, keep_case=True)


def _strip_blanks(text: str) -> str:
    stripped = text.strip()
    return escape_spaces(text).strip() if stripped.endswith("\\") else stripped


def _parse_slowly(text: str, origin: str | None, *, keep_case: bool = False) -> str:
    if text == "":
        raise BadName(text=text, reason=gettext("the name is empty"))
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise BadName(text=ascii(text), reason=gettext("the name contains an invalid character"))
    if text == ROOT:
        return ROOT
    if text == "@":
        if origin is None:
            raise BadName(text=text, reason=gettext("“@” needs a zone, but no zone is given"))
        return origin
    relative, absolute = _split(text)
    if not keep_case:
        relative = tuple(label.translate(_LOWER) for label in relative)
    if not absolute and origin is not None:
        relative += labels(origin)
    return _check_lengths(relative, text)


def _split(text: str) -> tuple[tuple[bytes, ...], bool]:
    """Return the text's labels, with capitals, and True if the text ends in a dot. Raise BadName if it is invalid."""
    found: list[bytes] = []
    label = bytearray()
    unicode_label = ""
    at, absolute = 0, False
    dotted = _FULL_STOPS.sub(".", text)
    while at < len(dotted):
        char = dotted[at]
        at += 1
        absolute = char == "."
        if absolute:
            found.append(_finish_label(label, unicode_label, text))
            label, unicode_label = bytearray(), ""
        elif char == "\\":
            byte, at = _escape(dotted, at, text)
            label.append(byte)
            unicode_label += chr(byte)
        elif char.isspace():
            raise BadName(text=text, reason=gettext("the name contains a space"))
        else:
            label += char.encode()
            unicode_label += char
    if not absolute:
        found.append(_finish_label(label, unicode_label, text))
    return tuple(found), absolute


def _finish_label(label: bytearray, unicode_label: str, text: str) -> bytes:
    if not label:
        raise BadName(
            text=text, reason=gettext("the name has an empty label (two dots in a row, or a dot at the start)")
        )
    # A label with an escaped byte over 127 has as many bytes as characters: it is meant as bytes.
    if len(label) != len(unicode_label):
        return _idna(unicode_label, text)
    return bytes(label)


def _escape(text: str, at: int, full_text: str) -> tuple[int, int]:
    digits = text[at : at + 3]
    if digits[:1].isdigit():
        if len(digits) < 3 or not digits.isascii() or not digits.isdigit() or int(digits) > 255:
            raise BadName(
                text=full_text, reason=gettext("“\\” must be followed by three digits up to 255, or by one character")
            )
        return int(digits), at + 3
    if not digits or not digits[0].isascii():
        raise BadName(text=full_text, reason=gettext("it ends in the middle of a “\\” escape"))
    return ord(digits[0]), at + 1


def _idna(label: str, text: str) -> bytes:
    import idna  # half a megabyte of tables that most processes never need

    try:
        return idna.encode(label, uts46=True)
    except (idna.IDNAError, UnicodeError) as exc:
        raise BadName(
            text=text,
            reason=gettext("“{label}” isn’t a valid international label ({exc})").format(label=label, exc=exc),
        ) from exc


def _check_lengths(labels_: tuple[bytes, ...], text: str) -> str:
    for label in labels_:
        if len(label) > MAX_LABEL:
            raise BadName(
                text=text,
                reason=gettext("a label has {count} bytes, but at most {max_label} are allowed").format(
                    count=len(label), max_label=MAX_LABEL
                ),
            )
        if 0 in label:
            raise BadName(text=text, reason=gettext("a label contains a zero byte, which PowerDNS can’t store"))
    length = sum(len(label) + 1 for label in labels_) + 1
    if length > MAX_WIRE:
        raise BadName(
            text=text,
            reason=gettext("the name has {length} bytes, but at most {max_wire} are allowed").format(
                length=length, max_wire=MAX_WIRE
            ),
        )
    return from_labels(labels_)


def labels(name: str) -> tuple[bytes, ...]:
    """Return a name's labels without the root, leftmost first. Labels of a name in rdata keep their capitals."""
    if name == ROOT:
        return ()
    if "\\" not in name:
        return tuple(name[:-1].encode("ascii").split(b"."))
    return _split(name)[0]


def from_labels(labels_: tuple[bytes, ...]) -> str:
    """Return the name made of these labels, which must be valid."""
    return "".join(_escape_label(label) + "." for label in labels_) or ROOT


def _escape_label(label: bytes) -> str:
    if _PLAIN_LABEL.fullmatch(label):
        return label.decode("ascii")
    return "".join(
        f"\\{chr(byte)}" if byte in _ESCAPED else chr(byte) if 0x20 < byte < 0x7F else f"\\{byte:03d}" for byte in label
    )


@lru_cache(maxsize=4096)
def to_wire(name: str) -> bytes:
    """Return a name's uncompressed wire form, including the final zero byte."""
    return b"".join(bytes((len(label),)) + label for label in labels(name)) + b"\0"


def from_wire(wire: bytes) -> str:
    """Parse an uncompressed name that fills `wire` exactly. Raise BadName if it is invalid."""
    name, end = from_wire_at(wire, 0)
    if end != len(wire):
        raise BadName(text=wire.hex(), reason=gettext("extra bytes follow the name"))
    return name


def from_wire_at(wire: bytes, at: int) -> tuple[str, int]:
    """Parse the uncompressed name at an offset. Return the name and the offset after it. Raise BadName if invalid."""
    # Lengths of labels are below 64, and no escape has a capital letter.
    return from_rdata_at(wire.translate(_LOWER), at)


def from_rdata_at(wire: bytes, at: int) -> tuple[str, int]:
    """Parse a name as in `from_wire_at`, but keep its capital letters. Raise BadName if it is invalid."""
    found: list[bytes] = []
    try:
        while length := wire[at]:
            if length > MAX_LABEL:
                raise BadName(text=wire.hex(), reason=gettext("the name is compressed"))
            at += 1 + length
            found.append(wire[at - length : at])
    except IndexError:
        raise BadName(text=wire.hex(), reason=gettext("the name is incomplete")) from None
    plain = b".".join(found)
    # Nearly every name has nothing to escape, and dots only between labels.
    if len(plain) <= MAX_WIRE - 2 and plain.count(b".") == len(found) - 1 and _PLAIN_LABELS.fullmatch(plain):
        return f"{plain.decode('ascii')}.", at + 1
    return _check_lengths(tuple(found), wire.hex()), at + 1


def parent(name: str) -> str | None:
    """Return the name without its first label, or None for the root."""
    if name == ROOT:
        return None
    if "\\" not in name:
        return name[name.index(".") + 1 :] or ROOT
    return from_labels(labels(name)[1:])


def is_within(name: str, zone: str) -> bool:
    """Return True if the name is the zone's apex or below it."""
    if zone == ROOT or name == zone:
        return True
    if not name.endswith("." + zone):
        return False
    if "\\" not in name:
        return True
    # `a\.example.` is one label, not a name below `example.`.
    before = name[: -len(zone) - 1]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0


def relative_text(name: str, zone: str) -> str:
    """Format a name relative to its zone, for pages, such as `@` or `www`. Names outside the zone stay absolute."""
    if name == zone:
        return "@"
    if zone == ROOT:
        return name[:-1]
    return name[: -len(zone) - 1] if is_within(name, zone) else name


def before_full_stop(name: str) -> str:
    """Return a name without its final dot, for use at the end of a sentence. The root keeps its dot."""
    return name.removesuffix(ROOT) or ROOT


def owner_text(name: str, zone: str) -> str:
    """Format a name relative to its zone and in its own script, for pages, such as `@`, `www` or `bücher`."""
    return "@" if name == zone else display(relative_text(name, zone) + ".")[:-1]


def display(name: str) -> str:
    """Return the name with internationalized labels in their own script."""
    if "xn--" not in name:
        return name
    import idna

    displayed = []
    for label in labels(name):
        text = _escape_label(label)
        if text.startswith("xn--"):
            # An A-label that can't be decoded is shown unchanged.
            with suppress(idna.IDNAError, UnicodeError):
                text = idna.decode(text)
        displayed.append(text)
    return ".".join(displayed) + "."
