"""A table pasted into a zone: the meaning of its columns, and the record or error of each row."""

import pytest

from dnspanel.web.editor.lines.pasted_table import mapping_of, read_table
from dnspanel.web.editor.lines.quick_add import Entry

ZONE = "example.test."


def read(text: str) -> list[tuple[int, str]]:
    """Return the number of each row with its record or its error."""
    mapping = mapping_of(text, ZONE)
    assert mapping is not None
    return [
        (line.number, told(line.entry) if line.entry else f"! {line.error}") for line in read_table(text, ZONE, mapping)
    ]


def told(entry: Entry) -> str:
    ttl = "" if entry.ttl is None else f" {entry.ttl}"
    comment = f" ; {entry.comment}" if entry.comment else ""
    return f"{'off ' * entry.disabled}{entry.name}{ttl} {entry.type} {entry.rdata}{comment}"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        pytest.param(
            "Name,Type,Value,TTL\nwww,A,192.0.2.1,300\nwww.example.test,AAAA,2001:db8::1,\n",
            [(2, "www.example.test. 300 1 192.0.2.1"), (3, "www.example.test. 28 2001:db8::1")],
            id="a header, names relative and whole",
        ),
        pytest.param(
            "www,A,192.0.2.1\n@,A,192.0.2.2\n",
            [(1, "www.example.test. 1 192.0.2.1"), (2, "example.test. 1 192.0.2.2")],
            id="no header",
        ),
        pytest.param(
            "www;A;192.0.2.1\nx;B;1\ny;A;192.0.2.300\n",
            [
                (1, "www.example.test. 1 192.0.2.1"),
                (2, "! 'B' isn’t a valid record type."),
                (3, "! 192.0.2.300 isn’t a valid IPv4 address"),
            ],
            id="semicolons, and faults at their rows",
        ),
        pytest.param(
            'name\ttype\tprio\tvalue\n\tMX\t10\tmail\nt\tTXT\t\t"a ; b"\n',
            [(2, "example.test. 15 10 mail.example.test."), (3, 't.example.test. 16 "a ; b"')],
            id="cells of a spreadsheet below a header, a priority, a text",
        ),
        pytest.param(
            "zone,name,type,value,disabled,comment\n"
            "example.test,a,A,192.0.2.1,yes,the old one\n"
            "other.test,a,A,192.0.2.1,,\n",
            [
                (2, "off a.example.test. 1 192.0.2.1 ; the old one"),
                (3, "! The row belongs to the zone other.test.. Paste it there, or import the table."),
            ],
            id="zones, comments and disabled records",
        ),
        pytest.param(
            "\n\nname,type,value\nwww,A\n",
            [(4, "! The row has too few cells: 2 instead of at least 3.")],
            id="empty lines above count",
        ),
    ],
)
def test_each_row_is_a_record_or_says_what_is_wrong(text: str, rows: list[tuple[int, str]]) -> None:
    assert read(text) == rows


@pytest.mark.parametrize(
    "text",
    [
        "www 300 A 192.0.2.1\nmail A 192.0.2.2",
        "www\t300\tIN\tA\t192.0.2.1\nmail\t300\tIN\tA\t192.0.2.2",
        'd TXT "v=DMARC1; p=none"\ne TXT "v=DMARC1; p=reject"',
        "a TXT one,two\nb TXT three,four",
        "",
    ],
)
def test_lines_of_a_zone_file_are_no_table(text: str) -> None:
    assert mapping_of(text, ZONE) is None
