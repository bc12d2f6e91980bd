"""Read records from CSV of any dialect, with columns and rows in any order.

Each row becomes one line of zone-file text (see `csv_rows`). Errors show the row's line number.
"""

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.archives.textfile import TextFile
from dnspanel.transfer.documents import Item, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources.columns import (
    HEADER_WITHIN,
    CsvMapping,
    guessed_mapping,
    header_at,
    is_passed_over,
    sniffed_delimiter,
)
from dnspanel.transfer.sources.csv_rows import RowReader, numbered_rows, source_of
from dnspanel.transfer.sources.group_by_zone import ZoneCollector
from replication.errors import BadName, BadRdata

_SAMPLE_ROWS = 10
_SNIFFED_LINES = HEADER_WITHIN


@dataclass(frozen=True, slots=True)
class CsvSample:
    """The beginning of a table: the header or [], and up to ten later rows, except empty rows and comments."""

    delimiter: str
    header: list[str]
    rows: list[list[str]]
    mapping: CsvMapping


def sample(path: Path) -> CsvSample:
    """Return the beginning of a table with guessed columns. Raise SourceRefused if it isn't UTF-8 text or a table."""
    lines = list(itertools.islice(TextFile(path).lines(import_limits.MOST_LINE_BYTES), _SNIFFED_LINES))
    delimiter = sniffed_delimiter(lines)
    try:
        rows = list(csv.reader(lines, delimiter=delimiter))
    except csv.Error as exc:
        raise SourceRefused(gettext("The file isn’t a table: {exc}.").format(exc=exc)) from exc
    mapping = guessed_mapping(rows, delimiter)
    below = header_at(rows) + 1 if mapping.header else 0
    header = rows[below - 1] if below else []
    records = [row for row in rows[below:] if not is_passed_over(row)]
    return CsvSample(delimiter, header, records[:_SAMPLE_ROWS], mapping)


class CsvSource:
    """The zones in a table, as a `documents.Source`. Faults show `name` as the file's name."""

    unit = "bytes"

    def __init__(self, path: Path, mapping: CsvMapping, *, name: str = "") -> None:
        if mapping.missing:
            raise SourceRefused(gettext("Assign a column for each of: {list}.").format(list=", ".join(mapping.missing)))
        self._path, self._name = path, name or path.name
        self._mapping = mapping
        self._file = TextFile(path)
        self.total = self._file.size

    @property
    def done(self) -> int:
        return self._file.read

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the faults of invalid rows, and then each zone's document or fault, without the first `skip` items.

        Raise SourceRefused if the file is not UTF-8 text, or UploadRefused if it is an archive bomb.
        """
        return itertools.islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        zones = ZoneCollector(self._path.parent)
        reader = RowReader(self._mapping)
        for line, row in self._rows():
            if isinstance(row, str):
                yield SourceFault(self._name, line, 1, "", row, "row")
                continue
            try:
                zone, text = reader.zone_and_line(row)
                noted = reader.noted_line(row)
            except (ValueError, BadName, BadRdata) as exc:
                yield SourceFault(self._name, line, 1, source_of(row, self._mapping), str(exc), "row")
            else:
                zones.add(zone, text, line)
                if noted:
                    zones.add(zone, noted, line)
        yield from zones.documents(self._name)

    def _rows(self) -> Iterator[tuple[int, list[str] | str]]:
        """Yield (first line number, cells) for each row, or an error message instead of the cells for a faulty row."""
        for line, last, row in numbered_rows(self._file.lines(import_limits.MOST_LINE_BYTES), self._mapping):
            if (offset := self._bad_byte(line, last)) is not None:
                yield line, gettext("not UTF-8: invalid byte at offset {offset:,}").format(offset=offset)
            else:
                yield line, row

    def _bad_byte(self, first: int, last: int) -> int | None:
        bad = self._file.bad
        return next((bad[line] for line in range(first, last + 1) if line in bad), None) if bad else None
