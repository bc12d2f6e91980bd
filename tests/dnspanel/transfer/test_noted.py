"""Round trips of tags and value comments in each export format of a zone."""

import json
from pathlib import Path

import pytest

from dnspanel.transfer.documents import Document, Options, ParsedZone
from dnspanel.transfer.exports import bind, csv_export, json_export
from dnspanel.transfer.noted import read_noted
from dnspanel.transfer.sources.columns import guessed_mapping
from dnspanel.transfer.sources.csv_table import CsvSource
from dnspanel.transfer.sources.json_zones import JsonSource
from dnspanel.transfer.zone_changes import rrset_of
from dnspanel.transfer.zonefile.parse import read_zone
from replication.dns import rdtypes
from replication.dns.rrset import Notes, RRset, make
from tests.dnspanel.transfer.estates import apex, exported

ZONE = "a.test."
NOTED = [
    *apex(ZONE),
    make("www.a.test.", rdtypes.A, 60, ["192.0.2.1", "192.0.2.2"], ["192.0.2.2"], comment="web",
         notes=Notes(("shop",), (("192.0.2.2", '=first "rack"; ü'),))),
    make("t.a.test.", rdtypes.TXT, 60, ['"a;b" "c"'], notes=Notes((), (('"a;b" "c"', "why"),))),
    make("tagged.a.test.", rdtypes.MX, 60, ["10 mail.a.test."], notes=Notes(("-x", "mail"))),
]  # fmt: skip


def parsed(document: Document, *, comments: bool = True) -> ParsedZone:
    options = Options(comments=comments)
    return read_zone(document, options=options, include=lambda path: None, allow_lua=False)


def back(document: Document) -> dict[tuple[str, int], RRset]:
    zone = parsed(document)
    assert [fault for fault in zone.faults if fault.code == "noted"] == []
    return {(rrset.name, rrset.type): rrset for rrset in map(rrset_of, zone.rrsets)}


EXPECTED = {(rrset.name, rrset.type): rrset for rrset in NOTED}


def test_a_zone_file_has_them_in_comments_of_their_own() -> None:
    text = "".join(bind.zone_lines(exported(ZONE, NOTED)))
    assert ';!noted tagged MX {"tags": ["-x", "mail"]}\n' in text
    assert back(Document("a", text.encode(), ZONE)) == EXPECTED
    assert not any(rrset.notes for rrset in parsed(Document("a", text.encode(), ZONE), comments=False).rrsets)


def test_json_has_them_where_they_belong(tmp_path: Path) -> None:
    line = "".join(json_export.zone_line(exported(ZONE, NOTED)))
    www = next(each for each in json.loads(line)["rrsets"] if each["name"] == "www.a.test.")
    assert www["tags"] == ["shop"]
    assert www["records"][1]["comment"] == '=first "rack"; ü'
    file = tmp_path / "zones.json"
    file.write_text(line)
    [document] = JsonSource(file).items()
    assert isinstance(document, Document)
    assert back(document) == EXPECTED


def test_a_table_has_columns_for_them(tmp_path: Path) -> None:
    text = csv_export.header() + "".join(csv_export.zone_lines(exported(ZONE, NOTED)))
    file = tmp_path / "zones.csv"
    file.write_text(text)
    mapping = guessed_mapping([line.split(",") for line in text.splitlines()[:3]], ",")
    [document] = CsvSource(file, mapping=mapping).items()
    assert isinstance(document, Document)
    assert back(document) == EXPECTED


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (";!noted www", "a name, a type and an object"),
        (";!noted www A {", "isn’t valid JSON"),
        (";!noted www A []", "the object can only have"),
        (';!noted www NOPE {"tags": []}', "record type"),
        (';!noted www A {"tags": ["a b"]}', "valid tag"),
        (';!noted www A {"value_comments": {"x": "y"}}', "IPv4"),
    ],
    ids=["short", "cut", "list", "type", "tag", "value"],
)
def test_what_is_no_note_is_told_with_its_reason(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_noted(line, ZONE)
    zone = parsed(Document("a", f"$ORIGIN a.test.\nwww 60 IN A 192.0.2.1\n{line}\n".encode(), ZONE))
    assert [(fault.line, fault.code) for fault in zone.faults if fault.code == "noted"] == [(3, "noted")]
