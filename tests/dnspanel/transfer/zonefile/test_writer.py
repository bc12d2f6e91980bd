import pytest

from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, SourceFault
from dnspanel.transfer.zonefile.writer import ZoneText, comment_text, wire_text


def test_each_record_is_a_line() -> None:
    text = ZoneText("a.test.")
    text.add("a.test.", 300, "MX", "10 mail.a.test.", comment="for mail")
    text.add("www.a.test.", "60", "A", "192.0.2.1", disabled=True)
    assert text.document("somewhere") == Document(
        "somewhere",
        b"a.test. 300 IN MX 10 mail.a.test. ; for mail\n;!disabled www.a.test. 60 IN A 192.0.2.1\n",
        "a.test.",
    )
    assert text.records == 2


def test_a_zone_beyond_the_limit_is_a_fault_and_takes_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_limits, "MOST_DOCUMENT_BYTES", 1 << 20)
    text = ZoneText("a.test.")
    for number in range(100_000):
        text.add(f"h{number}.a.test.", 300, "A", "192.0.2.1")
    assert text.is_too_large
    assert len(text._text) < 2 << 20
    fault = text.document("a.test.")
    assert isinstance(fault, SourceFault)
    assert fault.code == "too-large"


def test_bytes_that_are_no_text_stay_what_they_are() -> None:
    text = ZoneText("a.test.")
    text.add("a.test.", 300, "TXT", b'"\xff"'.decode("utf-8", "surrogateescape"))
    document = text.document("a.test.")
    assert isinstance(document, Document)
    assert document.text == b'a.test. 300 IN TXT "\xff"\n'


def test_comments_are_one_line_and_none_is_repeated() -> None:
    assert comment_text([" a\nb ", "c", "a  b", "", "\r\n"]) == "a b; c"
    assert comment_text([]) == ""


def test_rdata_that_is_none_stays_bytes() -> None:
    assert wire_text(1, bytes((192, 0, 2, 1))) == "192.0.2.1"
    assert wire_text(1, b"\x01\x02") == "\\# 2 0102"
