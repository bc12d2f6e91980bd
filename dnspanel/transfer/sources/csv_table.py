"""Records in a table: CSV of any dialect, its columns mapped to what they mean, its rows in any order.

The value is as people write it in tables: TXT without quotes, names without
their last dot, the priority of MX and SRV in a column of its own or not. Each
row becomes one line of zone-file text, whose errors name the row's line.
"""

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dnspanel.transfer import limits
from dnspanel.transfer.archives.textfile import TextFile
from dnspanel.transfer.documents import Item, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.exports.csv_table import plain_comment
from dnspanel.transfer.sources.columns import CsvMapping, guessed_mapping, sniffed_delimiter
from dnspanel.transfer.sources.group_by_zone import ZoneCollector, absolute_name, record_line, text_of_txt
from replication.dns import names
from replication.errors import BadName

_SAMPLE_ROWS = 10
_SNIFFED_LINES = 30
_MOST_SOURCE = 200
_YES = frozenset({"1", "yes", "y", "true", "t", "on", "x", "disabled", "inactive"})
# Types whose value has a name, and at which place.
_NAME_AT = {"CNAME": 0, "NS": 0, "PTR": 0, "DNAME": 0, "ALIAS": 0, "MX": 1, "SRV": 3}
_WITH_PRIORITY = {"MX": 1, "SRV": 3}  # words besides the priority
_TXT_TYPES = frozenset({"TXT", "SPF"})

__all__ = ["CsvMapping", "CsvSample", "CsvSource", "sample"]


@dataclass(frozen=True, slots=True)
class CsvSample:
    """What a table looks like; `header` is empty if it has none, `rows` are the first ten below it."""

    delimiter: str
    header: list[str]
    rows: list[list[str]]
    mapping: CsvMapping


def sample(path: Path) -> CsvSample:
    """The beginning of a table, and a guess at its columns. Raises SourceRefused if it is no text in UTF-8."""
    lines = list(itertools.islice(TextFile(path).lines(limits.MOST_LINE_BYTES), _SNIFFED_LINES))
    delimiter = sniffed_delimiter(lines)
    try:
        rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error as exc:
        raise SourceRefused(f"The file is no table: {exc}.") from exc
    mapping = guessed_mapping(rows, delimiter)
    header, rows = (rows[0], rows[1:]) if mapping.header and rows else ([], rows)
    return CsvSample(delimiter, header, rows[:_SAMPLE_ROWS], mapping)


class CsvSource:
    """The zones of a table; see documents.Source. `name` is what faults call the file."""

    unit = "bytes"

    def __init__(self, path: Path, mapping: CsvMapping, *, name: str = "") -> None:
        if mapping.missing:
            raise SourceRefused(f"The table needs a column for each of: {', '.join(mapping.missing)}.")
        self._path, self._name = path, name or path.name
        self._mapping = mapping
        self._file = TextFile(path)
        self.total = self._file.size

    @property
    def done(self) -> int:
        return self._file.read

    def items(self, skip: int = 0) -> Iterator[Item]:
        """First the rows that are no records, then the zones. Raises SourceRefused, UploadRefused."""
        return itertools.islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        zones = ZoneCollector(self._path.parent)
        reader = _RowReader(self._mapping)
        for line, row in self._rows():
            if isinstance(row, str):
                yield SourceFault(self._name, line, 1, "", row, "row")
                continue
            try:
                zone, text = reader.zone_and_line(row)
            except (ValueError, BadName) as exc:
                source = self._mapping.delimiter.join(row)[:_MOST_SOURCE]
                yield SourceFault(self._name, line, 1, source, str(exc), "row")
            else:
                zones.add(zone, text, line)
        yield from zones.documents(self._name)

    def _rows(self) -> Iterator[tuple[int, list[str] | str]]:
        """The line on which each row begins, and its cells, or what is wrong with it."""
        rows = csv.reader(self._file.lines(limits.MOST_LINE_BYTES), delimiter=self._mapping.delimiter)
        if self._mapping.header:
            next(rows, None)
        while True:
            line = rows.line_num + 1
            try:
                row = next(rows, None)
            except csv.Error as exc:
                yield line, f"this is no row of a table: {exc}; perhaps a quote is never closed"
                continue
            if row is None:
                return
            if (offset := self._bad_byte(line, rows.line_num)) is not None:
                yield line, f"this is not UTF-8: a wrong byte at offset {offset:,}"
            elif any(row) and not row[0].startswith("#"):
                yield line, row

    def _bad_byte(self, first: int, last: int) -> int | None:
        bad = self._file.bad
        return next((bad[line] for line in range(first, last + 1) if line in bad), None) if bad else None


class _RowReader:
    """Makes lines of rows."""

    def __init__(self, mapping: CsvMapping) -> None:
        self._mapping = mapping
        self._name, self._type, self._value = mapping.name or 0, mapping.type or 0, mapping.value or 0
        self._width = 1 + max(self._name, self._type, self._value)
        self._fixed_zone = names.parse(mapping.fixed_zone) if mapping.fixed_zone else ""
        self._zones = frozenset(map(names.parse, mapping.zones))

    def zone_and_line(self, row: list[str]) -> tuple[str, str]:
        """Raises ValueError or BadName, with the reason, for a row that is no record."""
        mapping = self._mapping
        if len(row) < self._width:
            raise ValueError(f"the row has {len(row)} cells, at least {self._width} are needed")
        if (rdclass := _cell(row, mapping.rdclass).upper()) not in ("", "IN"):
            raise ValueError(f"the class is {rdclass}; only IN is imported")
        text = row[self._name].strip()
        zone = self._zone_of(_cell(row, mapping.zone), text)
        type = row[self._type].strip().upper()
        value = _value(type, row[self._value].strip(), _cell(row, mapping.priority), zone)
        line = record_line(
            _owner(text, zone),
            _cell(row, mapping.ttl),
            type,
            value,
            disabled=_cell(row, mapping.disabled).lower() in _YES,
            comment=plain_comment(_cell(row, mapping.comment)),
        )
        return zone, line

    def _zone_of(self, cell: str, name: str) -> str:
        if cell:
            return names.parse(cell)
        if self._fixed_zone:
            return self._fixed_zone
        above: str | None = names.parse(name)
        while above is not None:
            if above in self._zones:
                return above
            above = names.parent(above)
        raise ValueError("the row says no zone" if not self._zones else f"{name} is in none of the zones given")


def _cell(row: list[str], at: int | None) -> str:
    return row[at].strip() if at is not None and at < len(row) else ""


def _owner(text: str, zone: str) -> str:
    """The owner; names in tables are relative to the zone, or absolute with or without the last dot."""
    if not text:
        return zone
    name = names.parse(text, zone)
    if text.endswith("."):
        if not names.is_within(name, zone):
            raise ValueError(f"{name} is not in the zone {zone}")
        return name
    absolute = names.parse(text) if text != "@" else zone
    return absolute if names.is_within(absolute, zone) else name


def _value(type: str, value: str, priority: str, zone: str) -> str:
    if value.startswith("\\#"):
        return value
    if type in _TXT_TYPES:
        return text_of_txt(value)
    fields = value.split()
    if priority and len(fields) == _WITH_PRIORITY.get(type):
        fields.insert(0, priority)
    at = _NAME_AT.get(type)
    if at is not None and len(fields) == at + 1:
        fields[at] = absolute_name(fields[at], zone)
        return " ".join(fields)
    if type == "SOA":
        return " ".join([*(absolute_name(word, zone) for word in fields[:2]), *fields[2:]])
    return value
