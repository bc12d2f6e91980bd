r"""Read certain tables from a text dump by pg_dump, mysqldump, phpMyAdmin or sqlite3's `.dump`.

Nothing is executed. The dump is read as a stream, with only one row in memory, even for a long statement. Other
statements are skipped, with the quotes and comments in them.

    CREATE TABLE records (id …, name …);            the columns, for INSERTs that do not name them
    INSERT INTO records [(columns)] VALUES (…), (…);
    COPY public.records (columns) FROM stdin;       rows follow as lines, up to `\.`

Backslashes in strings are escapes in MySQL's dumps and in PostgreSQL's E'…'. In other strings they are plain
backslashes.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from dnspanel.texts import gettext
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.sql_literals import RowReader, Value, parse_copy_field

MOST_ROW_BYTES = 4 << 20
MOST_HEAD_BYTES = 256 << 10  # bytes of CREATE TABLE, or of an INSERT before its rows
_AHEAD_BYTES = 512 << 10
_MOST_SOURCE = 200


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a requested table."""

    table: str
    columns: tuple[str, ...]
    values: list[Value]


@dataclass(frozen=True, slots=True)
class BadLine:
    """A place in the dump that cannot be parsed."""

    line: int
    source: str
    reason: str


class _Unreadable(Exception):
    """Raised if the dump's text is not a valid row. The error's message is for the user."""


def dump_rows(chunks: Iterator[bytes], tables: Collection[str]) -> Iterator[TableRow | BadLine]:
    """Yield every row of these tables, or a BadLine for an unreadable place, in the dump's order.

    Raise SourceRefused for a PostgreSQL archive, a table that the dump has twice, or rows without known columns.
    """
    return _Dump(_Text(chunks), frozenset(tables)).rows()


class _Text:
    """The dump's buffered part, with the current position and its line number."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.buffer = b""
        self.at = 0
        self.line = 1
        self.ended = False

    def fill(self, size: int = _AHEAD_BYTES) -> bool:
        """Read until `size` bytes are buffered after the current position. Return False if no bytes are left."""
        if len(self.buffer) - self.at < size and not self.ended:
            parts = [self.buffer[self.at :]]
            have = len(parts[0])
            # Read twice the requested size, so that the buffer is not moved for every row.
            while have < 2 * size:
                chunk = next(self._chunks, None)
                if chunk is None:
                    self.ended = True
                    break
                parts.append(chunk)
                have += len(chunk)
            self.buffer, self.at = b"".join(parts), 0
        return self.at < len(self.buffer)

    def advance(self, to: int) -> None:
        """Move to a position in the buffer, and count the lines up to it."""
        self.line += self.buffer.count(b"\n", self.at, to)
        self.at = to

    def match(self, pattern: re.Pattern[bytes]) -> re.Match[bytes] | None:
        """Return the pattern's match at the current position and move past it. Return None if there is no match."""
        self.fill()
        found = pattern.match(self.buffer, self.at)
        if found is not None:
            self.advance(found.end())
        return found

    def skip_past(self, end: bytes) -> None:
        """Move past the next occurrence of `end`, or to the end of the dump."""
        while self.fill():
            found = self.buffer.find(end, self.at)
            if found >= 0:
                self.advance(found + len(end))
                return
            self.advance(len(self.buffer) if self.ended else max(self.at, len(self.buffer) - len(end) + 1))
            if self.ended:
                return
            self.fill(len(self.buffer) - self.at + _AHEAD_BYTES)

    def source_line(self) -> str:
        """Return the rest of the current line, cut to 200 bytes, for messages."""
        self.fill(_MOST_SOURCE)
        return self.buffer[self.at : self.at + _MOST_SOURCE].split(b"\n", 1)[0].decode("utf-8", "replace")


_SPACE = re.compile(rb"[\s\0]+|--[^\n]*|\#[^\n]*|\\[^\n]*")
# No database has longer quoted names. Without the bound, each opening quote would cause a search to the end.
_IDENTIFIER = rb'(?:`(?:[^`]|``){1,255}`|"(?:[^"]|""){1,255}"|\[[^\[\]]{1,255}\]|[A-Za-z_][\w$]*)'
_TABLE = rb"(?P<table>%b(?:\s*\.\s*%b)*)" % (_IDENTIFIER, _IDENTIFIER)
_CREATE = re.compile(rb"CREATE\s+(?:UNLOGGED\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?%b\s*\(" % _TABLE, re.IGNORECASE)
_INSERT = re.compile(
    rb"(?:INSERT(?:\s+(?:LOW_PRIORITY|DELAYED|HIGH_PRIORITY))?(?:\s+IGNORE)?|INSERT\s+OR\s+\w+|REPLACE)\s+INTO\s+"
    rb"%b\s*(?:\((?P<columns>[^()]*)\)\s*)?(?:OVERRIDING\s+\w+\s+VALUE\s+)?VALUES\s*" % _TABLE,
    re.IGNORECASE,
)
_COPY = re.compile(rb"COPY\s+%b\s*\((?P<columns>[^()]*)\)\s+FROM\s+stdin;[^\n]*\n" % _TABLE, re.IGNORECASE)
_PLAIN_STRINGS_OFF = re.compile(rb"SET\s+standard_conforming_strings\s*=\s*off", re.IGNORECASE)
# The end of a statement, or the start of a quote or comment, in which a semicolon has no meaning.
_END_OR_QUOTE = re.compile(rb"""[;'"`]|--|/\*|\$\w*\$""")
# The text after a row.
_SEPARATOR = re.compile(rb"\s*([,;]|ON\b|\Z)\s*", re.IGNORECASE)
# A part of a string with escapes, short enough that the buffer can be filled again after it.
_ESCAPED_PART = re.compile(rb"[^'\\]{1,65536}|\\.|'", re.DOTALL)
_CONSTRAINTS = frozenset(
    {"primary", "key", "unique", "constraint", "foreign", "index", "check", "fulltext", "spatial", "exclude", "like"}
)


class _Dump:
    def __init__(self, text: _Text, tables: frozenset[str]) -> None:
        self._text = text
        self._tables = tables
        self._columns: dict[str, tuple[str, ...]] = {}
        self._reader = RowReader(backslashes=self._has_backslashes())

    def _has_backslashes(self) -> bool:
        self._text.fill()
        if self._text.buffer.startswith(b"PGDMP"):
            raise SourceRefused(
                gettext("this is a PostgreSQL archive: convert it to text with `pg_restore -f dump.sql`")
            )
        head = self._text.buffer[: 64 << 10]
        return bool(re.search(rb"MySQL dump|MariaDB dump|phpMyAdmin|ENGINE\s*=|/\*!\d{5}|`", head))

    def rows(self) -> Iterator[TableRow | BadLine]:
        text = self._text
        while self._skip_space():
            if _PLAIN_STRINGS_OFF.match(text.buffer, text.at):
                self._reader = RowReader(backslashes=True)
            if head := text.match(_CREATE):
                yield from self._create(head)
            elif head := text.match(_INSERT):
                yield from self._insert(head)
            elif head := text.match(_COPY):
                yield from self._copy(head)
            else:
                self._skip_statement()

    def _skip_space(self) -> bool:
        """Move to the next statement. Return False at the end of the dump."""
        text = self._text
        while text.fill():
            if text.buffer.startswith(b"/*", text.at):
                text.skip_past(b"*/")
            elif text.buffer.startswith(b";", text.at):
                text.advance(text.at + 1)
            elif text.match(_SPACE) is None:
                return True
        return False

    def _skip_statement(self) -> bytes:
        """Move past the statement's semicolon. Return the beginning of the statement, up to about MOST_HEAD_BYTES."""
        text = self._text
        out = bytearray()
        while text.fill():
            found = _END_OR_QUOTE.search(text.buffer, text.at)
            end = len(text.buffer) if found is None else found.end()
            if len(out) < MOST_HEAD_BYTES:
                out += text.buffer[text.at : end]
            text.advance(end)
            if found is None:
                continue
            if found[0] == b";":
                break
            start = text.at
            self._skip_quoted(found[0])
            if text.at > start and len(out) < MOST_HEAD_BYTES:
                out += text.buffer[start : text.at][:MOST_HEAD_BYTES]
        return bytes(out)

    def _skip_quoted(self, opening: bytes) -> None:
        """Move past the end of the quote or comment that began with `opening`."""
        text = self._text
        if opening == b"--":
            text.skip_past(b"\n")
        elif opening == b"/*":
            text.skip_past(b"*/")
        elif opening.startswith(b"$"):
            text.skip_past(opening)
        elif opening == b"'" and self._reader.backslashes:
            while text.fill() and (part := text.match(_ESCAPED_PART)) is not None and part[0] != b"'":
                pass
        else:
            text.skip_past(opening)

    def _table_of(self, head: re.Match[bytes]) -> str | None:
        name = _names(head["table"])[-1] if head["table"] else ""
        return name if name in self._tables else None

    def _create(self, head: re.Match[bytes]) -> Iterator[BadLine]:
        line = self._text.line
        body = self._skip_statement()
        table = self._table_of(head)
        if table is None:
            return
        if table in self._columns:
            raise SourceRefused(
                gettext("the dump has the table {table} twice: dump only one PowerDNS database").format(table=table)
            )
        self._columns[table] = tuple(_column_names(body))
        if not self._columns[table]:
            yield BadLine(
                line, head[0].decode("utf-8", "replace")[:_MOST_SOURCE], gettext("the table’s columns couldn’t be read")
            )

    def _insert(self, head: re.Match[bytes]) -> Iterator[TableRow | BadLine]:
        table = self._table_of(head)
        if table is None:
            self._skip_statement()
            return
        columns = tuple(_names(head["columns"])) if head["columns"] is not None else self._columns.get(table)
        if columns is None:
            raise SourceRefused(
                gettext("the columns for {table} are missing: include CREATE TABLE in the dump").format(table=table)
            )
        text = self._text
        while True:
            line, source_line = text.line, ""
            try:
                source_line = text.source_line()
                values = self._row()
                if len(values) != len(columns):
                    yield BadLine(line, source_line, _reason_of_count(values, columns))
                else:
                    yield TableRow(table, columns, values)
                separator = text.match(_SEPARATOR)
                if separator is None:
                    raise _Unreadable(gettext("the row must end with a comma or semicolon"))
            except _Unreadable as exc:
                reason = gettext("{reason} (the rest of the statement is left out)").format(reason=exc)
                yield BadLine(line, source_line, reason)
                self._skip_statement()
                return
            if separator[1] != b",":
                if separator[1] != b";":
                    self._skip_statement()
                return

    def _row(self) -> list[Value]:
        """Return the next row of an INSERT and move past it. If it is invalid, raise _Unreadable and don't move."""
        text, size = self._text, _AHEAD_BYTES
        while text.fill(size):
            found = self._reader.row(text.buffer, text.at)
            if found is not None:
                text.advance(found[1])
                return found[0]
            if text.ended or size > MOST_ROW_BYTES:
                break
            size *= 4  # the row can be longer than the buffer
        raise _Unreadable(gettext("invalid row of values"))

    def _copy(self, head: re.Match[bytes]) -> Iterator[TableRow | BadLine]:
        table, text = self._table_of(head), self._text
        columns = tuple(_names(head["columns"]))
        while text.fill():
            end = text.buffer.find(b"\n", text.at)
            if end < 0 and not text.ended:
                if len(text.buffer) - text.at > MOST_ROW_BYTES:
                    yield BadLine(text.line, text.source_line(), gettext("the line is too long"))
                    text.skip_past(b"\n")
                else:
                    text.fill(len(text.buffer) - text.at + _AHEAD_BYTES)
                continue
            line, number = text.buffer[text.at : end if end >= 0 else None].removesuffix(b"\r"), text.line
            text.advance(end + 1 if end >= 0 else len(text.buffer))
            if line == b"\\.":
                return
            if table is None:
                continue
            values = [parse_copy_field(field) for field in line.split(b"\t")]
            if len(values) == len(columns):
                yield TableRow(table, columns, values)
            else:
                source = line[:_MOST_SOURCE].decode("utf-8", "replace")
                yield BadLine(number, source, _reason_of_count(values, columns))


def _reason_of_count(values: Sequence[object], columns: Sequence[str]) -> str:
    return gettext("the row has {values} values, but the table has {columns} columns").format(
        values=len(values), columns=len(columns)
    )


def _names(text: bytes) -> list[str]:
    """Return the identifiers in a comma- or dot-separated list, in lowercase and without quotes."""
    return [_name(name) for name in re.findall(_IDENTIFIER, text)]


def _name(identifier: bytes) -> str:
    name = identifier.decode("utf-8", "replace")
    return (name[1:-1] if name[0] in '`"[' else name).lower()


def _column_names(body: bytes) -> Iterator[str]:
    """Yield the column names in the text between the parentheses of CREATE TABLE."""
    begins = True
    depth = 0
    for token in re.finditer(rb"--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*'|%b|[(),]" % _IDENTIFIER, body, re.DOTALL):
        word = token[0]
        if word.startswith((b"--", b"/*")):
            continue
        if begins and re.fullmatch(_IDENTIFIER, word):
            # Only a quoted column can be named `key`.
            if word[:1] in b'`"[' or _name(word) not in _CONSTRAINTS:
                yield _name(word)
            begins = False
        elif word == b"(":
            depth += 1
        elif word == b")":
            depth -= 1
            if depth < 0:
                return
        elif word == b"," and depth == 0:
            begins = True
