import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.sources import group_by_zone
from dnspanel.transfer.sources.group_by_zone import ZoneCollector, absolute_name, record_line, text_of_txt
from replication.dns import rdata, rdtypes


def test_a_record_is_one_line() -> None:
    assert record_line("www.example.test.", "300", "A", "192.0.2.1") == "www.example.test. 300 IN A 192.0.2.1\n"
    assert record_line("a.test.", "1h", "A", "192.0.2.1", disabled=True, comment=" two\n lines ") == (
        ";!disabled a.test. 1h IN A 192.0.2.1 ; two lines\n"
    )


@pytest.mark.parametrize("ttl", ["", "auto", "Automatic", "-"])
def test_no_ttl_is_an_hour(ttl: str) -> None:
    assert record_line("a.test.", ttl, "A", "192.0.2.1").startswith("a.test. 3600 ")


@pytest.mark.parametrize(
    ("ttl", "type", "value"),
    [
        ("soon", "A", "192.0.2.1"),
        ("-1", "A", "192.0.2.1"),
        ("300", "", "192.0.2.1"),
        ("300", "A B", "192.0.2.1"),
        ("300", "A\n", "192.0.2.1"),
        ("300", "A", ""),
        ("300", "A", "192.0.2.1\nwww 300 IN A 192.0.2.2"),
        ("300", "CAA", "0 issue ca.test; x"),
        ("300", "SOA", "a. b. ( 1 2"),
        ("300", "TXT", 'half "quoted'),
        ("300", "TXT", 'ends in "escape\\'),
    ],
)
def test_what_is_not_one_record_is_refused(ttl: str, type: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        record_line("a.test.", ttl, type, value)


@pytest.mark.parametrize("value", ['0 issue "ca.test; x=(1)"', '"a" "b;c"', r"a\;b", r'"say \"x\";"'])
def test_what_is_quoted_may_hold_anything(value: str) -> None:
    assert value in record_line("a.test.", "300", "TXT", value)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=600))
def test_txt_values_keep_every_byte(value: str) -> None:
    text = text_of_txt(value)
    if text == value:  # it was quoted already
        return
    wire = rdata.to_wire(rdtypes.TXT, text)
    strings, at = [], 0
    while at < len(wire):
        strings.append(wire[at + 1 : at + 1 + wire[at]])
        at += 1 + wire[at]

    assert b"".join(strings).decode() == value
    assert record_line("a.test.", "300", "TXT", text).count("\n") == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("mail.other.test", "mail.other.test."),
        ("mail.other.test.", "mail.other.test."),
        ("mail", "mail.example.test."),
        ("@", "example.test."),
    ],
)
def test_names_of_tables_are_made_absolute(text: str, name: str) -> None:
    assert absolute_name(text, "example.test.") == name


def test_lines_in_any_order_come_together_by_zone(tmp_path: Path) -> None:
    rows = [(f"z{number % 7}.test.", f"line {number}\n", number + 2) for number in range(500)]
    random.Random(7).shuffle(rows)
    zones = ZoneCollector(tmp_path)
    for zone, text, line in rows:
        zones.add(zone, text, line)
    found = list(zones.documents("x.csv"))

    assert [document.zone for document in found] == list(dict.fromkeys(zone for zone, _, _ in rows))
    for document in found:
        assert isinstance(document, Document)
        mine = [(text, line) for zone, text, line in rows if zone == document.zone]
        assert document.text == "".join(text for text, _ in mine).encode()
        assert document.lines is not None
        assert list(document.lines) == [line for _, line in mine]


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    zones = ZoneCollector(tmp_path)
    zones.add("a.test.", "x\n", 1)

    assert list(tmp_path.iterdir()) == []


def test_a_zone_too_large_for_a_document_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_by_zone, "MOST_DOCUMENT_BYTES", 10)
    zones = ZoneCollector(tmp_path)
    zones.add("a.test.", "x" * 11, 5)
    zones.add("b.test.", "x", 6)
    fault, document = zones.documents("x.csv")

    assert isinstance(fault, SourceFault)
    assert (fault.zone, fault.line, fault.code) == ("a.test.", 5, "document")
    assert isinstance(document, Document)
