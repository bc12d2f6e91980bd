"""Parse values in SQL dumps of MySQL, PostgreSQL and SQLite: literals of INSERT and fields of COPY. Pure."""

import re

# Text, bytes that are not UTF-8, a number as text, a boolean, or None for NULL.
Value = str | bytes | bool | None

_PLAIN_STRING = rb"'[^']*+(?:''[^']*+)*+'"
_ESCAPED_STRING = rb"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*+'"
_NUMBER = rb"(?:0x[0-9A-F]++|X'(?:[0-9A-F]{2})*'|B'[01]*'|[-+]?[0-9.][0-9.eE+-]*+)"
_CHARSET = rb"(?:_(?:binary|utf8|utf8mb3|utf8mb4|latin1)\s*)?"
_MOST_DEPTH = 8


class RowReader:
    """Parser for rows of INSERT (values in parentheses). `backslashes` means that strings have MySQL's escapes."""

    def __init__(self, *, backslashes: bool) -> None:
        self.backslashes = backslashes
        string = _ESCAPED_STRING if backslashes else _PLAIN_STRING
        value = rb"(?:%b%b|%b|E%b|NULL|TRUE|FALSE)" % (_CHARSET, string, _NUMBER, _ESCAPED_STRING)
        flags = re.DOTALL | re.IGNORECASE
        self._value = re.compile(value, flags)
        self._row = re.compile(rb"\s*\(\s*%b(?>(?:\s*,\s*%b)*)\s*\)" % (value, value), flags)

    def row(self, buffer: bytes, at: int) -> tuple[list[Value], int] | None:
        """Return the row that begins at an offset, and the offset after it, or None if it is incomplete or invalid."""
        found = self._row.match(buffer, at)
        if found is not None:
            return [self._literal(value) for value in self._value.findall(found[0])], found.end()
        # A row can have function calls, such as SQLite's `replace('a\nb', '\n', char(10))`.
        opening = _OPENING.match(buffer, at)
        return None if opening is None else self._arguments(buffer, opening.end(), 0)

    def _arguments(self, buffer: bytes, at: int, depth: int) -> tuple[list[Value], int] | None:
        """Return the values up to the closing parenthesis, and the offset after it, or None if they are invalid."""
        values: list[Value] = []
        while True:
            found = self._expression(buffer, at, depth)
            separator = None if found is None else _SEPARATOR.match(buffer, found[1])
            if found is None or separator is None:
                return None
            values.append(found[0])
            at = separator.end()
            if separator[1] == b")":
                return values, at

    def _expression(self, buffer: bytes, at: int, depth: int) -> tuple[Value, int] | None:
        """Return the value of a literal or a function call, and the offset after it, or None if it is invalid."""
        call = _CALL.match(buffer, at)
        if call is None:
            literal = self._value.match(buffer, at)
            return None if literal is None else (self._literal(literal[0]), literal.end())
        arguments = self._arguments(buffer, call.end(), depth + 1) if depth < _MOST_DEPTH else None
        called = None if arguments is None else _call_function(call[1].lower(), arguments[0])
        return None if called is None or arguments is None else (called, arguments[1])

    def _literal(self, literal: bytes) -> Value:
        first = literal[:1]
        if first == b"'":
            return text_or_bytes(_unquote_literal(literal, backslashes=self.backslashes))
        if literal[1:2] in (b"x", b"X"):
            digits = literal[2:].decode()
            return text_or_bytes(bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2)))
        if first in _DIGITS:
            return literal.decode()
        first = first.upper()
        if first == b"_":
            return text_or_bytes(_unquote_literal(literal[literal.index(b"'") :], backslashes=self.backslashes))
        if first == b"E":
            return text_or_bytes(_unquote_literal(literal[1:], backslashes=True))
        if first == b"X":
            return text_or_bytes(bytes.fromhex(literal[2:-1].decode()))
        if first == b"B":
            return str(int(literal[2:-1] or b"0", 2))
        return _CONSTANTS[first] if first in _CONSTANTS else literal.decode()


_DIGITS = frozenset(b"%d" % digit for digit in range(10))
_CONSTANTS: dict[bytes, Value] = {b"N": None, b"T": True, b"F": False}
_OPENING = re.compile(rb"\s*\(\s*")
_CALL = re.compile(rb"(replace|char|unistr)\s*\(\s*", re.IGNORECASE)
_SEPARATOR = re.compile(rb"\s*([,)])\s*")
_MYSQL_ESCAPES = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a"}
_STRING_ESCAPE = re.compile(rb"\\(.)|''", re.DOTALL)
_UNICODE_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|\+([0-9A-Fa-f]{6})|([0-9A-Fa-f]{4})|(\\))")


def _unquote_literal(literal: bytes, *, backslashes: bool) -> bytes:
    inside = literal[1:-1]
    if b"'" not in inside and not (backslashes and b"\\" in inside):
        return inside
    if not backslashes:
        return inside.replace(b"''", b"'")
    return _STRING_ESCAPE.sub(_unescape_match, inside)


def _unescape_match(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return b"'" if escape is None else _MYSQL_ESCAPES.get(escape, escape)


def _call_function(function: bytes, arguments: list[Value]) -> Value:
    """Return the result of a function that SQLite's dumps use, or None for other functions or arguments."""
    texts = [argument for argument in arguments if isinstance(argument, str)]
    if len(texts) != len(arguments):
        return None
    if function == b"replace" and len(texts) == 3 and texts[1]:
        return texts[0].replace(texts[1], texts[2])
    if function == b"char" and all(text.isdecimal() and int(text) < 0x110000 for text in texts):
        return "".join(chr(int(text)) for text in texts)
    if function == b"unistr" and len(texts) == 1:
        return _UNICODE_ESCAPE.sub(_character, texts[0])
    return None


def _character(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3] or match[4]
    return "\\" if digits is None else chr(min(int(digits, 16), 0x10FFFF))


_COPY_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_COPY_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


def parse_copy_field(field: bytes) -> Value:
    r"""Parse a field in COPY's text format. Return None for `\N`."""
    if b"\\" not in field:
        return text_or_bytes(field)
    return None if field == rb"\N" else text_or_bytes(_COPY_ESCAPE.sub(_copy_unescaped, field))


def _copy_unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if escape[:1] == b"x" and len(escape) > 1:
        return bytes((int(escape[1:], 16),))
    if escape[:1] in b"01234567":
        return bytes((int(escape, 8) & 0xFF,))
    return _COPY_ESCAPES.get(escape, escape)


def text_or_bytes(text: bytes) -> str | bytes:
    """Decode UTF-8 text. Return the unchanged bytes if they are not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text
