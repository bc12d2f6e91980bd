"""Convert pasted tables (spreadsheet rows or a CSV file) to zone-file lines. Pure."""

import io
import itertools
from dataclasses import replace

from dnspanel.counted_lines import limit_lines
from dnspanel.texts import gettext
from dnspanel.transfer.sources.columns import (
    HEADER_WITHIN,
    CsvMapping,
    guessed_mapping,
    has_type,
    readable_rows,
    sniffed_delimiter,
)
from dnspanel.transfer.sources.csv_rows import RowReader, numbered_rows, source_of
from dnspanel.transfer.zonefile.reader import DISABLED
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import MOST_LINES, PastedLine, Reading, read_line
from replication.dns import names
from replication.errors import BadName


def mapping_of(text: str, zone: str) -> CsvMapping | None:
    """Return a pasted table's column mapping, or None if the text is a zone file or lacks required columns.

    Zone files contain tabs too, so a text with tabs is a table only if it has a header.
    """
    lines = list(itertools.islice(io.StringIO(text.lstrip("\ufeff\r\n"), newline=""), HEADER_WITHIN))
    delimiter = sniffed_delimiter(lines)
    rows = readable_rows(lines, delimiter)
    mapping = guessed_mapping(rows, delimiter)
    if not mapping.header:
        # Ignore rows without a type, so that one faulty row doesn't prevent the recognition of the others.
        mapping = guessed_mapping([row for row in rows if has_type(row)], delimiter)
    if not mapping.header and delimiter == "\t":
        return None
    mapping = replace(mapping, fixed_zone=zone)
    return None if mapping.missing else mapping


def read_table(text: str, zone: str, mapping: CsvMapping) -> list[PastedLine]:
    """Return each row as a zone-file line, with the number of the row's first line.

    Names that end in the zone's name are absolute, as usual in tables. A row for another zone is refused. Raise
    TooManyLines before reading any row if the text has more than MOST_LINES lines.
    """
    reader = RowReader(mapping, default_ttl="")
    begin = len(text) - len(text.lstrip("\ufeff\r\n"))
    before = text[:begin].count("\n")
    found = []
    rows = numbered_rows(io.StringIO(text[begin:], newline=""), mapping)
    for line, _, row in limit_lines(rows, text, MOST_LINES):
        if isinstance(row, str):
            found.append(PastedLine(before + line, "", error=_with_capital(row)))
        else:
            found.append(_read_row(reader, zone, PastedLine(before + line, source_of(row, mapping)), row))
    return found


def _read_row(reader: RowReader, zone: str, pasted: PastedLine, row: list[str]) -> PastedLine:
    try:
        zone_of_row, text = reader.zone_and_line(row)
        if zone_of_row != zone:
            other = names.display(zone_of_row)
            raise ValueError(
                gettext("the row belongs to the zone {other}. Paste it there, or import the table").format(other=other)
            )
        line = text.removeprefix(DISABLED).rstrip("\n")
        entry = read_line(line, zone, means=Reading.ABSOLUTE)
    except Unreadable as exc:
        return replace(pasted, error=exc.message)
    except (ValueError, BadName) as exc:
        return replace(pasted, error=_with_capital(str(exc)))
    return replace(pasted, entry=replace(entry, disabled=text.startswith(DISABLED)))


def _with_capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
