"""Convert the rows of a table to lines of zone-file text. Pure.

Values are read as tables usually have them: TXT without quotes, names without their trailing dot, and the priority of
MX and SRV in its own column or in the value.
"""

import csv
import itertools
from collections.abc import Iterable, Iterator

from dnspanel.texts import gettext
from dnspanel.transfer.exports.csv_export import plain_comment
from dnspanel.transfer.noted import noted_line_of
from dnspanel.transfer.sources.columns import HEADER_WITHIN, CsvMapping, header_at, is_passed_over
from dnspanel.transfer.sources.group_by_zone import DEFAULT_TTL, absolute_name, record_line, text_of_txt
from dnspanel.zones.values.rrset_notes import notes_of
from replication.dns import names, rdata

_MOST_SOURCE = 200
_YES = frozenset({"1", "yes", "y", "true", "t", "on", "x", "disabled", "inactive"})
# Types with a name in their value, and the index of the name.
_NAME_AT = {"CNAME": 0, "NS": 0, "PTR": 0, "DNAME": 0, "ALIAS": 0, "MX": 1, "SRV": 3}
_WITH_PRIORITY = {"MX": 1, "SRV": 3}  # number of words after the priority
_TXT_TYPES = frozenset({"TXT", "SPF"})


def numbered_rows(lines: Iterable[str], mapping: CsvMapping) -> Iterator[tuple[int, int, list[str] | str]]:
    """Yield (first line, last line, cells) for each row, or an error message instead of the cells.

    Skip the header and the rows above it, empty rows and comments.
    """
    rows = _all_rows(lines, mapping.delimiter)
    if mapping.header:
        begun = list(itertools.islice(rows, HEADER_WITHIN))
        above = header_at([[] if isinstance(row, str) else row for _, _, row in begun]) + 1
        rows = itertools.chain(begun[above:], rows)
    return (entry for entry in rows if isinstance(entry[2], str) or not is_passed_over(entry[2]))


def _all_rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, int, list[str] | str]]:
    rows = csv.reader(lines, delimiter=delimiter)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as exc:
            yield (
                line,
                line,
                gettext("invalid table row: {reason} (check for a missing closing quote)").format(reason=exc),
            )
            continue
        if row is None:
            return
        yield line, rows.line_num, row


def source_of(row: list[str], mapping: CsvMapping) -> str:
    """Return approximately the row's source text, for error messages, cut to 200 characters."""
    return mapping.delimiter.join(row)[:_MOST_SOURCE]


class RowReader:
    """Converter from table rows to zone-file lines. A row without a TTL gets `default_ttl`, which can be empty."""

    def __init__(self, mapping: CsvMapping, *, default_ttl: str = DEFAULT_TTL) -> None:
        self._mapping, self._default_ttl = mapping, default_ttl
        self._name, self._type, self._value = mapping.name or 0, mapping.type or 0, mapping.value or 0
        self._width = 1 + max(self._name, self._type, self._value)
        self._fixed_zone = names.parse(mapping.fixed_zone) if mapping.fixed_zone else ""
        self._zones = frozenset(map(names.parse, mapping.zones))

    def zone_and_line(self, row: list[str]) -> tuple[str, str]:
        """Return the row's zone and zone-file line. Raise ValueError or BadName if the row isn't a valid record."""
        mapping = self._mapping
        zone, owner, type, value = self._record(row)
        line = record_line(
            owner,
            _cell(row, mapping.ttl),
            type,
            value,
            disabled=_cell(row, mapping.disabled).lower() in _YES,
            comment=plain_comment(_cell(row, mapping.comment)),
            default_ttl=self._default_ttl,
        )
        return zone, line

    def noted_line(self, row: list[str]) -> str:
        """Return the comment line with the row's tags and value comment, or "" if it has no tags and no comment.

        The row must be a record. Raise ValueError, BadName or BadRdata if the tags or the comment are invalid.
        """
        own, tags = (plain_comment(_cell(row, at)) for at in (self._mapping.value_comment, self._mapping.tags))
        if not (own or tags):
            return ""
        _, owner, type, value = self._record(row)
        notes = notes_of(rdata.type_from_text(type), tags.replace(",", " ").split(), {value: own} if own else {})
        return noted_line_of(owner, type, notes)

    def _record(self, row: list[str]) -> tuple[str, str, str, str]:
        """Return a row's zone, owner, type and value. Raise ValueError or BadName if the row is invalid."""
        mapping = self._mapping
        if len(row) < self._width:
            raise ValueError(
                gettext("the row has too few cells: {count} instead of at least {width}").format(
                    count=len(row), width=self._width
                )
            )
        if (rdclass := _cell(row, mapping.rdclass).upper()) not in ("", "IN"):
            raise ValueError(gettext("the class is {rdclass}; only IN is imported").format(rdclass=rdclass))
        text = row[self._name].strip()
        zone = self._zone_of(_cell(row, mapping.zone), text)
        type = row[self._type].strip().upper()
        value = _value(type, row[self._value].strip(), _cell(row, mapping.priority), zone)
        return zone, _owner(text, zone), type, value

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
        raise ValueError(
            gettext("the row doesn’t name a zone")
            if not self._zones
            else gettext("{name} isn’t in any of the given zones").format(name=name)
        )


def _cell(row: list[str], at: int | None) -> str:
    return row[at].strip() if at is not None and at < len(row) else ""


def _owner(text: str, zone: str) -> str:
    """Return the row's owner name. Raise BadName if it is invalid, or ValueError if it is outside the zone.

    Names in tables are relative to the zone, or absolute with or without the trailing dot.
    """
    if not text:
        return zone
    name = names.parse(text, zone)
    if text.endswith("."):
        if not names.is_within(name, zone):
            raise ValueError(gettext("{name} is not in the zone {zone}").format(name=name, zone=zone))
        return name
    absolute = names.parse(text) if text != "@" else zone
    return absolute if names.is_within(absolute, zone) else name


def _value(type: str, value: str, priority: str, zone: str) -> str:
    if value.startswith("\\#"):
        return value
    if type in _TXT_TYPES:
        return text_of_txt(value)
    fields = names.escape_spaces(value).split()
    if priority and len(fields) == _WITH_PRIORITY.get(type):
        fields.insert(0, priority)
    at = _NAME_AT.get(type)
    if at is not None and len(fields) == at + 1:
        fields[at] = absolute_name(fields[at], zone)
        return " ".join(fields)
    if type == "SOA":
        return " ".join([*(absolute_name(word, zone) for word in fields[:2]), *fields[2:]])
    return value
