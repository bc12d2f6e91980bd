"""Fields of a record type's rdata: their names, valid values and zone-file format. Pure.

`word_of` checks one field separately, so that an error can be shown at the field. Only `replication.dns.rdata` parses
the whole rdata.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dnspanel.texts import gettext
from dnspanel.zones.typed import coordinates
from replication.dns import names, rdata, rdtypes
from replication.errors import ReplicationError

MOST_SECONDS = 2**31 - 1
# No rdata is longer in any text form, so longer texts are refused without parsing.
LONGEST_FIELD = rdata.MAX_TEXT
Choices = tuple[tuple[str, str], ...]


class Kind(StrEnum):
    """The kinds of content that a field can have."""

    NUMBER = "number"
    SECONDS = "seconds"  # or 1h, 2d
    NAME = "name"
    MAILBOX = "mailbox"  # a name, or the email address that it represents
    WORD = "word"  # a mnemonic or a number
    STRING = "string"  # a character string, without its quotes
    STRINGS = "strings"  # the text of a TXT, regardless of how it is split into strings
    LIST = "list"  # of words with commas between them
    HEX = "hex"
    BASE64 = "base64"
    FLAG = "flag"  # present or absent
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    METRES = "metres"
    TEXT = "text"  # several lines, which the caller interprets
    REST = "rest"  # the rest of the rdata, as in a zone file


@dataclass(frozen=True, slots=True)
class Field:
    """A field of rdata. `high` is the largest number, or the maximum length of a string in bytes.

    `choices` has pairs of a value and its description.
    """

    name: str
    label: str
    kind: Kind
    help: str = ""
    low: int = 0
    high: int = 0
    choices: Choices = ()
    default: str = ""
    required: bool = True
    is_open: bool = False  # the choices are only suggestions

    @property
    def is_long(self) -> bool:
        """True if the content can need several lines."""
        return self.kind in (Kind.HEX, Kind.BASE64, Kind.TEXT, Kind.STRINGS)


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest whose length depends on the field `by`. `lengths` maps the field's values to (bytes, algorithm)."""

    by: str
    data: str
    lengths: Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a record type in zone-file order. Fields in `parameters` are written as `key=value`."""

    type: int
    purpose: str
    fields: tuple[Field, ...]
    parameters: tuple[Field, ...] = ()
    digest: Digest | None = None
    is_single: bool = False  # a name has at most one
    groups: Mapping[str, int] = field(default_factory=dict)  # fields with several words

    @property
    def has_parts(self) -> bool:
        """True if a value has several fields. A row's own line is enough for a value with one field."""
        return len(self.all_fields) > 1 or self.all_fields[0].is_long

    @property
    def all_fields(self) -> tuple[Field, ...]:
        return self.fields + self.parameters


def layout(
    type: int,
    purpose: str,
    *fields: Field,
    parameters: tuple[Field, ...] = (),
    digest: Digest | None = None,
    is_single: bool = False,
    groups: Mapping[str, int] | None = None,
) -> Layout:
    """Return the layout of a record type with these fields."""
    return Layout(type, purpose, fields, parameters, digest, is_single, groups or {})


def u8(name: str, label: str, help_text: str = "", **more: object) -> Field:
    """Return a field for an 8-bit number."""
    return _number(name, label, help_text, 255, more)


def u16(name: str, label: str, help_text: str = "", **more: object) -> Field:
    """Return a field for a 16-bit number."""
    return _number(name, label, help_text, 65535, more)


def u32(name: str, label: str, help_text: str = "", **more: object) -> Field:
    """Return a field for a 32-bit number."""
    return _number(name, label, help_text, 2**32 - 1, more)


def _number(name: str, label: str, help_text: str, high: int, more: dict[str, object]) -> Field:
    return Field(name, label, Kind.NUMBER, help_text, high=high, **more)  # type: ignore[arg-type]


def word_of(field: Field, typed: str, origin: str | None = None) -> str:
    """Convert a field's typed value to zone-file syntax. Relative names are checked with `origin`, but stay relative.

    Return "" for an empty optional field. If the value is missing or invalid, raise ValueError with a message for the
    user.
    """
    text = typed.strip()
    if len(text) > LONGEST_FIELD:
        raise ValueError(
            gettext("The text has {count} characters, but at most {longest_field} are allowed.").format(
                count=len(text), longest_field=LONGEST_FIELD
            )
        )
    if text == "" and field.kind is not Kind.STRING:
        if field.required:
            raise ValueError(missing(field))
        return ""
    return _READERS[field.kind](field, text, origin)


def text_of(field: Field, word: str) -> str:
    """Convert a field of canonical rdata to a string for the form. `word_of` converts it back."""
    if field.kind is Kind.STRING:
        inner = _EDGE.sub(lambda match: _SPACE * len(match[0]), unquote_text(word))
        # Two quotes mean an empty string where one is required, so literal quotes are escaped.
        return {"": _EMPTY if field.required else "", _EMPTY: r"\034\034"}.get(inner, inner)
    if field.kind is Kind.STRINGS:
        return _text_of_strings(word)
    if field.kind is Kind.REST:
        return word
    if field.kind is Kind.LIST:  # spaces after commas are not part of the value
        return unquote_text(word).replace(" ", _SPACE)
    return word.removesuffix("m") if field.kind is Kind.METRES else word.strip('"')


def _text_of_strings(word: str) -> str:
    """Join the strings of a TXT if all but the last one have the full length. Otherwise, return them in quotes.

    An empty text, or one that begins like a quoted one, also stays in quotes.
    """
    parts = _STRING.findall(word)
    joined = "".join(part[1:-1] for part in parts)
    wires = [len(rdata.to_wire(rdtypes.TXT, part)) - 1 for part in parts]
    is_one = all(size == _FULL for size in wires[:-1]) and (wires[-1] or len(parts) == 1)
    text = _EDGE.sub(lambda match: _SPACE * len(match[0]), unquote_text(f'"{joined}"'))
    return text if text and is_one and not text.startswith(('"', "(")) else word


def missing(field: Field) -> str:
    """Return the error message for an empty required field."""
    return (
        gettext("Choose one of the options.")
        if field.choices and not field.is_open
        else gettext("{label} is missing.").format(label=field.label)
    )


def unquote_text(word: str) -> str:
    r"""Remove the double quotes around a string. `\"` becomes a quote, and other escapes stay."""
    inner = word[1:-1] if word.startswith('"') else word
    return _ESCAPE.sub(lambda match: '"' if match[0] == '\\"' else match[0], inner)


def base64_text(text: str) -> str:
    """Return the Base64 digits of a PEM block or a plain string, without armor and whitespace. Don't decode them."""
    return re.sub(r"\s", "", _ARMOUR.sub("", text))


def quote_text(text: str) -> str:
    """Put the text in double quotes, and escape quotes in it. Existing escapes stay. See `unquote_text`."""
    return '"' + _ESCAPE_OR_QUOTE.sub(lambda match: '\\"' if match[0] == '"' else match[0], text) + '"'


_FULL = 255  # bytes of a string
_STRING = re.compile(r'"(?:[^"\\]|\\.?)*(?:"|\Z)', re.DOTALL)
_EMPTY = '""'
_SPACE = "\\032"
_EDGE = re.compile(r"^ +| +$")  # spaces at the ends of a field are not part of the value
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_ESCAPE_OR_QUOTE = re.compile(r'\\.|"', re.DOTALL)
_BARE = re.compile(r'(?:[^\s"();\\]|\\.)+', re.DOTALL)
_MNEMONIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
_MAIL_ADDRESS = re.compile(r"([^@\\]+)@([^@\\]+)")
_DURATION = re.compile(r"(?:[0-9]{1,10}[smhdw])+", re.IGNORECASE)
_METRES = re.compile(r"(-?[0-9]{1,8}(?:\.[0-9]{1,2})?)\s*m?", re.IGNORECASE)
_ARMOUR = re.compile(r"-----(?:BEGIN|END) [A-Z0-9 ]{1,40}-----")


def _number_word(field: Field, text: str, origin: str | None) -> str:
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        raise ValueError(gettext("Enter a whole number."))
    if not field.low <= int(text) <= field.high:
        raise ValueError(gettext("The value must be from {low} to {high}.").format(low=field.low, high=field.high))
    return str(int(text))


def _seconds_word(field: Field, text: str, origin: str | None) -> str:
    if text.isascii() and text.isdigit() and len(text) <= 10:
        if int(text) > MOST_SECONDS:
            raise ValueError(
                gettext("The value must be from 0 to {most_seconds} seconds.").format(most_seconds=MOST_SECONDS)
            )
        return str(int(text))
    if not _DURATION.fullmatch(text):
        raise ValueError(gettext("Enter seconds, or a duration such as 30m, 1h or 7d."))
    return text.lower()


def _name_word(field: Field, text: str, origin: str | None) -> str:
    if not _BARE.fullmatch(text):
        raise ValueError(gettext("A name cannot contain spaces, quotes, parentheses or semicolons."))
    try:
        names.parse(text, origin)
    except ReplicationError as exc:
        raise ValueError(_capital(str(exc))) from exc
    return text


def _mailbox_word(field: Field, text: str, origin: str | None) -> str:
    address = _MAIL_ADDRESS.fullmatch(text)
    if address is not None:
        text = address[1].replace(".", "\\.") + "." + address[2].removesuffix(".") + "."
    return _name_word(field, text, origin)


def _mnemonic_word(field: Field, text: str, origin: str | None) -> str:
    if not _MNEMONIC.fullmatch(text):
        raise ValueError(gettext("Enter one word of letters, digits and hyphens."))
    return text


def _string_word(field: Field, text: str, origin: str | None) -> str:
    if text == "" and field.required:
        raise ValueError(missing(field))
    word = text if text == _EMPTY else quote_text(text)
    try:
        wire = rdata.to_wire(rdtypes.TXT, word)
    except ReplicationError as exc:
        raise ValueError(gettext("“\\” must be followed by three digits up to 255, or by one character.")) from exc
    size = len(wire) - (len(wire) + 255) // 256  # without the length bytes of the strings
    if field.high and size > field.high:
        raise ValueError(
            gettext("The text has {size} bytes, but at most {high} are allowed.").format(size=size, high=field.high)
        )
    return word


def _strings_word(field: Field, text: str, origin: str | None) -> str:
    text = " ".join(line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip())
    if not text.startswith(('"', "(")):
        return _string_word(field, text, origin)
    try:
        return rdata.parse(rdtypes.TXT, text)
    except ReplicationError as exc:
        raise ValueError(gettext("Enclose each string in double quotes, and separate strings with a space.")) from exc


def _list_word(field: Field, text: str, origin: str | None) -> str:
    return _string_word(field, ",".join(part.strip() for part in text.split(",")), origin)


def _hex_word(field: Field, text: str, origin: str | None) -> str:
    digits = re.sub(r"[\s:]", "", text)
    try:
        binascii.unhexlify(digits)
    except ValueError as exc:
        raise ValueError(gettext("Enter hexadecimal digits, two for each byte.")) from exc
    return digits.lower()


def _base64_word(field: Field, text: str, origin: str | None) -> str:
    digits = base64_text(text)
    try:
        base64.b64decode(digits, validate=True)
    except ValueError as exc:
        raise ValueError(gettext("Enter Base64, as in a PEM file.")) from exc
    return digits


def _flag_word(field: Field, text: str, origin: str | None) -> str:
    return text


def _latitude_word(field: Field, text: str, origin: str | None) -> str:
    return coordinates.latitude(text)


def _longitude_word(field: Field, text: str, origin: str | None) -> str:
    return coordinates.longitude(text)


def _metres_word(field: Field, text: str, origin: str | None) -> str:
    match = _METRES.fullmatch(text)
    if match is None:
        raise ValueError(gettext("Enter metres, for example 34 or -1.50."))
    if not field.low <= float(match[1]) <= field.high:
        raise ValueError(
            gettext("The value must be from {low} to {high} metres.").format(low=field.low, high=field.high)
        )
    return match[1] + "m"


def _rest_word(field: Field, text: str, origin: str | None) -> str:
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


_READERS = {
    Kind.NUMBER: _number_word,
    Kind.SECONDS: _seconds_word,
    Kind.NAME: _name_word,
    Kind.MAILBOX: _mailbox_word,
    Kind.WORD: _mnemonic_word,
    Kind.STRING: _string_word,
    Kind.STRINGS: _strings_word,
    Kind.LIST: _list_word,
    Kind.HEX: _hex_word,
    Kind.BASE64: _base64_word,
    Kind.FLAG: _flag_word,
    Kind.LATITUDE: _latitude_word,
    Kind.LONGITUDE: _longitude_word,
    Kind.METRES: _metres_word,
    Kind.TEXT: _rest_word,
    Kind.REST: _rest_word,
}
