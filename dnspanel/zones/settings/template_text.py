r"""Parse the text of templates (zone-file lines with variables), and replace the variables. Pure.

    www 300 IN A {{ ip }}    a variable, named with lowercase letters, digits and underscores
    {{ zone }}               the zone's name without its trailing dot: `example.com`
    {{ zone_dashed }}        the same with dashes for dots: `example-com`
    {{ name }}               the name that a snippet is for, without the trailing dot; in a zone template the zone

Two braces always begin a variable. For a record with two braces, write `\123\123` as in any zone file. A variable's
value is always one field or a part of one. Characters with a meaning in zone files are escaped, so that a value never
begins another record. Every step is linear in the length of the text, which is limited.
"""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dnspanel.texts import gettext, gettext_noop, joined
from replication.dns import names
from replication.errors import BadName

LONGEST_TEXT = 65_536  # characters in a version
LONGEST_EXPANDED = 262_144
LONGEST_VALUE = 1_000
LONGEST_LABEL = 80
LONGEST_NAME = 32
MOST_VARIABLES = 50
MOST_NUMBER = 2**32 - 1

OPEN, CLOSE = "{{", "}}"
BUILT_IN = frozenset(("zone", "zone_dashed", "name"))
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
_LETTERS = _FIRST | frozenset("0123456789_")
# Characters that need no escape in a word of a zone file.
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/=+,*!#%&'?[]^`|~<>")


class VariableKind(StrEnum):
    """The kinds of template variables."""

    HOSTNAME = "hostname"  # a full name with a trailing dot, else a name below the place of the records
    IPV4 = "ipv4"
    IPV6 = "ipv6"
    TEXT = "text"
    NUMBER = "number"


KIND_LABELS = {
    VariableKind.HOSTNAME: gettext_noop("host name"),
    VariableKind.IPV4: gettext_noop("IPv4 address"),
    VariableKind.IPV6: gettext_noop("IPv6 address"),
    VariableKind.TEXT: gettext_noop("text"),
    VariableKind.NUMBER: gettext_noop("number"),
}
# Sample values for trying a text.
_SAMPLES = {
    VariableKind.IPV4: "192.0.2.1",
    VariableKind.IPV6: "2001:db8::1",
    VariableKind.TEXT: "text",
    VariableKind.NUMBER: "10",
}


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a template version. A variable without a default needs a value."""

    name: str
    label: str
    kind: VariableKind
    default: str = ""

    @property
    def sample(self) -> str:
        """A sample value for testing the text: the default, or else a value that fits the kind.

        Each host name variable without a default has a different sample.
        """
        return self.default or _SAMPLES.get(self.kind, self.name.replace("_", "-"))

    def to_json(self) -> dict[str, str]:
        return {"name": self.name, "label": self.label, "kind": str(self.kind), "default": self.default}

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> "Variable":
        return cls(obj["name"], obj["label"], VariableKind(obj["kind"]), obj["default"])


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in a template's text or a variable's value. Line and column start at 1, and line 0 is the whole text."""

    line: int
    column: int
    message: str
    variable: str = ""

    def __str__(self) -> str:
        if not self.line:
            return self.message
        return gettext("Line {line}, column {column}: {message}").format(
            line=self.line, column=self.column, message=self.message
        )


class BadText(Exception):
    """The template's text has invalid variables or is too long, or variables have invalid or missing values."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        super().__init__(joined(" ", map(str, faults)))


@dataclass(frozen=True, slots=True)
class _Piece:
    """The position of a variable in the template's line, and of its value in the expanded line. Columns start at 1."""

    column: int  # in the template
    start: int  # in the expanded line
    end: int  # after the last column
    width: int  # in the template
    variable: str


@dataclass(frozen=True, slots=True)
class Expanded:
    """A template's text with its variables replaced. Line numbers are unchanged."""

    text: str
    pieces: Mapping[int, Sequence[_Piece]]

    def place(self, line: int, column: int) -> tuple[int, str]:
        """Convert a column of the expanded line to the template's column. Also return its variable's name, or ""."""
        pieces = self.pieces.get(line, ())
        at = bisect_right(pieces, column, key=lambda piece: piece.start) - 1
        if at < 0:
            return column, ""
        piece = pieces[at]
        if column < piece.end:
            return piece.column, piece.variable
        return column - piece.end + piece.column + piece.width, ""


def variables_of(text: str) -> list[str]:
    """Return the names of the text's variables, except built-in ones, in order. Raise BadText if it is invalid."""
    _refuse_long(text)
    found: dict[str, None] = {}
    faults: list[Fault] = []
    for number, line in enumerate(text.split("\n"), 1):
        for part in _parts(line, number, faults):
            if isinstance(part, _Placeholder) and part.name not in BUILT_IN:
                found[part.name] = None
    if len(found) > MOST_VARIABLES:
        faults.append(
            Fault(
                0,
                0,
                gettext("A template can have at most {most_variables} variables, not {count}.").format(
                    most_variables=MOST_VARIABLES, count=len(found)
                ),
            )
        )
    if faults:
        raise BadText(faults)
    return list(found)


def expand(text: str, words: Mapping[str, str]) -> Expanded:
    """Replace the variables with `words`, which are values from `word_of`.

    Raise BadText for invalid variables or missing values, or if the text is too long before or after the replacement.
    """
    _refuse_long(text)
    faults: list[Fault] = []
    lines: list[str] = []
    pieces: dict[int, list[_Piece]] = {}
    size = 0
    for number, line in enumerate(text.split("\n"), 1):
        made: list[str] = []
        width = 0
        for part in _parts(line, number, faults):
            word = part if isinstance(part, str) else words.get(part.name)
            if word is None:
                assert isinstance(part, _Placeholder)
                faults.append(
                    Fault(
                        number,
                        part.column,
                        gettext("the variable {name} doesn’t have a value").format(name=part.name),
                        part.name,
                    )
                )
                continue
            if isinstance(part, _Placeholder):
                start = width + 1
                piece = _Piece(part.column, start, start + len(word), part.width, part.name)
                pieces.setdefault(number, []).append(piece)
            width += len(word)
            size += len(word)
            if size > LONGEST_EXPANDED:
                message = gettext("with these values, the text is longer than {longest_expanded:,} characters").format(
                    longest_expanded=LONGEST_EXPANDED
                )
                raise BadText([*faults, Fault(number, 1, message)])
            made.append(word)
        lines.append("".join(made))
    if faults:
        raise BadText(faults)
    return Expanded("\n".join(lines), pieces)


def expanded_values(
    variables: Iterable[Variable], values: Mapping[str, str], *, zone: str, name: str
) -> dict[str, str]:
    """Return each variable's value in zone-file syntax, including the built-in ones for this canonical zone and name.

    The default replaces an empty or missing value. Raise BadText if a value is missing or invalid.
    """
    bare = _bare(zone)
    words = {"zone": bare, "zone_dashed": bare.replace(".", "-"), "name": _bare(name)}
    faults = []
    for variable in variables:
        try:
            words[variable.name] = word_of(variable, values.get(variable.name, ""))
        except ValueError as exc:
            faults.append(Fault(0, 0, str(exc), variable.name))
    if faults:
        raise BadText(faults)
    return words


def word_of(variable: Variable, typed: str) -> str:
    """Convert a typed value to zone-file syntax. If it is invalid, raise ValueError with a message for the user."""
    value = typed.strip() or variable.default
    if not value:
        raise ValueError(gettext("{label} is missing.").format(label=variable.label))
    if len(value) > LONGEST_VALUE:
        raise ValueError(
            gettext("{label} has {count:,} characters, but at most {longest_value:,} are allowed.").format(
                label=variable.label, count=len(value), longest_value=LONGEST_VALUE
            )
        )
    if variable.kind is VariableKind.HOSTNAME:
        return _hostname(value)
    if variable.kind is VariableKind.TEXT:
        return _text(value)
    if variable.kind is VariableKind.NUMBER:
        return _number(value)
    return _address(variable.kind, value)


def is_name(text: str) -> bool:
    """Return True if `text` is a valid variable name."""
    return 0 < len(text) <= LONGEST_NAME and text[0] in _FIRST and _LETTERS.issuperset(text)


@dataclass(frozen=True, slots=True)
class _Placeholder:
    name: str
    column: int
    width: int


def _parts(line: str, number: int, faults: list[Fault]) -> Iterable[str | _Placeholder]:
    """Yield the strings and variables in a line, in order. Add an error to `faults` for each invalid variable."""
    at = 0
    while (start := line.find(OPEN, at)) >= 0:
        if start > at:
            yield line[at:start]
        end = line.find(CLOSE, start + len(OPEN))
        if end < 0:
            faults.append(
                Fault(
                    number,
                    start + 1,
                    gettext("“{{” starts a variable, but its end is missing. To enter plain text, use \\123\\123"),
                )
            )
            return
        name = line[start + len(OPEN) : end].strip(" \t")
        at = end + len(CLOSE)
        if is_name(name):
            yield _Placeholder(name, start + 1, at - start)
        else:
            message = gettext(
                "“{name}” isn’t a valid variable. Start with a lowercase letter and use up to {longest_name} "
                "lowercase letters, digits and underscores"
            ).format(name=name[:LONGEST_NAME], longest_name=LONGEST_NAME)
            faults.append(Fault(number, start + 1, message))
    if at < len(line):
        yield line[at:]


def _refuse_long(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        message = gettext(
            "A template can have at most {longest_text:,} characters, but this one has {count:,}."
        ).format(longest_text=LONGEST_TEXT, count=len(text))
        raise BadText([Fault(0, 0, message)])


def _bare(name: str) -> str:
    """Return a name without its trailing dot. The root stays unchanged."""
    return name if name == names.ROOT else name[:-1]


def _hostname(value: str) -> str:
    if value == "@":
        return value
    try:
        name = names.parse(value)
    except BadName as exc:
        raise ValueError(f"{exc}.") from exc
    return name if value.endswith((".", "。", "．", "｡")) else name[:-1]


def _address(kind: VariableKind, value: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value) if kind is VariableKind.IPV4 else _ipv6(value))
    except ValueError as exc:
        message = (
            gettext("“{value}” isn’t a valid IPv4 address. Example: 192.0.2.1.")
            if kind is VariableKind.IPV4
            else gettext("“{value}” isn’t a valid IPv6 address. Example: 2001:db8::1.")
        )
        raise ValueError(message.format(value=value[:60])) from exc


def _ipv6(value: str) -> ipaddress.IPv6Address:
    address = ipaddress.IPv6Address(value)
    if address.scope_id:
        raise ValueError(value)
    return address


def _number(value: str) -> str:
    if not (value.isascii() and value.isdigit() and len(value) <= 10 and int(value) <= MOST_NUMBER):
        raise ValueError(
            gettext("“{value}” is not a number from 0 to {most_number:,}.").format(
                value=value[:60], most_number=MOST_NUMBER
            )
        )
    return str(int(value))


def _text(value: str) -> str:
    if not value.isprintable():
        raise ValueError(gettext("The text contains characters that cannot be displayed."))
    return "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03}" for byte in value.encode())
