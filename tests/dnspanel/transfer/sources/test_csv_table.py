"""Tables of records, and the conversion of their rows to zone-file lines (`sources.csv_rows`)."""

import gzip
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest

from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.errors import SourceRefused, UploadRefused
from dnspanel.transfer.sources.columns import CsvMapping
from dnspanel.transfer.sources.csv_table import CsvSource, sample

HEADER = "zone,name,type,ttl,value,priority,disabled,comment\n"
MAPPING = CsvMapping(zone=0, name=1, type=2, ttl=3, value=4, priority=5, disabled=6, comment=7)


def table(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "0001"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(
    tmp_path: Path, text: str | bytes, mapping: CsvMapping = MAPPING
) -> tuple[dict[str, Document], list[SourceFault]]:
    found = list(CsvSource(table(tmp_path, text), mapping, name="x.csv").items())
    documents = {item.zone: item for item in found if isinstance(item, Document)}
    return documents, [item for item in found if isinstance(item, SourceFault)]


def lines(tmp_path: Path, rows: str, mapping: CsvMapping = MAPPING) -> list[str]:
    documents, faults = read(tmp_path, HEADER + rows, mapping)
    assert faults == []
    return documents["example.test."].text.decode().splitlines()


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("example.test,www,A,300,192.0.2.1,,,", "www.example.test. 300 IN A 192.0.2.1"),
        ("Example.TEST.,WWW.example.test,a,,192.0.2.1,,,", "www.example.test. 3600 IN A 192.0.2.1"),
        ("example.test,www.example.test.,A,1h,192.0.2.1,,,", "www.example.test. 1h IN A 192.0.2.1"),
        ("example.test,@,A,300,192.0.2.1,,,", "example.test. 300 IN A 192.0.2.1"),
        ("example.test,,A,300,192.0.2.1,,,", "example.test. 300 IN A 192.0.2.1"),
        ("example.test,example.test,A,300,192.0.2.1,,,", "example.test. 300 IN A 192.0.2.1"),
        ("example.test,*.x,A,300,192.0.2.1,,,", "*.x.example.test. 300 IN A 192.0.2.1"),
        ("example.test,bücher,A,300,192.0.2.1,,,", "xn--bcher-kva.example.test. 300 IN A 192.0.2.1"),
        ("example.test,@,MX,300,mail.example.test,10,,", "example.test. 300 IN MX 10 mail.example.test."),
        ("example.test,@,MX,300,10 mail,,,", "example.test. 300 IN MX 10 mail.example.test."),
        ("example.test,@,MX,300,10 mail,20,,", "example.test. 300 IN MX 10 mail.example.test."),
        ("example.test,_sip._tcp,SRV,300,5 5060 sip.test,1,,", "_sip._tcp.example.test. 300 IN SRV 1 5 5060 sip.test."),
        ("example.test,w,CNAME,300,@,,,", "w.example.test. 300 IN CNAME example.test."),
        ("example.test,w,CNAME,300,www.other.test.,,,", "w.example.test. 300 IN CNAME www.other.test."),
        ("example.test,@,TXT,300,v=spf1 -all; x,,,", 'example.test. 300 IN TXT "v=spf1 -all; x"'),
        ('example.test,@,TXT,300,"""a"" ""b""",,,', 'example.test. 300 IN TXT "a" "b"'),
        ("example.test,@,TXT,300,schön,,,", 'example.test. 300 IN TXT "sch\\195\\182n"'),
        (
            "example.test,@,SOA,300,ns1.a.test root.a.test 1 2 3 4 5,,,",
            "example.test. 300 IN SOA ns1.a.test. root.a.test. 1 2 3 4 5",
        ),
        ("example.test,x,A,300,192.0.2.1,,yes,", ";!disabled x.example.test. 300 IN A 192.0.2.1"),
        ("example.test,x,A,300,192.0.2.1,,0,ours; really", "x.example.test. 300 IN A 192.0.2.1 ; ours; really"),
        ("example.test,x,A,300,192.0.2.1,,,'=cmd", "x.example.test. 300 IN A 192.0.2.1 ; =cmd"),
        ("example.test,x,A,300,\\# 4 c0000201,,,", "x.example.test. 300 IN A \\# 4 c0000201"),
    ],
)
def test_rows_become_lines(tmp_path: Path, row: str, line: str) -> None:
    assert lines(tmp_path, row) == [line]


def test_rows_of_a_zone_may_stand_anywhere_and_know_their_lines(tmp_path: Path) -> None:
    documents, faults = read(
        tmp_path,
        HEADER
        + "a.test,@,A,60,192.0.2.1,,,\n"
        + 'b.test,@,TXT,60,"""one""",,,"a note\nof two lines"\n'
        + "\n"
        + "a.test,www,A,60,192.0.2.2,,,\n",
    )

    assert faults == []
    assert documents["a.test."].lines is not None
    assert list(documents["a.test."].lines) == [2, 6]
    assert documents["b.test."].text == b'b.test. 60 IN TXT "one" ; a note of two lines\n'


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a.test,www,A", "the row has too few cells: 3 instead of at least 5"),
        (",www,A,60,192.0.2.1", "the row doesn’t name a zone"),
        ("a.test,www.b.test.,A,60,192.0.2.1", "www.b.test. is not in the zone a.test."),
        ("a.test,w..w,A,60,192.0.2.1", "empty label"),
        ("a.test,www,A,60,", "the value is empty"),
        ("a.test,www,CAA,60,0 issue x;y", "line break, or a “;”"),
        ("a.test,www,A,often,192.0.2.1", "“often” isn’t a valid TTL"),
    ],
)
def test_rows_that_are_no_records_are_faults_and_the_others_go_on(tmp_path: Path, row: str, reason: str) -> None:
    documents, (fault,) = read(tmp_path, f"{HEADER}b.test,@,A,60,192.0.2.1,,,\n{row}\nb.test,x,A,60,192.0.2.1,,,\n")

    assert (fault.path, fault.line, fault.source) == ("x.csv", 3, row)
    assert reason in fault.reason
    assert documents["b.test."].text.count(b"\n") == 2


def test_other_classes_are_faults(tmp_path: Path) -> None:
    mapping = CsvMapping(zone=0, name=1, rdclass=2, type=3, value=4, header=False)
    documents, (fault,) = read(tmp_path, "a.test,x,CH,TXT,y\na.test,x,in,TXT,y\n", mapping)

    assert fault.reason == "the class is CH; only IN is imported"
    assert documents["a.test."].text == b'x.a.test. 3600 IN TXT "y"\n'


def test_a_quote_that_is_never_closed_is_reported_with_its_line(tmp_path: Path) -> None:
    rows = "".join(f"a.test,w{number},A,60,192.0.2.1,,,\n" for number in range(10_000))
    documents, faults = read(tmp_path, f'{HEADER}a.test,@,A,60,192.0.2.1,,,\na.test,x,TXT,60,"open,,,\n{rows}')

    assert faults[0].line == 3
    assert "check for a missing closing quote" in faults[0].reason
    assert documents["a.test."].text.startswith(b"a.test. 60 IN A")


def test_a_byte_that_is_not_utf8_is_a_fault_with_its_offset(tmp_path: Path) -> None:
    head = HEADER.encode() + b"a.test,"
    _, (fault,) = read(tmp_path, head + b"b\xfccher,A,60,192.0.2.1,,,\n")

    assert (fault.line, fault.reason) == (2, f"not UTF-8: invalid byte at offset {len(head) + 1:,}")


def test_one_zone_may_be_given_for_all_rows(tmp_path: Path) -> None:
    mapping = CsvMapping(name=0, type=1, value=2, fixed_zone="Example.test", header=False)
    documents, _ = read(tmp_path, "www,A,192.0.2.1\n", mapping)

    assert documents["example.test."].text == b"www.example.test. 3600 IN A 192.0.2.1\n"


def test_rows_may_be_split_by_a_list_of_zones(tmp_path: Path) -> None:
    mapping = CsvMapping(name=0, type=1, value=2, zones=("a.test", "sub.a.test"), header=False)
    rows = "www.a.test,A,192.0.2.1\nx.sub.a.test,A,192.0.2.2\nsub.a.test,A,192.0.2.3\nb.test,A,192.0.2.4\n"
    documents, (fault,) = read(tmp_path, rows, mapping)

    assert {zone: document.text.count(b"\n") for zone, document in documents.items()} == {
        "a.test.": 1,
        "sub.a.test.": 2,
    }
    assert fault.reason == "b.test isn’t in any of the given zones"


def test_tables_may_be_compressed_and_have_other_delimiters(tmp_path: Path) -> None:
    text = "\ufeffZone;Name;Type;TTL;Content\r\nexample.test;www;A;60;192.0.2.1\r\n"
    path = table(tmp_path, gzip.compress(text.encode()))
    (document,) = CsvSource(path, sample(path).mapping).items()

    assert isinstance(document, Document)
    assert document.text == b"www.example.test. 60 IN A 192.0.2.1\n"


def test_a_sample_shows_the_header_and_ten_rows(tmp_path: Path) -> None:
    rows = "".join(f"a.test,w{number},A,60,192.0.2.1,,,\n" for number in range(40))
    found = sample(table(tmp_path, HEADER + rows))

    assert found.header == HEADER.strip().split(",")
    assert len(found.rows) == 10
    assert found.rows[0] == ["a.test", "w0", "A", "60", "192.0.2.1", "", "", ""]
    assert found.mapping == MAPPING
    assert CsvMapping(**asdict(found.mapping)) == found.mapping


def test_columns_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceRefused, match="name, type, value, zone"):
        CsvSource(table(tmp_path, ""), CsvMapping())


def test_skipping_leaves_out_the_beginning(tmp_path: Path) -> None:
    path = table(tmp_path, HEADER + "bad\n" + "".join(f"z{number}.test,@,A,60,192.0.2.1,,,\n" for number in range(5)))
    every = list(CsvSource(path, MAPPING).items())

    assert len(every) == 6
    for skip in range(7):
        source = CsvSource(path, MAPPING)
        assert list(source.items(skip=skip)) == every[skip:]
        assert source.done == source.total


SOA = "example.test{0}@{0}SOA{0}3600{0}ns1.other.test. hostmaster.other.test. 1 10800 3600 604800 3600\n"


@pytest.mark.parametrize(
    ("above", "delimiter"),
    [
        ("sep=;\n", ";"),
        ('\ufeff"sep=,"\r\n', ","),
        ("SEP=\t\n", "\t"),
        ("# exported 2026-01-01\n", ","),
        ("// exported, 2026-01-01\n\n", ","),
        ("Records of example.test\nExported by ann, 2026-01-01, all types\n\n", ","),
        ("sep=|\n# a comment of several words\n", "|"),
    ],
)
def test_the_header_may_be_below_the_first_line(tmp_path: Path, above: str, delimiter: str) -> None:
    header = delimiter.join(("Zone", "Name", "Type", "TTL", "Value")) + "\n"
    row = delimiter.join(("example.test", "www", "A", "3600", "192.0.2.1")) + "\n"
    text = above + header + SOA.format(delimiter) + row
    found = sample(table(tmp_path, text))
    assert (found.delimiter, found.header) == (delimiter, ["Zone", "Name", "Type", "TTL", "Value"])
    assert [each[2] for each in found.rows] == ["SOA", "A"]
    documents, faults = read(tmp_path, text, found.mapping)
    assert faults == []
    assert documents["example.test."].text.decode().splitlines()[1] == "www.example.test. 3600 IN A 192.0.2.1"
    lines_above = above.count("\n")
    assert list(documents["example.test."].lines or ()) == [lines_above + 2, lines_above + 3]


def test_a_row_that_is_wrong_between_title_and_header_does_not_hide_the_header(tmp_path: Path) -> None:
    mapping = CsvMapping(zone=0, name=1, type=2, value=3)
    documents, faults = read(tmp_path, "title\nzone,name,type,value\na.test,www,A,192.0.2.1\n", mapping)
    assert (list(documents), faults) == (["a.test."], [])


def test_without_known_words_the_first_row_is_the_header(tmp_path: Path) -> None:
    mapping = CsvMapping(zone=0, name=1, type=2, value=3)
    documents, faults = read(tmp_path, "# x\nzona,nombre,clase,valor\na.test,www,A,192.0.2.1\n", mapping)
    assert (list(documents), faults) == (["a.test."], [])


@pytest.mark.parametrize(
    "text", ["x" * 2_000_000, "a\rb,c\n", HEADER + "x" * 2_000_000], ids=["long", "a return", "a row"]
)
def test_a_file_that_is_no_table_is_refused_or_sampled(tmp_path: Path, text: str) -> None:
    """A cell of more than 131,072 characters once made the detection of the delimiter fail with a server error."""
    with suppress(SourceRefused, UploadRefused):
        sample(table(tmp_path, text))


def test_the_longest_value_fits_into_a_cell(tmp_path: Path) -> None:
    text = '"' + "\\195" * 255 + '" '
    value = (text * 250).strip()
    assert len(value) > 131_072
    quoted = value.replace('"', '""')
    assert lines(tmp_path, f'example.test,x,TXT,300,"{quoted}",,,\n') == [f"x.example.test. 300 IN TXT {value}"]
    assert sample(table(tmp_path, HEADER + f'example.test,x,TXT,300,"{quoted}",,,\n')).rows[0][4] == value
