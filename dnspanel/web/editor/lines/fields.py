"""Split text into fields by the rules of zone files. Each field has the column where it starts."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dns.exception import DNSException
from dns.tokenizer import QUOTED_STRING
from dns.tokenizer import Token as DNSToken

from dnspanel.counted_lines import numbered_lines
from dnspanel.texts import gettext

LONGEST_STRING = 255

# An unquoted field can contain a quoted part, as in `alpn="h2,h3"`.
_FIELD = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^\s"();\\]|\\.)(?:[^\s"();\\]|\\.|"(?:[^"\\]|\\.)*")*', re.DOTALL)
_TEXT_FIELD = re.compile(r'"(?:[^"\\]|\\.)*"|(?:[^\s"\\]|\\.)+', re.DOTALL)
_WORD = re.compile(r"\s*((?:\\.|\S)+)")


class Unreadable(Exception):
    """Raised for text that can't be parsed, with the reason and the column (from 1)."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True, slots=True)
class Token:
    """One field of a line, as written, and the column where it starts."""

    text: str
    column: int

    @property
    def is_quoted(self) -> bool:
        return self.text.startswith('"')


def word_at(text: str, position: int) -> tuple[Token, int] | None:
    """Return the next token at or after a position, and the token's end. Return None if no token follows."""
    match = _WORD.match(text, position)
    return None if match is None else (Token(match.group(1), match.start(1) + 1), match.end())


def split_fields(text: str, *, comments: bool = True, start: int = 0) -> tuple[list[Token], str]:
    """Split a line, from the offset `start`, into fields and the comment after `;` (if `comments` is True).

    Raise Unreadable for unbalanced quotes or parentheses, a final backslash, or a bare `;` if `comments` is False.
    """
    found: list[Token] = []
    position, depth = start, 0
    while position < len(text):
        char = text[position]
        if char.isspace():
            position += 1
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth < 0:
                raise Unreadable(gettext("This closing parenthesis has no opening parenthesis."), position + 1)
            position += 1
        elif char == ";" and comments:
            end = text.find("\n", position)
            if depth == 0 or end == -1:
                return found, text[position + 1 :].strip()
            position = end
        else:
            field_ = _FIELD.match(text, position)
            if field_ is None:
                raise Unreadable(_what_is_open(char), position + 1)
            found.append(Token(field_.group(), position + 1))
            position = field_.end()
    if depth:
        raise Unreadable(gettext("The closing parenthesis is missing."), len(text))
    return found, ""


def split_text(text: str, start: int = 0) -> list[Token]:
    """Split TXT rdata from `start` into fields. Raise Unreadable for an open quote or a final backslash."""
    found: list[Token] = []
    position = start
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        field_ = _TEXT_FIELD.match(text, position)
        if field_ is None:
            raise Unreadable(_what_is_open(text[position]), position + 1)
        found.append(Token(field_.group(), position + 1))
        position = field_.end()
    return found


def _what_is_open(char: str) -> str:
    if char == '"':
        return gettext("The closing quote is missing.")
    if char == "\\":
        return gettext("The value cannot end with a backslash.")
    return gettext("{char!r} must be in quotes here.").format(char=char)


def part_comment(text: str) -> tuple[str, str]:
    """Split a line into its value and its comment.

    A comment starts with a `;` after a space, outside quotes. A value that contains such a `;` must be in quotes.
    """
    quoted, escaped = False, False
    for position, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == '"':
            quoted = not quoted
        elif char == ";" and not quoted and position and text[position - 1].isspace():
            return text[:position], text[position + 1 :].strip()
    return text, ""


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line), joining lines while a parenthesis is open. Skip empty lines and comments."""
    pending: list[str] = []
    started, depth = 0, 0
    for number, line in numbered_lines(text):
        if not pending and (not line.strip() or line.lstrip().startswith(";")):
            continue
        if not pending:
            started, depth = number, 0
        pending.append(line)
        depth += _open_parentheses(line)
        if depth <= 0:
            yield started, "\n".join(pending)
            pending = []
    if pending:
        yield started, "\n".join(pending)


def _open_parentheses(text: str) -> int:
    if "(" not in text and ")" not in text:
        return 0
    depth = 0
    bare = re.sub(r'\\.|"(?:[^"\\]|\\.)*"|;[^\n]*', "", text, flags=re.DOTALL)
    for char in bare:
        depth += {"(": 1, ")": -1}.get(char, 0)
    return depth


def string_bytes(token: Token) -> bytes:
    inner = token.text[1:-1] if token.is_quoted else token.text
    try:
        value = DNSToken(QUOTED_STRING, inner).unescape_to_bytes().value
    except DNSException as exc:
        raise Unreadable(
            gettext("A backslash must be followed by one character or by three digits up to 255."), token.column
        ) from exc
    assert isinstance(value, bytes)
    return value


def quote(raw: bytes) -> str:
    def escape_byte(byte: int) -> str:
        if byte in b'"\\':
            return "\\" + chr(byte)
        return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03d}"

    return '"' + "".join(escape_byte(byte) for byte in raw) + '"'
