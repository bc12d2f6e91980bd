"""Detect a table's columns from the headers of common exports, or else from the content."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from replication.dns import rdata, rdtypes
from replication.errors import BadRdata

# Python's csv refuses cells of over 131,072 characters. A record of 64 KiB with each byte escaped has twice as many.
csv.field_size_limit(rdata.MAX_TEXT)
DELIMITERS = ",;\t|"
FIELDS = ("zone", "name", "type", "ttl", "value", "priority", "disabled", "comment", "value_comment", "tags", "rdclass")
_MOST_CELLS = 200
# The header is searched in this many rows at the beginning.
HEADER_WITHIN = 30
_STATED_DELIMITER = re.compile(rf'"?sep=([{DELIMITERS}])"?', re.IGNORECASE)
_LEAST_HEADERS = 2

# The headers of PowerDNS-Admin, Cloudflare, Route 53, cPanel, Hetzner, Plesk, phpIPAM, GoDaddy, Namecheap, deSEC and
# our own exports. Words with a clearer meaning come first.
_HEADERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "zone": ("zone", "zonename", "hostedzone", "hostedzonename", "domain", "domainname", "origin"),
        "name": (
            *("recordname", "ownername", "owner", "fqdn", "host", "hostname", "hostrecord"),
            *("name", "subname", "subdomain", "label", "dname", "record"),
        ),
        "type": ("type", "recordtype", "rrtype", "rtype", "typ"),
        "ttl": ("ttl", "ttlseconds", "ttlinseconds", "recordttl", "timetolive", "cachettl"),
        "value": (
            *("value", "recordvalue", "content", "recordcontent", "rdata", "recorddata", "data", "resourcerecords"),
            *("target", "answer", "destination", "pointsto", "address", "ipaddress", "txtdata", "wert"),
        ),
        "priority": ("priority", "prio", "preference", "pref", "mxpreference", "mxpriority", "mxlevel", "aux", "opt"),
        "disabled": ("disabled", "isdisabled", "inactive"),
        "comment": ("comment", "comments", "note", "notes", "description", "remark", "remarks", "kommentar"),
        "value_comment": ("valuecomment",),
        "tags": ("tags",),
        "rdclass": ("class", "rdclass", "recordclass"),
    }
)


@dataclass(frozen=True, slots=True)
class CsvMapping:
    """The meaning of a table's columns, as indexes from 0. None means that the table doesn't have the column.

    A row's zone is in its zone column. If that cell is missing or empty, the zone is `fixed_zone`, or else the zone in
    `zones` that contains the row's name.
    """

    zone: int | None = None
    name: int | None = None
    type: int | None = None
    ttl: int | None = None
    value: int | None = None
    priority: int | None = None
    disabled: int | None = None
    comment: int | None = None
    value_comment: int | None = None
    tags: int | None = None
    rdclass: int | None = None
    fixed_zone: str = ""
    zones: Sequence[str] = ()
    delimiter: str = ","
    header: bool = True

    @property
    def missing(self) -> list[str]:
        """The fields without a column that are required for reading the table."""
        needed = [field for field in ("name", "type", "value") if getattr(self, field) is None]
        if self.zone is None and not self.fixed_zone and not self.zones:
            needed.append("zone")
        return needed


def sniffed_delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits the most lines into the same number of cells, or "," if none splits a line.

    If the first line states a delimiter, such as `sep=;` (a convention of Excel), return that delimiter.
    """
    if lines and (stated := _STATED_DELIMITER.fullmatch(lines[0].strip("\ufeff\r\n"))) is not None:
        return stated[1]
    best, most = ",", (0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in readable_rows(lines, delimiter) if row]
        width = max(set(widths), key=widths.count, default=0)
        score = (widths.count(width), width)
        if width > 1 and score > most:
            best, most = delimiter, score
    return best


def readable_rows(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """Return the rows before the first unreadable one, such as a row with a cell that is too long."""
    found: list[list[str]] = []
    with suppress(csv.Error):
        for row in csv.reader(lines, delimiter=delimiter):
            found.append(row)
    return found


def is_passed_over(row: Sequence[str]) -> bool:
    """Return True for rows that are never records: empty rows, comments, and Excel's `sep=`."""
    return not any(row) or row[0].startswith(("#", "//")) or (row[0].lower() == "sep=" and not any(row[1:]))


def header_at(rows: Sequence[Sequence[str]]) -> int:
    """Return the index of the header row, if the table has one.

    The header is the first row with at least two known column names, within HEADER_WITHIN rows and before all records.
    A title and date can be above it. If the table has no header, return the index of the first row that isn't ignored.
    """
    first = next((at for at, row in enumerate(rows) if not is_passed_over(row)), 0)
    for at, row in enumerate(rows[:HEADER_WITHIN]):
        if has_type(row):
            break
        if not is_passed_over(row) and len(_columns_named(row)) >= _LEAST_HEADERS:
            return at
    return first


def _columns_named(row: Sequence[str]) -> dict[str, int]:
    headers = [re.sub(r"[^a-z]", "", cell.lower()) for cell in row[:_MOST_CELLS]]
    found: dict[str, int] = {}
    for field, synonyms in _HEADERS.items():
        column = next((headers.index(word) for word in synonyms if word in headers), None)
        if column is not None and column not in found.values():
            found[field] = column
    return found


def guessed_mapping(rows: Sequence[Sequence[str]], delimiter: str) -> CsvMapping:
    """Return the most likely meaning of the columns. If the table has a header, it is at `header_at(rows)`."""
    mapping = CsvMapping(delimiter=delimiter, header=False)
    rows = rows[header_at(rows) :]
    if not rows:
        return mapping
    found: dict[str, Any] = _columns_named(rows[0])
    if "value_comment" not in found:  # other programs' tags have another meaning; people can still choose the column
        found.pop("tags", None)
    if len(found) >= _LEAST_HEADERS and not has_type(rows[0]):
        return replace(mapping, header=True, **found)
    return replace(mapping, **_found_by_content([row for row in rows if not is_passed_over(row)]))


def _found_by_content(rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the columns of a table without a header, based on their content.

    A type column has only record types. Names are before it, and values after it. A column of numbers has TTLs.
    """
    width = min(max(map(len, rows)), _MOST_CELLS)
    columns = [[row[at].strip() for row in rows if at < len(row)] for at in range(width)]
    types = [at for at, cells in enumerate(columns) if all(map(_is_type, cells))]
    if not types:
        return {}
    numbers = [at for at, cells in enumerate(columns) if all(cell.isdigit() for cell in cells)]
    classes = [at for at, cells in enumerate(columns) if all(cell.upper() in ("IN", "CH", "HS") for cell in cells)]
    texts = [at for at in range(width) if at not in (*types, *numbers, *classes)]
    before = [at for at in texts if at < types[0]]
    after = [at for at in texts if at > types[0]]
    found = {
        "type": types,
        "zone": before[:-1],
        "name": before[-1:],
        "value": after,
        "ttl": numbers,
        "rdclass": classes,
    }
    return {field: places[0] for field, places in found.items() if places}


def has_type(row: Sequence[str]) -> bool:
    """Return True if a cell of the row is a record type."""
    return any(map(_is_type, row[:_MOST_CELLS]))


def _is_type(cell: str) -> bool:
    try:
        rdtypes.type_from_text(cell.strip().upper())
    except BadRdata:
        return False
    return True
