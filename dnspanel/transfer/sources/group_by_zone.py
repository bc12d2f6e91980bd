"""Group records by zone, regardless of their order in the source.

There can be millions of records, so they are stored in SQLite, with consecutive lines of one zone in one row. Most
files are ordered by zone, so most zones need only one row.
"""

import re
import sqlite3
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.import_limits import MOST_DOCUMENT_BYTES
from replication.dns import names

DEFAULT_TTL = "3600"
_TABLE = """
CREATE TABLE run (zone INTEGER, run INTEGER, text BLOB, lines BLOB, PRIMARY KEY (zone, run)) WITHOUT ROWID
"""
_MOST_RUN_BYTES = 1 << 20
_TYPE = re.compile(r"[A-Z][A-Z0-9-]{0,20}|TYPE\d{1,5}")
_TTL = re.compile(r"\d{1,10}|(?:\d{1,8}[smhdwSMHDW])+")
_DANGEROUS = frozenset(';()"\n\r')
_COMPLETE_VALUE = re.compile(r'(?:"(?:[^"\\\n\r]|\\[^\n\r])*"|\\[^\n\r]|[^;()"\\\n\r])+')
_NO_TTL = frozenset({"", "auto", "automatic", "default", "-"})


def record_line(  # noqa: PLR0913  # the fields of a record
    name: str,
    ttl: str,
    type: str,
    value: str,
    *,
    disabled: bool = False,
    comment: str = "",
    default_ttl: str = DEFAULT_TTL,
) -> str:
    """Return the record as a line of a zone file. `name` is canonical, and the names in `value` are absolute.

    A record without a TTL gets `default_ttl`. If the default is empty, the line has no TTL.

    Raise ValueError, with the reason, if the fields don't form exactly one record on one line.
    """
    if not _TYPE.fullmatch(type):
        raise ValueError(gettext("“{type}” isn’t a valid record type").format(type=type))
    if ttl.lower() in _NO_TTL:
        ttl = default_ttl
    elif not _TTL.fullmatch(ttl):
        raise ValueError(gettext("“{ttl}” isn’t a valid TTL").format(ttl=ttl))
    if not value:
        raise ValueError(gettext("the value is empty"))
    if not _DANGEROUS.isdisjoint(value) and not _COMPLETE_VALUE.fullmatch(value):
        raise ValueError(gettext("the value has a line break, or a “;”, parenthesis or quote outside quotes"))
    note = f" ; {' '.join(comment.split())}" if comment and not comment.isspace() else ""
    ttl = f" {ttl}" if ttl else ""
    return f"{';!disabled ' if disabled else ''}{name}{ttl} IN {type} {value}{note}\n"


class ZoneCollector:
    """Collector of zone-file lines in any order that makes one document per zone, in the order of first lines."""

    def __init__(self, folder: Path) -> None:
        self._numbers: dict[str, int] = {}
        self._zone = ""
        self._parts: list[str] = []
        self._lines = array("I")
        self._size = 0
        self._runs = 0
        self._rows = _private_database(folder)

    def add(self, zone: str, text: str, line: int) -> None:
        """Add one line of zone-file text to the zone. `line` is the line's number in the file."""
        if zone != self._zone or self._size > _MOST_RUN_BYTES:
            self._flush()
            self._zone = zone
        self._parts.append(text)
        self._lines.append(line)
        self._size += len(text)

    def documents(self, path: str) -> Iterator[Document | SourceFault]:
        """Yield a document for each collected zone, or a fault if the zone is too large. Can be called repeatedly."""
        self._flush()
        for zone, number in self._numbers.items():
            where = "FROM run WHERE zone = ? ORDER BY run"
            size, first = self._rows.execute(
                "SELECT sum(length(text)), min(run) FROM run WHERE zone = ?", (number,)
            ).fetchone()
            if size > MOST_DOCUMENT_BYTES:
                lines = array("I", self._rows.execute(f"SELECT lines {where}", (number,)).fetchone()[0])
                reason = gettext("the zone is too large: {title}").format(title=import_limits.title("document"))
                yield SourceFault(path, lines[0], 1, "", reason, "document", zone=zone)
                continue
            assert first is not None
            rows = self._rows.execute(f"SELECT text, lines {where}", (number,)).fetchall()
            lines = array("I", b"".join(row[1] for row in rows))
            yield Document(path, b"".join(row[0] for row in rows), zone, lines)

    def _flush(self) -> None:
        if self._parts:
            number = self._numbers.setdefault(self._zone, len(self._numbers))
            # Lone surrogates become bytes that are not UTF-8, so that the parser reports their line.
            text = "".join(self._parts).encode("utf-8", "surrogatepass")
            self._rows.execute("INSERT INTO run VALUES (?, ?, ?, ?)", (number, self._runs, text, self._lines.tobytes()))
            self._runs += 1
        self._parts, self._lines, self._size = [], array("I"), 0


def text_of_txt(value: str) -> str:
    """Split a TXT value into quoted strings of at most 255 bytes. Return an already quoted value unchanged."""
    if value.startswith('"') and value.endswith('"') and len(value) > 1 and _COMPLETE_VALUE.fullmatch(value):
        return value
    raw = value.encode("utf-8", "surrogateescape")
    return " ".join(f'"{_escape_bytes(raw[at : at + 255])}"' for at in range(0, len(raw) or 1, 255))


def absolute_name(text: str, zone: str) -> str:
    """Convert a name from a table to absolute form. A name with dots is absolute even without a trailing dot."""
    if text == "@":
        return zone
    if text.endswith(".") and not text.endswith("\\."):
        return text
    return f"{text}." if "." in text or zone == names.ROOT else f"{text}.{zone}"


def _escape_bytes(raw: bytes) -> str:
    plain = raw.decode("latin-1")
    if plain.isascii() and plain.isprintable() and '"' not in plain and "\\" not in plain:
        return plain
    return "".join(
        f"\\{chr(byte)}" if byte in b'"\\' else chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03d}" for byte in raw
    )


def _private_database(folder: Path) -> sqlite3.Connection:
    """Open an SQLite database in an unnamed file in this folder. The file disappears with the connection."""
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".rows", delete=False) as file:
        path = Path(file.name)
    try:
        rows = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # The connection keeps the file open from here on. None of the data has to survive a crash.
        for setting in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -32768"):
            rows.execute(f"PRAGMA {setting}")
        rows.execute(_TABLE)
        rows.execute("BEGIN")
    finally:
        with suppress(OSError):
            path.unlink()
    return rows
