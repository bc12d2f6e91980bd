"""Parse lines in zone-file syntax, as people type them.

`read_line` turns one line into an `Entry`, or raises an error with the reason and column. `read_lines` reads pasted
text. The parser never guesses silently: a name that ends in the zone's name without a final dot raises `AmbiguousName`.
`Entry.notes` lists automatic corrections, such as quotes added to a TXT or a completed relative target.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dnspanel.counted_lines import limit_lines
from dnspanel.texts import gettext
from dnspanel.web.editor.lines.fields import (
    LONGEST_STRING,
    Token,
    Unreadable,
    logical_lines,
    part_comment,
    quote,
    split_fields,
    split_text,
    string_bytes,
    word_at,
)
from replication.dns import names, rdata, rdtypes
from replication.dns.rdata_forms import FORMS
from replication.errors import BadName, BadRdata

TXT_TYPES = frozenset({16, 99})  # TXT, SPF: their rdata is text, which people write without quotes
# Types whose rdata has only numbers, names and addresses: quotes around these are a mistake.
WITHOUT_TEXT = frozenset(FORMS.keys() - TXT_TYPES - {rdtypes.LUA, rdtypes.RKEY})
MAX_TTL = 2**31 - 1
MOST_LINES = 1000  # of one paste
CLASSES = frozenset({"IN", "CH", "HS"})
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
TTL = re.compile(r"(?:[0-9]+[smhdw])+|[0-9]+", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9][0-9.,]*[a-z]?", re.IGNORECASE)  # looks like a TTL, but isn't one


class Reading(StrEnum):
    """The two meanings of a name that ends in the zone's name without a final dot."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"


class AmbiguousName(Exception):
    """Raised if `typed` ends in the zone's name without a final dot, because it can then mean either of two names."""

    def __init__(self, *, typed: str, absolute: str, relative: str) -> None:
        super().__init__(
            gettext("{typed} could mean {absolute} or {relative}").format(
                typed=typed, absolute=absolute, relative=relative
            )
        )
        self.typed = typed
        self.absolute = absolute
        self.relative = relative


@dataclass(frozen=True, slots=True)
class Value:
    """One canonical rdata, with notes on automatic corrections."""

    rdata: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A value for an RRset. If `ttl` is None, the RRset's TTL applies, else `default_ttl`, else the zone's default."""

    name: str
    type: int
    ttl: int | None
    rdata: str
    comment: str = ""
    notes: tuple[str, ...] = ()
    default_ttl: int | None = None  # from the `$TTL` above the line, for a new RRset
    disabled: bool = False  # kept, but not served


@dataclass(frozen=True, slots=True)
class PastedLine:
    """A pasted line with its entry or its error. `doubled` is True if the error is an ambiguous name."""

    number: int
    source: str
    entry: Entry | None = None
    error: str = ""
    column: int = 0
    doubled: bool = False


# Names


def read_owner(text: str, zone: str, *, origin: str | None = None, means: Reading | None = None) -> str:
    """Parse an owner name, relative to `origin` (by default `zone`), and return it as an absolute name.

    Raise Unreadable if the name is invalid or outside the zone. Raise AmbiguousName if it ends in the zone's name
    without a dot and `means` is None.
    """
    typed = text.strip()
    if not typed:
        raise Unreadable(gettext("Enter a name, or @ for the zone apex."))
    origin = origin or zone
    if typed == "@":
        return origin
    try:
        name = names.parse(typed, origin)
        as_absolute = names.parse(typed)
    except BadName as exc:
        raise Unreadable(str(exc)) from exc
    if name != as_absolute and names.is_within(as_absolute, zone):
        if means is None:
            raise AmbiguousName(typed=typed, absolute=as_absolute, relative=name)
        name = as_absolute if means is Reading.ABSOLUTE else name
    if not names.is_within(name, zone):
        raise Unreadable(gettext("{name} is not in the zone {zone}").format(name=name, zone=zone))
    return name


def read_ttl(text: str) -> int:
    """Parse a TTL such as `300`, `1h` or `1d12h` into seconds. Raise Unreadable if it is invalid or above MAX_TTL."""
    typed = text.strip()
    if not TTL.fullmatch(typed):
        raise Unreadable(
            gettext("{typed!r} isn’t a valid TTL. Enter seconds, or a value such as 5m, 1h or 1d.").format(typed=typed)
        )
    parts = re.findall(r"([0-9]+)([smhdw]?)", typed.lower())
    seconds = sum(int(number) * UNITS[unit or "s"] for number, unit in parts)
    if seconds > MAX_TTL:
        raise Unreadable(gettext("The TTL must be at most {max_ttl} seconds.").format(max_ttl=MAX_TTL))
    return seconds


# Rdata


def read_rdata(type: int, text: str, zone: str, *, means: Reading | None = None) -> Value:
    """Parse rdata into canonical form. Raise Unreadable if invalid, AmbiguousName if unclear and `means` is None."""
    tokens = split_text(text) if type in TXT_TYPES else split_fields(text, comments=False)[0]
    return _value(type, tokens, zone, origin=zone, means=means, end=max(len(text), 1))


def _value(type: int, tokens: Sequence[Token], zone: str, *, origin: str, means: Reading | None, end: int) -> Value:
    if not tokens:
        raise Unreadable(
            gettext("Enter a value for the {type_to_text} record.").format(type_to_text=rdata.type_to_text(type)), end
        )
    notes: list[str] = []
    if type in TXT_TYPES:
        tokens = list(_text_strings(tokens, notes))
    text = " ".join(token.text for token in tokens)
    quoted = next((token for token in tokens if token.is_quoted), None)
    if quoted is not None and type in WITHOUT_TEXT:
        raise Unreadable(gettext("{text} cannot be in quotes here.").format(text=quoted.text), quoted.column)
    value = _parse_rdata(type, text, origin, tokens[0].column)
    doubled = [token for token in tokens if _is_doubled(token, type, value, zone, origin)]
    if doubled and means is None:
        typed = doubled[0].text
        raise AmbiguousName(typed=typed, absolute=names.parse(typed), relative=names.parse(typed, origin))
    if doubled and means is Reading.ABSOLUTE:
        text = " ".join(token.text + ("." if token in doubled else "") for token in tokens)
        value = _parse_rdata(type, text, origin, tokens[0].column)
    elif not doubled:
        notes += _notes_on_targets(tokens, type, value, origin)
    return Value(rdata=value, notes=tuple(notes))


def _parse_rdata(type: int, text: str, origin: str, column: int) -> str:
    try:
        return rdata.parse(type, text, origin)
    except (BadRdata, BadName) as exc:
        reason = str(exc)
        raise Unreadable(reason[:1].upper() + reason[1:], column) from exc


def _completed_target(token: Token, type: int, value: str, origin: str) -> str | None:
    """Return the target that was completed with the origin, or None if `token` isn't such a target.

    Quoted tokens, and tokens without a dot (`www`), don't count.
    """
    if token.is_quoted or token.text.endswith(".") or "." not in token.text:
        return None
    try:
        name = names.parse(token.text, origin)
    except BadName:
        return None
    return name if name in rdata.targets(type, value) else None


def _is_doubled(token: Token, type: int, value: str, zone: str, origin: str) -> bool:
    """Return True if the target is a full name inside the zone without its final dot."""
    if _completed_target(token, type, value, origin) is None:
        return False
    return zone != "." and names.is_within(names.parse(token.text), zone)


def _notes_on_targets(tokens: Sequence[Token], type: int, value: str, origin: str) -> Iterator[str]:
    for token in tokens:
        name = _completed_target(token, type, value, origin)
        if name is not None and origin != ".":
            yield gettext(
                "{text} has no trailing dot and is read as {name} here. To use the name outside this zone, enter "
                "{text}."
            ).format(text=token.text, name=name)


def _text_strings(tokens: Sequence[Token], notes: list[str]) -> Iterator[Token]:
    """Yield a TXT value's strings, quoted and split after 255 bytes. A value without quotes is one string.

    Append a note about each correction to `notes`.
    """
    if not any(token.is_quoted for token in tokens):
        text = " ".join(token.text for token in tokens)
        if len(tokens) > 1 or re.search(r"[;()]", text):
            notes.append(gettext("The value has no quotes and is saved as one string."))
        tokens = [Token('"' + text + '"', tokens[0].column)]
    for token in tokens:
        raw = string_bytes(token)
        if len(raw) > LONGEST_STRING:
            notes.append(
                gettext(
                    "The value has {raw} bytes and is split into strings of at most {longest_string} bytes."
                ).format(raw=len(raw), longest_string=LONGEST_STRING)
            )
        for start in range(0, max(len(raw), 1), LONGEST_STRING):
            yield Token(quote(raw[start : start + LONGEST_STRING]), token.column)


# Lines


def read_line(
    line: str, zone: str, *, origin: str | None = None, last_owner: str | None = None, means: Reading | None = None
) -> Entry:
    """Parse `name [ttl] [class] type rdata`. TTL and class are optional and can be in any order.

    A line that starts with a space belongs to `last_owner`, if there is one. Relative names are below `origin`, by
    default the zone. Raise Unreadable if the line is invalid, and AmbiguousName if a name is ambiguous and `means` is
    None.
    """
    origin = origin or zone
    head = _Head()
    position = 0
    if not (last_owner and line[:1].isspace()):
        word = word_at(line, 0)
        if word is None:
            raise Unreadable(gettext("The line is empty."))
        head.owner, position = word
    position = _read_head(head, line, position)
    owner = last_owner if head.owner is None else _owner(head.owner, zone, origin, means)
    assert owner is not None
    if head.type in TXT_TYPES:
        text, comment = part_comment(line)
        tokens = split_text(text, position)
        if any(token.text in "()" for token in tokens) and any(token.is_quoted for token in tokens):
            tokens, comment = split_fields(line, start=position)
    else:
        tokens, comment = split_fields(line, start=position)
    value = _value(head.type, tokens, zone, origin=origin, means=means, end=len(line))
    return Entry(owner, head.type, head.ttl, value.rdata, comment, value.notes)


@dataclass(slots=True)
class _Head:
    """The fields of a line before its rdata."""

    owner: Token | None = None
    ttl: int | None = None
    class_: str | None = None
    type: int = 0
    fields: list[Token] = field(default_factory=list)


def _read_head(head: _Head, line: str, position: int) -> int:
    """Fill `head` up to the type, and return the position after the type.

    Raise Unreadable if the TTL is too large, the class isn't IN, or the type is missing or unknown.
    """
    while True:
        word = word_at(line, position)
        if word is None:
            raise Unreadable(_missing_type(head), max(len(line), 1))
        token, position = word
        text, column = token.text, token.column
        if TTL.fullmatch(text) and head.ttl is None:
            head.ttl = _ttl_at(column, text)
        elif text.upper() in CLASSES and head.class_ is None:
            head.class_ = text.upper()
            if head.class_ != "IN":
                raise Unreadable(gettext("Only class IN is supported."), column)
        elif _is_type(text):
            head.type = rdata.type_from_text(text)
            return position
        elif head.owner is not None and TTL.fullmatch(head.owner.text) and head.ttl is None and not head.fields:
            # `300 www A 192.0.2.1`: the TTL comes first.
            head.ttl = _ttl_at(head.owner.column, head.owner.text)
            head.owner = token
        else:
            raise Unreadable(_unknown_type(head, text), column)
        head.fields.append(token)


def _ttl_at(column: int, text: str) -> int:
    try:
        return read_ttl(text)
    except Unreadable as exc:
        raise Unreadable(exc.message, column) from exc


def _owner(token: Token, zone: str, origin: str, means: Reading | None) -> str:
    if token.is_quoted:
        raise Unreadable(gettext("A name cannot be in quotes."), token.column)
    try:
        return read_owner(token.text, zone, origin=origin, means=means)
    except Unreadable as exc:
        raise Unreadable(exc.message, token.column) from exc


def _is_type(text: str) -> bool:
    try:
        rdata.type_from_text(text)
    except BadRdata:
        return False
    return True


def _missing_type(head: _Head) -> str:
    if head.owner is not None and _is_type(head.owner.text):
        return gettext("Enter the name first. For the zone apex, enter @ {text} …").format(text=head.owner.text)
    return gettext("Enter a record type, for example: www 300 A 192.0.2.1")


def _unknown_type(head: _Head, text: str) -> str:
    if head.owner is not None and not head.fields and _is_type(head.owner.text):
        return gettext("Enter the name first. For the zone apex, enter @ {text} {text2}").format(
            text=head.owner.text, text2=text
        )
    if head.ttl is None and _NUMBER.fullmatch(text):
        return gettext(
            "{text!r} isn’t a valid TTL. Enter 0 to {max_ttl} seconds, or a value such as 5m, 1h or 1d."
        ).format(text=text, max_ttl=MAX_TTL)
    return gettext("{text!r} isn’t a valid record type.").format(text=text)


# Pastes


def read_lines(text: str, zone: str, *, means: Reading | None = None) -> list[PastedLine]:
    """Parse a pasted zone file or a part of one. Skip empty lines and comments, and return invalid lines with an error.

    `$ORIGIN` and `$TTL` apply to the lines below them. An ambiguous name is an error if `means` is None. Raise
    TooManyLines before reading if the text has more than MOST_LINES lines.
    """
    found: list[PastedLine] = []
    origin, ttl, last_owner, lost = zone, None, None, False
    for number, line in limit_lines(logical_lines(text.rstrip()), text, MOST_LINES):
        display = PastedLine(number=number, source=line.strip())
        continues = line[:1].isspace()
        try:
            if line.startswith("$"):
                origin, ttl = _read_directive(line, origin, ttl)
                continue
            if continues and lost:
                raise Unreadable(gettext("This line has no name, and the name on the line above is invalid."))
            entry = read_line(line, zone, origin=origin, last_owner=last_owner, means=means)
        except Unreadable as exc:
            found.append(replace(display, error=exc.message, column=exc.column))
        except AmbiguousName as exc:
            question = gettext("{typed} has no trailing dot. Use {absolute} or {relative}").format(
                typed=exc.typed, absolute=exc.absolute, relative=exc.relative
            )
            found.append(replace(display, error=question, column=line.find(exc.typed) + 1, doubled=True))
        else:
            last_owner, lost = entry.name, False
            found.append(replace(display, entry=replace(entry, default_ttl=ttl)))
            continue
        if not continues and not line.startswith("$"):
            # The lines below belong to this name, even if the rest of this line is invalid.
            owner = _owner_at(line, zone, origin, means)
            last_owner, lost = owner or last_owner, owner is None
    return found


def _owner_at(line: str, zone: str, origin: str, means: Reading | None) -> str | None:
    """Return the owner name at the start of a line, or None if it can't be parsed."""
    word = word_at(line, 0)
    try:
        return _owner(word[0], zone, origin, means) if word else None
    except (Unreadable, AmbiguousName):
        return None


def _read_directive(line: str, origin: str, ttl: int | None) -> tuple[str, int | None]:
    tokens, _ = split_fields(line)
    word = tokens[0].text.upper()
    if len(tokens) != 2 or word not in {"$ORIGIN", "$TTL"}:
        raise Unreadable(
            gettext("{word} isn’t supported here. Use only $ORIGIN or $TTL with one value.").format(word=word)
        )
    if word == "$TTL":
        return origin, _ttl_at(tokens[1].column, tokens[1].text)
    try:
        return names.parse(tokens[1].text, origin), ttl
    except BadName as exc:
        raise Unreadable(str(exc), tokens[1].column) from exc
