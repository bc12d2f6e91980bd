"""Exports of zones as CSV. No cell is interpreted as a formula by a spreadsheet program."""

import csv
import io

import pytest

from dnspanel.transfer.exports.csv_export import header, plain_comment, safe_comment, zone_lines
from dnspanel.transfer.exports.exported_rows import ExportedZone
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.dnspanel.transfer.estates import apex, estate, exported


def rows_of(zone: str, rrsets: list[RRset]) -> list[dict[str, str]]:
    text = header() + "".join(zone_lines(exported(zone, rrsets)))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_record_is_a_line() -> None:
    rrsets = [*apex("a.test."), make("www.a.test.", rdtypes.TXT, 60, ['"a, b"', '"c"'], ['"c"'], comment='"x",\ny')]
    assert rows_of("a.test.", rrsets)[-2:] == [
        {
            "zone": "a.test.",
            "name": "www.a.test.",
            "type": "TXT",
            "ttl": "60",
            "value": '"c"',
            "disabled": "yes",
            "comment": '"x",\ny',
            "value_comment": "",
            "tags": "",
        },
        {
            "zone": "a.test.",
            "name": "www.a.test.",
            "type": "TXT",
            "ttl": "60",
            "value": '"a, b"',
            "disabled": "",
            "comment": '"x",\ny',
            "value_comment": "",
            "tags": "",
        },
    ]


def test_no_cell_begins_as_a_formula_does_and_every_cell_means_what_it_meant() -> None:
    for zone, rrsets in estate().items():
        found = rows_of(zone, rrsets)
        expected = [(r, text) for r in rrsets for text in r.rdata]
        for row, (rrset, text) in zip(found, expected, strict=True):
            assert not any(cell[:1] in tuple("=+-@\t\r") for cell in row.values() if cell), row
            assert names.parse(row["zone"]) == zone
            assert names.parse(row["name"]) == rrset.name
            assert rdata.parse(rrset.type, row["value"]) == text
            assert plain_comment(row["comment"]) == rrset.comment


@pytest.mark.parametrize("comment", ["=1+1", "-x", "+x", "@x", "'x", "''=x", "\tx", "\rx", "x'=", "plain"])
def test_a_comment_comes_back_as_it_was(comment: str) -> None:
    cell = safe_comment(comment)
    assert cell[0] not in "=+-@\t\r"
    assert plain_comment(cell) == comment


def test_a_large_zone_comes_in_pieces() -> None:
    rows = ((f"h{number}.a.test.", 1, 60, ("192.0.2.1",), (), "", "") for number in range(5000))
    pieces = list(zone_lines(ExportedZone("a.test.", 1, 5000, rows)))
    assert len(pieces) > 2
    assert "".join(pieces).count("\r\n") == 5000
