"""The interpretation of text typed into quick add."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.documents import Document, Options
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import (
    AmbiguousName,
    Entry,
    Reading,
    read_line,
    read_lines,
    read_owner,
    read_rdata,
    read_ttl,
)
from replication.dns import names, rdata, rdtypes
from tests.oracle.zonefile_corpus import HEAD, corpus

ZONE = "example.test."
A, MX, TXT, CNAME = 1, 15, 16, 5


@pytest.mark.parametrize(
    ("line", "name", "type", "ttl", "value"),
    [
        ("www A 192.0.2.1", "www.example.test.", A, None, "192.0.2.1"),
        ("www 300 A 192.0.2.1", "www.example.test.", A, 300, "192.0.2.1"),
        ("www 300 IN A 192.0.2.1", "www.example.test.", A, 300, "192.0.2.1"),
        ("www IN 300 A 192.0.2.1", "www.example.test.", A, 300, "192.0.2.1"),
        ("www in 1h30m a 192.0.2.1", "www.example.test.", A, 5400, "192.0.2.1"),
        ("300 www A 192.0.2.1", "www.example.test.", A, 300, "192.0.2.1"),
        ("300 A 192.0.2.1", "300.example.test.", A, None, "192.0.2.1"),
        ("300 600 A 192.0.2.1", "300.example.test.", A, 600, "192.0.2.1"),
        ("@ MX 10 mail", "example.test.", MX, None, "10 mail.example.test."),
        ("@ MX 10 mail.other.test.", "example.test.", MX, None, "10 mail.other.test."),
        ("a A 192.0.2.1", "a.example.test.", A, None, "192.0.2.1"),
        ("mx MX 10 mail", "mx.example.test.", MX, None, "10 mail.example.test."),
        ("in A 192.0.2.1", "in.example.test.", A, None, "192.0.2.1"),
        ("*.dev A 192.0.2.1", "*.dev.example.test.", A, None, "192.0.2.1"),
        ("WWW.Example.Test. A 192.0.2.1", "www.example.test.", A, None, "192.0.2.1"),
        ("_sip._tcp SRV 10 60 5060 sip", "_sip._tcp.example.test.", 33, None, "10 60 5060 sip.example.test."),
        ("bücher A 192.0.2.1", "xn--bcher-kva.example.test.", A, None, "192.0.2.1"),
        (r"a\.b A 192.0.2.1", r"a\.b.example.test.", A, None, "192.0.2.1"),
        (r"a\032b A 192.0.2.1", r"a\032b.example.test.", A, None, "192.0.2.1"),
        (r"a\ b A 192.0.2.1", r"a\032b.example.test.", A, None, "192.0.2.1"),
        ("0/26 NS ns1", "0/26.example.test.", 2, None, "ns1.example.test."),
        (r"www TYPE1 \# 4 c0000201", "www.example.test.", A, None, "192.0.2.1"),
        ("www   \t A\t192.0.2.1  ", "www.example.test.", A, None, "192.0.2.1"),
        ("www A ( 192.0.2.1 )", "www.example.test.", A, None, "192.0.2.1"),
        ('@ HTTPS 1 . alpn="h2,h3"', "example.test.", 65, None, '1 . alpn="h2,h3"'),
        ('@ CAA 0 issue "ca.test; a=1"', "example.test.", 257, None, '0 issue "ca.test; a=1"'),
    ],
)
def test_a_line_means(line: str, name: str, type: int, ttl: int | None, value: str) -> None:
    entry = read_line(line, ZONE)
    assert (entry.name, entry.type, entry.ttl, entry.rdata) == (name, type, ttl, value)


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("", 1, "empty"),
        ("www", 3, "Enter a record type"),
        ("A 192.0.2.1", 3, "Enter the name first"),
        ("MX", 2, "Enter the name first"),
        ("www A", 5, "value for the A record"),
        ("www A 192.0.2.999", 7, "192.0.2.999"),
        ("www BOGUS 1", 5, "isn’t a valid record type"),
        ("www -1 A 192.0.2.1", 5, "'-1' isn’t a valid TTL"),
        ("www 1.5h A 192.0.2.1", 5, "'1.5h' isn’t a valid TTL"),
        ("www CH TXT x", 5, "Only class IN"),
        ("www 99999999999 A 192.0.2.1", 5, "at most"),
        ("a..b A 192.0.2.1", 1, "empty label"),
        ("www.other.test. A 192.0.2.1", 1, "is not in the zone"),
        ('txt TXT "open', 9, "closing quote is missing"),
        ("www A (192.0.2.1", 16, "closing parenthesis is missing"),
        ("www A 192.0.2.1)", 16, "no opening parenthesis"),
        ("x" * 64 + " A 192.0.2.1", 1, "64 bytes"),
        ("www RRSIG x", 11, "signed"),
    ],
)
def test_a_line_that_cannot_be_read_says_why_and_where(line: str, column: int, words: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_line(line, ZONE)
    assert words in caught.value.message
    assert caught.value.column == column


@pytest.mark.parametrize("typed", ["www.example.test", "example.test", "WWW.EXAMPLE.TEST", "a.b.example.test"])
def test_a_name_that_ends_in_the_zone_without_a_dot_is_asked_about(typed: str) -> None:
    with pytest.raises(AmbiguousName) as caught:
        read_owner(typed, ZONE)
    assert caught.value.absolute == typed.lower() + "."
    assert caught.value.relative == typed.lower() + "." + ZONE
    assert read_owner(typed, ZONE, means=Reading.ABSOLUTE) == caught.value.absolute
    assert read_owner(typed, ZONE, means=Reading.RELATIVE) == caught.value.relative


@pytest.mark.parametrize("typed", ["www.example", "example", "test", "myexample.test.x", "www.example.test."])
def test_a_name_that_only_looks_alike_is_not_asked_about(typed: str) -> None:
    read_owner(typed, ZONE)


def test_in_the_root_zone_every_name_is_absolute_and_nothing_is_asked() -> None:
    assert read_owner("www.example.test", ".") == "www.example.test."
    assert read_line("test NS ns1.nic.test", ".").rdata == "ns1.nic.test."


def test_a_target_that_doubles_the_zone_is_asked_about() -> None:
    with pytest.raises(AmbiguousName) as caught:
        read_line("@ MX 10 mail.example.test", ZONE)
    assert caught.value.absolute == "mail.example.test."
    assert read_line("@ MX 10 mail.example.test", ZONE, means=Reading.ABSOLUTE).rdata == "10 mail.example.test."
    doubled = read_line("@ MX 10 mail.example.test", ZONE, means=Reading.RELATIVE)
    assert doubled.rdata == "10 mail.example.test.example.test."


def test_a_dotted_target_without_a_final_dot_is_pointed_out() -> None:
    entry = read_line("www CNAME cdn.provider.test", ZONE)
    assert entry.rdata == "cdn.provider.test.example.test."
    assert "cdn.provider.test." in entry.notes[0]
    assert read_line("www CNAME cdn.provider.test.", ZONE).notes == ()


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("v=spf1 mx -all", '"v=spf1 mx -all"'),
        ('"v=spf1 mx -all"', '"v=spf1 mx -all"'),
        ('"a" "b"', '"a" "b"'),
        ("v=DKIM1; k=rsa; p=MIG", '"v=DKIM1; k=rsa; p=MIG"'),
        ("<script>alert(1)</script>", '"<script>alert(1)</script>"'),
        (r'"a\"b\\c"', r'"a\"b\\c"'),
        (r"back\\slash", r'"back\\slash"'),
        (r'"\000\255"', r'"\000\255"'),
        ("größe", r'"gr\195\182\195\159e"'),
        ('""', '""'),
        ("(x)", '"(x)"'),
    ],
)
def test_text_is_kept_exactly(typed: str, value: str) -> None:
    assert read_rdata(TXT, typed, ZONE).rdata == value
    assert read_line(f"t TXT {typed}", ZONE).rdata == value


@given(st.binary(min_size=0, max_size=900))
def test_every_byte_of_a_text_survives(raw: bytes) -> None:
    typed = '"' + "".join(f"\\{byte:03d}" for byte in raw) + '"'
    wire = rdata.to_wire(TXT, read_rdata(TXT, typed, ZONE).rdata)
    strings, position = [], 0
    while position < len(wire):
        strings.append(wire[position + 1 : position + 1 + wire[position]])
        position += 1 + wire[position]
    assert b"".join(strings) == raw
    assert all(len(string) == 255 for string in strings[:-1])


def test_a_long_key_is_split_and_said_so() -> None:
    value = read_rdata(TXT, "v=DKIM1; k=rsa; p=" + "A" * 392, ZONE)
    assert [len(part) for part in value.rdata.strip('"').split('" "')] == [255, 155]
    assert "split" in value.notes[-1]


def test_a_comment_is_kept_apart_from_text_with_semicolons() -> None:
    assert read_line("www A 192.0.2.1 ; the web", ZONE).comment == "the web"
    entry = read_line("k TXT v=DKIM1; p=x ; our key", ZONE)
    assert (entry.rdata, entry.comment) == ('"v=DKIM1; p=x"', "our key")


@pytest.mark.parametrize(
    ("text", "seconds"), [("0", 0), ("300", 300), ("5m", 300), ("1H", 3600), ("1d12h", 129600), ("1w", 604800)]
)
def test_a_ttl_means_seconds(text: str, seconds: int) -> None:
    assert read_ttl(text) == seconds


@pytest.mark.parametrize("text", ["", "-1", "1.5", "h", "2147483648", "5 m", "１"])
def test_what_is_no_ttl_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_ttl(text)


PASTE = """\
; a piece of a zone file
$TTL 1h
@       IN SOA ns1 hostmaster (
                7 ; serial
                1d 2h 4w 300 )
        NS  ns1
www     300 A 192.0.2.1
        A   192.0.2.2   ; second

$ORIGIN dev
x       CNAME www.example.test
bad     A   192.0.2
*       A   192.0.2.3
"""


def test_a_paste_is_read_line_by_line() -> None:
    lines = read_lines(PASTE, ZONE)
    assert [line.number for line in lines] == [3, 6, 7, 8, 11, 12, 13]
    entries = [line.entry for line in lines]
    assert entries[0] is not None
    assert entries[0].rdata == "ns1.example.test. hostmaster.example.test. 7 86400 7200 2419200 300"
    assert entries[2:4] == [
        Entry("www.example.test.", A, 300, "192.0.2.1", default_ttl=3600),
        Entry("www.example.test.", A, None, "192.0.2.2", "second", default_ttl=3600),
    ]
    assert lines[4].doubled
    assert lines[4].column == 15
    assert "192.0.2" in lines[5].error
    assert lines[5].column == 13
    assert entries[6] is not None
    assert entries[6].name == "*.dev.example.test."
    [resolved] = [line for line in read_lines(PASTE, ZONE, means=Reading.ABSOLUTE) if line.number == 11]
    assert resolved.entry is not None
    assert resolved.entry.rdata == "www.example.test."


def test_a_directive_that_is_not_read_is_an_error_of_its_line() -> None:
    lines = read_lines("$INCLUDE other\nwww A 192.0.2.1", ZONE)
    assert lines[0].error.startswith("$INCLUDE")
    assert lines[1].entry is not None


@given(st.text(max_size=80))
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    try:
        entry = read_line(text, ZONE)
    except (Unreadable, AmbiguousName):
        return
    assert names.is_within(entry.name, ZONE)
    assert rdtypes.refusal(entry.type) is None


@given(st.text(max_size=300))
def test_no_paste_whatever_breaks_the_reader(text: str) -> None:
    assert all(line.entry or line.error for line in read_lines(text, ZONE))


# Differences from an import: a paste is interpreted as people mean it, and asks if that is unclear.
READ_DIFFERENTLY = {
    "a text without quotes",  # one string, with a note
    "a text without quotes and with a semicolon",
    "typographic quotes",
    "class by number",
    "an open parenthesis",  # an import continues on the next line
    "parentheses around part of it",
    "a disabled record of ours",
}
LEFT_OUT_BY_AN_IMPORT = (rdtypes.SOA, rdtypes.DNSKEY, rdtypes.CDS, 65534)


def test_a_paste_reads_lines_as_an_import_does() -> None:
    compared = 0
    for title, raw in corpus().items():
        if not raw.startswith(HEAD.encode()) or title in READ_DIFFERENTLY or title.startswith("generated"):
            continue
        document = Document("pasted", raw, ZONE)
        zone = read_zone(document, options=Options(), include=lambda path: None, allow_lua=True)
        text = raw.decode("utf-8", "replace")
        if "\ufffd" in text:
            continue
        pasted = [line.entry for line in read_lines(text, ZONE, means=Reading.RELATIVE) if line.entry]
        assert {
            (entry.name, entry.type, entry.rdata) for entry in pasted if entry.type not in LEFT_OUT_BY_AN_IMPORT
        } == {
            (rrset.name, rrset.type, text) for rrset in zone.rrsets for text in rrset.texts if rrset.type != rdtypes.SOA
        }, title
        compared += 1
    assert compared > 180


@pytest.mark.parametrize(
    ("line", "column"), [('"www" A 192.0.2.1', 1), ('www CNAME "shop"', 11), ('@ MX 10 "mail"', 9)]
)
def test_names_cannot_stand_in_quotes(line: str, column: int) -> None:
    with pytest.raises(Unreadable, match="cannot be in quotes") as caught:
        read_line(line, ZONE)
    assert caught.value.column == column


def test_a_line_never_continues_a_name_further_up_than_the_last_one() -> None:
    """Previously, addresses below a faulty line were added to the name above that line."""
    lines = read_lines(
        "one A 192.0.2.1\ntwo A 192.0.2.300\n A 192.0.2.2\na.other.test. A 192.0.2.1\n A 192.0.2.3\n", ZONE
    )
    assert [line.entry.name if line.entry else line.error[:8] for line in lines] == [
        "one.example.test.",
        "192.0.2.",
        "two.example.test.",
        "a.other.",
        "This lin",
    ]
