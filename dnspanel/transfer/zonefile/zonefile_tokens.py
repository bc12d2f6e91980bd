"""Split zone files into lines, entries and tokens with their places (RFC 1035 5.1).

An *entry* is one directive or record: a line, or several while a parenthesis is open. Tokens keep their escapes. Quoted
tokens are stored without their quotes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document
from dnspanel.zones.rules.violations import Severity

# Printable ASCII, tab and line feed.
_PLAIN = bytes((9, 10, *range(0x20, 0x7F)))
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LINE_ENDS = re.compile(rb"\r\n|\r|\n")
# The number of lines to search for a closing parenthesis in a file in which an earlier one was never closed.
_FOLLOWED = 50
# The length that is kept of a line that is too long, for messages.
_DISPLAYED = 200


class Unreadable(Exception):
    """Raised if an entry cannot be read, with the reason, the line (from 0, within the entry) and the column (from 1).

    If the severity is not ERROR, the zone can be imported without the entry.
    """

    def __init__(  # noqa: PLR0913  # the fields of a fault
        self,
        reason: str,
        code: str,
        column: int = 1,
        line: int = 0,
        *,
        fix: str = "",
        source: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.column = column
        self.line = line
        self.fix = fix
        self.source = source
        self.severity = severity


@dataclass(frozen=True, slots=True)
class Token:
    """One unquoted token or quoted string of an entry. `line` counts from 0 within the entry, and `column` from 1."""

    text: str
    quoted: bool
    line: int
    column: int

    @property
    def written(self) -> str:
        """The token as written in the file."""
        return f'"{self.text}"' if self.quoted else self.text

    @property
    def end(self) -> int:
        """The column after the token."""
        return self.column + len(self.text) + 2 * self.quoted


@dataclass(frozen=True, slots=True)
class Entry:
    """One directive or record. `blank` is True if the entry begins with white space and has the previous owner.

    `comment` is the comment on the last line, and `lines` is the number of lines.
    """

    blank: bool
    tokens: list[Token]
    comment: str
    lines: int


@dataclass(slots=True)
class Sheet:
    """One file of a zone, as lines. Each file has a different `base`, so places in different files differ.

    A file with a `fault` cannot be read, because it is in UTF-16 or has a line that is too long. Only the beginning of
    a line that is too long is kept.
    """

    document: Document
    base: int
    lines: list[str] = field(init=False)
    plain: bool = field(init=False)  # only printable ASCII and tabs
    closes: bool = field(init=False, default=True)  # every parenthesis so far was closed
    fault: Unreadable | None = field(init=False, default=None)
    fault_line: int = field(init=False, default=0)  # from 0

    def __post_init__(self) -> None:
        raw = self.document.text
        if raw.startswith(_UTF8_MARK):
            raw = raw[len(_UTF8_MARK) :]
        self.plain = not raw.translate(None, _PLAIN)
        if not self.plain and b"\r" in raw:
            raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            self.plain = not raw.translate(None, _PLAIN)
        text = raw.decode("ascii") if self.plain else raw.decode("utf-8", "surrogateescape")
        self.lines = text.split("\n")
        if len(raw) > import_limits.MOST_LINE_BYTES:
            self._cut_long_lines()
        if raw.startswith(_UTF16_MARKS):
            reason = gettext("wrong encoding: the file is UTF-16, but zone files must be ASCII or UTF-8")
            self.fault, self.fault_line = Unreadable(reason, "wrong-encoding"), 0

    def _cut_long_lines(self) -> None:
        for number, line in enumerate(self.lines):
            if len(line) > import_limits.MOST_LINE_BYTES:
                self.lines[number] = line[:_DISPLAYED]
                if self.fault is None:
                    self.fault, self.fault_line = Unreadable(import_limits.title("line"), "line-length"), number

    def lines_with_places(self) -> Iterator[tuple[int, str]]:
        return enumerate(self.lines, self.base)

    def offset(self, line: int, column: int) -> int:
        """Return the byte offset of a line (from 0) and column (from 1) in the file."""
        raw = self.document.text
        start = len(_UTF8_MARK) if raw.startswith(_UTF8_MARK) else 0
        for _, end in zip(range(line), _LINE_ENDS.finditer(raw), strict=False):
            start = end.end()
        return start + len(self.lines[line][: column - 1].encode("utf-8", "surrogateescape"))

    def block(self, at: int) -> list[str]:
        """Return the lines of the entry that begins at this line (from 0): one, or several if a parenthesis is open.

        Raise Unreadable if the parenthesis is never closed. Later calls then search only _FOLLOWED lines.
        """
        line = self.lines[at]
        if "(" not in line:
            return [line]
        depth = 0
        last = len(self.lines) if self.closes else min(at + _FOLLOWED, len(self.lines))
        for end in range(at, last):
            bare = _NOT_BARE.sub("", self.lines[end])
            depth += bare.count("(") - bare.count(")")
            if depth <= 0:
                return self.lines[at : end + 1]
        self.closes = False
        raise Unreadable(gettext("the parenthesis isn’t closed"), "parenthesis", _first_open(line))


# Escapes, quoted strings and comments, in which parentheses have no meaning.
_NOT_BARE = re.compile(r'\\.|"(?:[^"\\]|\\.)*"?|;.*')
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
    | (?P<comment>;.*)
    | (?P<layout>[()])
    | "(?P<quoted>(?:[^"\\]|\\.)*)"
    | (?P<word>(?:[^\x00-\x20\x7f;()"\\]|\\.)+)
    """,
    re.VERBOSE,
)
_HALF = re.compile("[\ud800-\udfff]")


def _first_open(line: str) -> int:
    return next((match.start() + 1 for match in _TOKEN.finditer(line) if match[0] == "("), line.find("(") + 1)


def read_entry(lines: list[str]) -> Entry:
    """Tokenize the entry in these lines. Raise Unreadable if a token is invalid."""
    tokens: list[Token] = []
    depth, comment = 0, ""
    for number, line in enumerate(lines):
        position, comment = 0, ""
        while position < len(line):
            match = _TOKEN.match(line, position)
            if match is None:
                raise Unreadable(*_what_is_wrong(line, position), position + 1, number)
            kind = match.lastgroup
            if kind == "word" or kind == "quoted":
                tokens.append(Token(match[kind], kind == "quoted", number, position + 1))
            elif kind == "comment":
                comment = match[0][1:]
            elif kind == "layout":
                depth += 1 if match[0] == "(" else -1
                if depth < 0:
                    raise Unreadable(
                        gettext("the closing parenthesis has no opening parenthesis"),
                        "parenthesis",
                        position + 1,
                        number,
                    )
            position = match.end()
    for token in tokens:
        if half := _HALF.search(token.text):
            raise Unreadable("", "wrong-encoding", token.column + half.start() + token.quoted, token.line)
    return Entry(lines[0][:1] in (" ", "\t"), tokens, clean_comment(comment), len(lines))


def join_tokens(tokens: list[Token]) -> str:
    """Join the tokens, with spaces only where the file has spaces: `alpn="h2"` is one word."""
    text = ""
    for before, token in zip([None, *tokens], tokens, strict=False):
        apart = before is not None and (before.line != token.line or before.end != token.column)
        text += " " * apart + token.written
    return text


def _what_is_wrong(line: str, position: int) -> tuple[str, str]:
    char = line[position]
    if char == '"':
        return gettext("the quote isn’t closed on the same line"), "quote"
    if char == "\\":
        return gettext("unexpected backslash at the end of the line"), "escape"
    reason = gettext("the control character {code} isn’t allowed here").format(code=f"U+{ord(char):04X}")
    return reason, "control-character"


def printable(text: str) -> str:
    """Replace lone surrogates (bytes that are not UTF-8), so that the text can be stored and displayed."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def clean_comment(text: str) -> str:
    """Return a comment on one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", printable(text)).split())


_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_COMMENTED = re.compile(r'((?:[^;"\\]|\\.|"(?:[^"\\]|\\.)*")*);(.*)')


def part_comment(line: str) -> tuple[str, str] | None:
    """Split a line into the text before its comment, and the comment. Return None if the line has no comment."""
    match = _COMMENTED.fullmatch(line)
    return None if match is None else (match[1], clean_comment(match[2]))


def comment_of(line: str) -> str:
    """Return the comment at the end of a line, or "" if the line has no comment."""
    parted = part_comment(line)
    return parted[1] if parted else ""


def flatten(lines: list[str]) -> str | None:
    """Join an entry's lines into one without comments. Return None unless it has exactly one pair of parentheses."""
    found: list[str] = []

    def flat(match: re.Match[str]) -> str:
        text = match[0]
        if text[0] in '"\\':
            return text
        found.append(text[0])
        return " "

    line = _PARTS.sub(flat, "\n".join(lines))
    return line if [part for part in found if part in "()"] == ["(", ")"] else None


# Quoted strings and escapes, which are kept, and comments, parentheses and line ends, which are removed.
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|\\.|;.*|[()\n]')
