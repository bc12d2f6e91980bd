"""The zone file parser: parsed content, and faults for the lines that it cannot parse.

Tests `zonefile.zonefile_content`, `zonefile.record_parser` and `zonefile.report` too.
"""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, Options, ParsedZone, ReadyRRset, SourceFault
from dnspanel.transfer.zonefile import fast as zonefile_fast
from dnspanel.transfer.zonefile.parse import read_zone
from dnspanel.zones.rules.unreadable import Kind
from dnspanel.zones.rules.violations import Severity
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes, rrset
from tests.full import examples
from tests.oracle.zonefile_corpus import HEAD, corpus
from tests.zonegen import estate

ZONE = "example.test."
NOTHING: dict[str, str] = {}


def read(
    text: str | bytes,
    *,
    path: str = "db.example.test",
    zone: str = "",
    options: Options = Options(),  # noqa: B008 - frozen
    files: dict[str, str] = NOTHING,
    allow_lua: bool = False,
    lines: list[int] | None = None,
    unanswered: Mapping[int, str] = MappingProxyType({}),
) -> ParsedZone:
    raw = text if isinstance(text, bytes) else text.encode()
    return read_zone(
        Document(path, raw, zone, lines),
        options=options,
        include=lambda included: Document(included, files[included].encode()) if included in files else None,
        allow_lua=allow_lua,
        unanswered=unanswered,
    )


def body(text: str | bytes, **more: object) -> ParsedZone:
    """Parse a zone with a SOA and an NS in lines 1 to 4, followed by the given text."""
    raw = text if isinstance(text, bytes) else text.encode()
    return read(HEAD.encode() + raw, **more)  # type: ignore[arg-type]


def at(zone: ParsedZone, name: str, type: str) -> ReadyRRset:
    number = rdata.type_from_text(type)
    owner = names.parse(name, ZONE)
    return next(found for found in zone.rrsets if found.name == owner and found.type == number)


def codes(zone: ParsedZone) -> list[str]:
    """Return the fault codes except `ns-few`, which most test zones cause because they have only one name server."""
    return [fault.code for fault in zone.faults if fault.code != "ns-few"]


def only_fault(zone: ParsedZone) -> SourceFault:
    (fault,) = [fault for fault in zone.faults if fault.code != "ns-few"]
    return fault


# What is read


def test_rrsets_are_what_rrset_make_makes_and_sorted() -> None:
    zone = body(
        "WWW 300 A 192.0.2.9\nwww 300 A 192.0.2.10\n@ MX 20 Mail\n@ MX 10 mail.other.test.\nmail A 192.0.2.1\n"
        't TXT "a\\065b" c\n*.x AAAA 2001:DB8:0::1\nx\\.y A 192.0.2.1\n_a._b SRV 1 2 3 @\n'
        '@ CAA 0 issue "ca.test"\nh HINFO PC "Linux x"\n@ HTTPS 1 . alpn="h2,h3"\n'
    )
    assert codes(zone) == ["target-missing", "owner-not-host"]  # the SRV, and x\\.y
    for found in zone.rrsets:
        made = rrset.make(found.name, found.type, found.ttl, found.texts)
        assert (found.name, found.ttl, found.texts) == (made.name, made.ttl, made.rdata)
        assert found.wires == tuple(rdata.to_wire(found.type, text) for text in found.texts)
        assert found.key == relative_key(found.name, ZONE)
    assert list(zone.rrsets) == sorted(zone.rrsets, key=lambda found: (found.key, found.type))
    assert at(zone, "www", "A").texts == ("192.0.2.9", "192.0.2.10")
    assert zone.records == sum(len(found.texts) for found in zone.rrsets) == 14
    assert zone.serial == 1


def test_the_seeded_estate_is_read_as_it_was_made() -> None:
    for name, made in estate(30):
        lines = [f"{r.name} {r.ttl} IN {rdata.type_to_text(r.type)} {text}\n" for r in made for text in r.rdata]
        zone = read("".join(lines))
        assert zone.name == name
        assert zone.faults == []
        assert {(r.name, r.type, r.ttl, r.texts) for r in zone.rrsets} == {
            (r.name, r.type, r.ttl, tuple(sorted(r.rdata, key=lambda text: rdata.to_wire(r.type, text)))) for r in made
        }


def test_a_missing_ttl_is_that_of_the_ttl_directive_or_the_last_one_or_the_minimum_of_the_soa() -> None:
    assert at(body("$TTL 60\nwww A 192.0.2.1\n"), "www", "A").ttl == 60
    soa = "example.test. {} SOA a.other.test. b.other.test. 1 2 3 4 77\n"
    assert at(read(soa.format(300) + " NS a.other.test.\n"), "@", "NS").ttl == 300
    zone = read(soa.format("") + " NS a.other.test.\n")
    assert at(zone, "@", "NS").ttl == at(zone, "@", "SOA").ttl == 77
    assert codes(zone) == ["ttl-missing"]
    assert zone.is_sound


def test_an_include_is_read_in_place_and_gives_the_origin_and_the_owner_back() -> None:
    files = {"hosts": "a A 192.0.2.1\n$ORIGIN deep\nb A 192.0.2.2\n", "more": "c A 192.0.2.3\n"}
    zone = body('www A 192.0.2.9\n$INCLUDE hosts sub\n A 192.0.2.10\n$INCLUDE "more"\n', files=files)
    assert codes(zone) == []
    assert [found.name for found in zone.rrsets if found.type == 1] == [
        "c.example.test.",
        "a.sub.example.test.",
        "b.deep.sub.example.test.",
        "www.example.test.",
    ]
    assert len(at(zone, "www", "A").texts) == 2


def test_a_fault_in_an_included_file_names_that_file() -> None:
    fault = only_fault(body("$INCLUDE hosts\n", files={"hosts": "\na A 192.0.2.1\nb A 192.0.2.300\n"}))
    assert (fault.path, fault.line, fault.column, fault.source) == ("hosts", 3, 5, "b A 192.0.2.300")


def test_the_soa_may_stand_in_an_included_file() -> None:
    files = {"soa": "@ 3600 SOA a.other.test. b.other.test. 1 2 3 4 5\n@ NS a.other.test.\n"}
    zone = read("$INCLUDE soa\nwww A 192.0.2.1\n", files=files)
    assert (zone.name, codes(zone)) == (ZONE, [])


def test_includes_end_at_a_depth_and_at_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    zone = body("$INCLUDE again\n", files={"again": "$INCLUDE again\n"})
    assert codes(zone) == ["include-depth"]
    monkeypatch.setattr(import_limits, "MOST_DOCUMENT_BYTES", 5_000)
    zone = body("$INCLUDE many\n", files={"many": "$INCLUDE small\n" * 20, "small": ""})
    assert set(codes(zone)) == {"too-large"}


def test_comments_at_the_end_of_records_are_kept_unless_the_options_drop_them() -> None:
    text = (
        "; not this\nwww A 192.0.2.1 ; web  server\nwww A 192.0.2.2;spare\nwww A 192.0.2.3 ; spare\n"
        't TXT "a;b" ; grün\nk TXT ( "one" ; first\n "two" ) ; key\n'
    )
    zone = body(text)
    assert at(zone, "www", "A").comment == "web server; spare"
    assert at(zone, "t", "TXT").comment == "grün"
    assert at(zone, "k", "TXT").comment == "key"
    plain = body(text, options=Options(comments=False))
    assert {found.comment for found in plain.rrsets} == {""}
    assert [found._replace(comment="") for found in zone.rrsets] == list(plain.rrsets)


def test_what_stands_beside_the_fields_of_a_soa_is_no_comment_of_it() -> None:
    zone = read("$TTL 60\n@ SOA a.other.test. b.other.test. ( 7 ; serial (day)\n 2 3 4\n 5 ) ; minimum\n NS a.test.\n")
    assert at(zone, "@", "SOA").comment == ""
    assert (zone.serial, codes(zone)) == (7, [])


def test_a_disabled_record_is_kept_and_not_served() -> None:
    zone = body(
        "www A 192.0.2.1 ; both\n;!disabled www.example.test. 3600 IN A 192.0.2.2 ; off\n"
        ";!disabled old.example.test. 60 IN CNAME www\n A 192.0.2.3\n;!disabled x\n"
    )
    www = at(zone, "www", "A")
    assert (www.texts, www.disabled) == (("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("192.0.2.2",))
    assert www.comment == "both; off"
    assert at(zone, "old", "CNAME").disabled == ("www.example.test.",)
    assert codes(zone) == ["type-missing"]


def test_a_record_that_is_enabled_and_disabled_is_served() -> None:
    off = ";!disabled www.example.test. 3600 IN A 192.0.2.1\n"
    for text in (f"www A 192.0.2.1\n{off}", f"{off}www A 192.0.2.1\n"):
        assert at(body(text), "www", "A").disabled == ()


def test_generate_makes_records_and_counts_them() -> None:
    zone = body('$GENERATE 1-4/2 h${10,3} 60 IN A 192.0.2.$\n$GENERATE 1-2 @ TXT "a $"\nwww A 192.0.2.1\n')
    assert (at(zone, "h011", "A").texts, at(zone, "h013", "A").ttl) == (("192.0.2.1",), 60)
    assert at(zone, "@", "TXT").texts == ('"a" "1"', '"a" "2"')
    assert zone.generated == 4
    assert at(zone, "www", "A").ttl == 3600


def test_generate_ends_at_its_limit_and_at_its_first_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_limits, "MOST_GENERATED", 20)
    zone = body("$GENERATE 1-9 a$ A 192.0.2.1\n$GENERATE 1-12 a$ A 192.0.2.1\n$GENERATE 250-260 b$ A 192.0.2.$\n")
    limit, wrong = [fault for fault in zone.faults if fault.severity is Severity.ERROR]
    assert (limit.code, limit.line) == ("generate-limit", 6)
    assert (wrong.code, wrong.line) == ("rdata", 7)
    assert "b256 A 192.0.2.256" in wrong.reason
    assert zone.generated == 20


def test_international_names_become_what_dns_has() -> None:
    zone = body("bücher A 192.0.2.1\nw CNAME bücher\n")
    assert at(zone, "w", "CNAME").texts == ("xn--bcher-kva.example.test.",)
    assert codes(zone) == []


def test_windows_files_are_read() -> None:
    plain = body("www A 192.0.2.1\n")
    windows = read(b"\xef\xbb\xbf" + (HEAD + "www A 192.0.2.1\n").replace("\n", "\r\n").encode())
    assert windows.rrsets == plain.rrsets
    assert codes(windows) == []


# What is left out or changed


def test_records_outside_the_zone_are_left_out_with_one_warning() -> None:
    fault = only_fault(body("a.other.test. A 192.0.2.1\n A 192.0.2.2\nb.other.test. A 192.0.2.1\n"))
    assert (fault.code, fault.severity, fault.line) == ("out-of-zone", Severity.WARNING, 5)
    assert fault.reason.startswith("3 records left out")


def test_records_of_dnssec_are_left_out_with_one_warning_that_the_zone_will_be_unsigned() -> None:
    """Previously a note said that the name servers sign the zone, although the panel did not."""
    zone = body(
        "@ RRSIG A 13 2 1 20300101000000 20200101000000 1 example.test. AAAA\n@ NSEC a A\n@ NSEC b A\n"
        "@ TYPE65534 \\# 0\n@ CDS 0 0 0 00\nsub NS a.other.test.\nsub DS 1 13 2 " + "00" * 32 + "\n"
    )
    [fault] = [fault for fault in zone.faults if fault.code != "ns-few"]
    assert (fault.code, fault.severity, zone.is_sound) == ("dnssec-left-out", Severity.WARNING, True)
    assert "Left out: 1 RRSIG, 2 NSEC, 1 CDS, 1 TYPE65534. The zone will be served unsigned." in fault.reason
    assert at(zone, "sub", "DS")


def test_the_type_by_which_bind_notes_its_signing_is_an_ordinary_one_below_the_apex() -> None:
    """Previously a private type at `www` was left out, and the zone was reported as signed."""
    zone = body("www TYPE65534 \\# 2 0102\n")
    assert codes(zone) == []
    assert at(zone, "www", "TYPE65534").texts == ("\\# 2 0102",)


def test_lua_is_left_out_unless_it_is_allowed() -> None:
    text = "l LUA A \"'192.0.2.1'\"\n"
    assert codes(body(text)) == ["lua-left-out"]
    assert codes(body(text, allow_lua=True)) == []


def test_a_value_that_nodes_cannot_read_back_is_an_error_at_its_line() -> None:
    """Previously a new zone with such a value ended in the trash, although its import reported success."""
    text = '@ CAA 0 issuewild "ca.test"\n@ CAA 0 issue ""\nk IPSECKEY 10 1 255 192.0.2.38 AQID\n'
    found = body(text, unanswered={Kind.EMPTY_CAA: "some nodes can’t read the value: ns1 (PowerDNS 4.7)"})
    assert [(fault.code, fault.line) for fault in found.faults if fault.code != "ns-few"] == [
        ("value-unanswered", 6),
        ("value-unanswered", 7),
    ]
    assert "ns1 (PowerDNS 4.7)" in found.faults[0].reason
    assert not found.is_sound
    assert codes(body('@ CAA 0 issue ""\n')) == []  # all nodes read it


def test_duplicates_and_ttls_that_differ_are_reported_once() -> None:
    zone = body("a A 192.0.2.1\na A 192.0.2.1\nb 60 A 192.0.2.1\nb 70 A 192.0.2.2\n")
    assert codes(zone) == ["duplicate", "ttl-differs"]
    assert at(zone, "b", "A").ttl == 60
    assert zone.is_sound


def test_the_soa_that_ends_a_zone_transfer_is_no_duplicate() -> None:
    soa = "@ SOA ns1.other.test. hostmaster.other.test. 1 10800 3600 604800 3600\n"
    assert codes(body(soa)) == []


# Options


def test_ttls_are_replaced_or_bounded() -> None:
    text = "a 0 A 192.0.2.1\nb 500000 A 192.0.2.1\n"
    assert {r.ttl for r in body(text, options=Options(ttl=300)).rrsets} == {300}
    bounded = body(text, options=Options(ttl_least=60, ttl_most=86400))
    assert (at(bounded, "a", "A").ttl, at(bounded, "b", "A").ttl, at(bounded, "@", "SOA").ttl) == (60, 86400, 3600)
    assert codes(bounded) == []
    assert codes(body("a 300 A 192.0.2.1\n", options=Options(ttl=5)))[0] == "ttl-low"


def test_our_soa_keeps_the_serial_and_our_name_servers_replace_theirs(settings: Any) -> None:
    settings.DEFAULT_NAMESERVERS = ["ns2.ours.test.", "ns1.ours.test."]
    settings.DEFAULT_HOSTMASTER = "dns.ours.test."
    zone = body("sub NS a.other.test.\n", options=Options(soa="ours", nameservers="ours"))
    assert at(zone, "@", "SOA").texts == ("ns2.ours.test. dns.ours.test. 1 10800 3600 604800 3600",)
    assert at(zone, "@", "NS").texts == ("ns1.ours.test.", "ns2.ours.test.")
    assert at(zone, "sub", "NS").texts == ("a.other.test.",)
    assert (zone.records, zone.faults) == (4, [])


def test_a_missing_soa_and_missing_name_servers_are_errors_unless_ours_are_requested() -> None:
    assert codes(read("www 60 A 192.0.2.1\n", zone=ZONE)) == ["apex-ns-missing", "soa-missing"]
    assert codes(read("www 60 A 192.0.2.1\n", zone=ZONE, options=Options(soa="ours", nameservers="ours"))) == []


# Faults


def test_every_error_of_a_file_is_reported_with_its_place_and_the_good_lines_are_read() -> None:
    zone = body('a A 192.0.2.300\nb A 192.0.2.1\nc  MX mail\n\td BOGUS x\ne TXT "open\nf A (192.0.2.1\ng A 192.0.2.2\n')
    places = [(fault.line, fault.column, fault.code) for fault in zone.faults]
    assert places == [
        (5, 5, "rdata"),
        (7, 7, "rdata"),
        (8, 2, "type-unknown"),
        (9, 7, "quote"),
        (10, 5, "parenthesis"),
    ]
    assert at(zone, "b", "A")
    assert at(zone, "g", "A")
    assert not zone.is_sound


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("www A 2001:db8::1", "www AAAA 2001:db8::1"),
        ("www 300 IN AAAA 192.0.2.1 ; x", "www 300 IN A 192.0.2.1 ; x"),
        ("www A 192.0.2.1,", "www A 192.0.2.1"),
        ("www A 192,0,2,1", "www A 192.0.2.1"),
        ("www A 192.0.2.1:443", "www A 192.0.2.1"),
        ("www A [2001:db8::1]", "www AAAA 2001:db8::1"),
        ("www A 192.000.002.001", "www A 192.0.2.1"),
        ("www A http://192.0.2.1/", "www A 192.0.2.1"),
        ("www A host.other.test", "www CNAME host.other.test."),
        ("www CNAME https://other.test/shop", "www CNAME other.test."),
        ("www CNAME other.test. ; x y", ""),
        ("@ MX mail.other.test.", "@ MX 10 mail.other.test."),
        ("@ MX mail 10", "@ MX 10 mail"),
        ("@ MX 10,mail.other.test.", "@ MX 10 mail.other.test."),
        ("www,300,A,192.0.2.1", "www 300 A 192.0.2.1"),
        ("www CNAM other.test.", "www CNAM" + "E other.test."),
        # A DNAME would be similar, but move all names below. The ANAME of DNS Made Easy is an ALIAS.
        ("@ 300 IN ANAME lb.provider.test.", "@ 300 IN ALIAS lb.provider.test."),
        ("A 192.0.2.1", "@ A 192.0.2.1"),
        ("t TXT v=spf1 mx -all", 't TXT "v=spf1 mx -all"'),
        ("t TXT v=DKIM1; k=rsa; p=x", 't TXT "v=DKIM1; k=rsa; p=x"'),
        ("t TXT “v=spf1 -all”", 't TXT "v=spf1 -all"'),
        ("www\u00a0A 192.0.2.1", "www A 192.0.2.1"),
        ("www.example.test A 192.0.2.1", "www.example.test. A 192.0.2.1"),
        ("example.test MX 10 mail.other.test.", "example.test. MX 10 mail.other.test."),
        ("www CNAME mail.example.test", "www CNAME mail.example.test."),
        ("www CNAME example.test", "www CNAME example.test."),
        ("www 9999999999 A 192.0.2.1", "www 86400 A 192.0.2.1"),
        ("a..b A 192.0.2.1", "a.b A 192.0.2.1"),
        ('"www" A 192.0.2.1', "www A 192.0.2.1"),
        ("@ CNAME other.test.", "@ ALIAS other.test."),
        ("$TTTL 300", "$TTL 300"),
    ],
)
def test_a_fix_is_the_line_as_it_was_probably_meant(line: str, fix: str) -> None:
    zone = body(line + "\n")
    assert [fault.fix for fault in zone.faults if fault.fix] == [fix] * bool(fix)
    again = body((fix or line) + "\n")
    assert again.is_sound
    assert not any(fault.fix for fault in again.faults)


@pytest.mark.parametrize(
    "line",
    [
        "www XNAME other.test.",
        "www CNAM 10 other.test.",
        "www MXX mail",
        "www AAAB 192.0.2.1",
        "@ ANAME 10 lb.test.",
        "@ ANAME 192.0.2.1",
    ],
    ids=["two alike", "two values", "no preference", "the other kind", "ANAME with a number", "ANAME of an address"],
)
def test_no_type_is_proposed_that_cannot_read_the_value_or_is_one_of_two(line: str) -> None:
    fault = only_fault(body(line + "\n"))
    assert (fault.code, fault.fix) == ("type-unknown", "")


def test_aname_is_not_proposed_as_a_type_that_nodes_do_not_answer() -> None:
    document = Document("db", (HEAD + "@ 300 IN ANAME lb.provider.test.\n").encode(), ZONE)
    zone = read_zone(
        document, options=Options(), include=lambda path: None, allow_lua=False, unanswered={rdtypes.ALIAS: "no"}
    )
    assert only_fault(zone).fix == ""


def test_an_escaped_space_is_a_letter_of_owners_and_values() -> None:
    zone = body(
        "_ipp._tcp PTR My\\ Printer._ipp\nMy\\ Printer._ipp SRV 0 0 631 print\\ server\nprint\\ server A 192.0.2.1\n"
    )
    assert zone.is_sound
    assert at(zone, "_ipp._tcp", "PTR").texts == (r"My\032Printer._ipp.example.test.",)
    assert at(zone, r"my\032printer._ipp", "SRV").texts == (r"0 0 631 print\032server.example.test.",)
    assert at(zone, r"print\032server", "A").texts == ("192.0.2.1",)


def test_lines_are_those_of_the_file_that_the_source_names() -> None:
    text = "@ 60 IN SOA a.test. b.test. 1 2 3 4 5\n@ 60 IN NS a.test.\n@ 60 IN NS b.test.\nwww 60 IN A 192.0.2.300\n"
    assert only_fault(read(text, zone=ZONE, lines=[10, 20, 20, 31])).line == 31


def test_bytes_that_are_not_utf8_are_an_error_with_their_offset_except_in_comments() -> None:
    raw = b'a A 192.0.2.1 ; gr\xfcn\nt TXT "gr\xfcn"\nu TXT "\xfc"\n'
    fault = only_fault(body(raw))
    assert fault.code == "wrong-encoding"
    offset = len(HEAD) + raw.index(b"\xfc", 20)
    assert f"offset {offset} " in fault.reason
    assert fault.line == 6
    utf16 = read((HEAD + "www A 192.0.2.1\n").encode("utf-16"))
    assert [(fault.code, fault.line) for fault in utf16.faults] == [("wrong-encoding", 1)]


LONG = import_limits.MOST_LINE_BYTES


@pytest.mark.parametrize("line", ["a" * (LONG + 1), "www TXT " + '"a" ' * (LONG // 4), "; " + "a" * LONG])
def test_a_line_that_is_too_long_is_an_error_of_the_file(line: str) -> None:
    """A line of 64 MB once needed 825 MB of a worker's memory, most of it for tokens."""
    fault = only_fault(body(f"www A 192.0.2.1\n{line}\nmail A 192.0.2.2\n"))
    assert (fault.code, fault.line, len(fault.source)) == ("line-length", 6, 200)
    assert fault.reason == import_limits.title("line")


def test_lines_that_a_parenthesis_makes_one_are_no_longer_than_one() -> None:
    text = "www TXT (\n" + '"aaaa"\n' * (LONG // 6) + ")\nmail A x\n"
    assert [(fault.code, fault.line) for fault in body(text).faults if fault.code != "ns-few"] == [
        ("line-length", 5),
        ("rdata", LONG // 6 + 7),
    ]


def test_a_line_that_is_too_long_in_an_included_file_is_told_there() -> None:
    found = read(HEAD + "$INCLUDE more\n", files={"more": "a A 192.0.2.1\n" + "x" * (LONG + 1)})
    assert [(fault.path, fault.code, fault.line) for fault in found.faults if fault.code != "ns-few"] == [
        ("more", "line-length", 2)
    ]


def test_a_file_with_too_many_errors_is_not_read_to_its_end() -> None:
    zone = body("www A x\n" * 1000)
    assert codes(zone) == ["rdata"] * import_limits.MOST_FAULTS_OF_ZONE + ["too-many"]


def test_warnings_end_at_a_number_too() -> None:
    zone = body("".join(f"a{n} CNAME gone{n}\n" for n in range(1000)))
    assert zone.is_sound
    assert len(zone.faults) == import_limits.MOST_FAULTS_OF_ZONE


def test_rules_are_reported_at_the_line_of_a_record_that_breaks_them() -> None:
    zone = body("a A 192.0.2.1\na CNAME b\nb A 192.0.2.1\n@ MX 10 c\n@ MX 20 gone\nc A 192.0.2.1\n")
    assert [(f.line, f.column, f.code) for f in zone.faults] == [(6, 1, "cname-alone")]
    zone = body("@ MX 10 c\n@ MX 20 gone\nc A 192.0.2.1\nd CNAME x\nd CNAME y\n")
    assert [(f.line, f.column, f.code) for f in zone.faults] == [(9, 1, "cname-single")]
    zone = body("@ MX 10 c\n@ MX 20 gone\nc A 192.0.2.1\n")
    assert [(f.line, f.column, f.code) for f in zone.faults] == [(4, 1, "ns-few"), (6, 9, "target-missing")]


def test_a_soa_that_cannot_be_read_is_not_also_called_missing() -> None:
    zone = read("example.test. 60 SOA a. b. 1 2 3 4\n@ 60 NS a.test.\n")
    assert codes(zone) == ["rdata"]


def test_an_rrset_that_no_answer_has_room_for_is_an_error() -> None:
    text = "".join(f'big TXT "{n:0250d}"\n' for n in range(300))
    fault = only_fault(body(text))
    assert (fault.code, fault.line) == ("rrset-too-large", 5)
    assert only_fault(body("one TXT " + '"' + "x" * 65_000 + '"\n' + "one TXT y\n" * 2)).code == "duplicate"
    assert only_fault(body("one TXT " + '"' + "x" * 65_400 + '"\n')).code == "rdata"


def test_a_zone_without_a_name_says_what_to_write() -> None:
    zone = read("@ 60 SOA ns1.example.test. b. 1 2 3 4 5\n", path="zone.txt")
    assert zone.name == ""
    assert not zone.is_sound
    assert only_fault(zone).fix == "", "the name servers may be those of another zone"
    assert only_fault(zone).code == "zone-name-unknown"


def test_the_root_and_zones_with_long_names_are_read_as_well() -> None:
    for name in (".", "a" * 60 + "." + "b" * 60 + "." + "c" * 60 + ".test."):
        text = "@ 60 SOA a.other.test. b. 1 2 3 4 5\n@ 60 NS a.other.test.\n@ 60 NS b.other.test.\nw 60 A 192.0.2.1\n"
        zone = read(text + f"w.{name.lstrip('.')} 60 A 192.0.2.2\n", zone=name)
        assert set(codes(zone)) <= {"target-missing"}
        assert zone.rrsets[-1].texts == ("192.0.2.1", "192.0.2.2")
    assert codes(read(text + "w 60 CNAME x\n", zone="."))[0] == "cname-alone"


# Any bytes


CORPUS = list(corpus().values())
TOKENS = sorted({*b"\n".join(CORPUS).split(), b"(", b")", b'"', b"\\", b";", b"$", b"@", b"\n", b"\xff", b"${", b"\0"})


def spoilt() -> st.SearchStrategy[bytes]:
    """Generate zone files with text inserted, removed or moved."""

    def spoil(raw: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
        for place, cut, word in changes:
            where = place % (len(raw) + 1)
            raw = raw[:where] + word + raw[where + cut :]
        return raw

    change = st.tuples(st.integers(0, 10_000), st.integers(0, 4), st.sampled_from([b"", b" ", *TOKENS]))
    return st.builds(spoil, st.sampled_from(CORPUS), st.lists(change, max_size=5))


OPTIONS = st.builds(
    Options,
    ttl=st.sampled_from((None, 60)),
    ttl_least=st.sampled_from((None, 60)),
    comments=st.booleans(),
    nameservers=st.sampled_from(("keep", "ours")),
    soa=st.sampled_from(("keep", "ours")),
)


@settings(max_examples=examples(150, 600), deadline=None)
@given(st.one_of(st.binary(), spoilt(), spoilt()), st.sampled_from(("", ZONE, ".")), OPTIONS, st.booleans())
def test_whatever_the_bytes_are_it_answers(raw: bytes, zone: str, options: Options, lua: bool) -> None:
    found = read(raw, zone=zone, options=options, allow_lua=lua, files={"missing.zone": HEAD})
    assert found.is_sound or found.faults
    for fault in found.faults:
        assert fault.reason
        "".join((fault.reason, fault.source, fault.fix)).encode()
    for made in found.rrsets if found.is_sound else []:
        again = rrset.make(made.name, made.type, made.ttl, made.texts, made.disabled, made.comment)
        assert (made.texts, made.disabled) == (again.rdata, again.disabled)
        assert made.key == relative_key(made.name, found.name)


@settings(max_examples=examples(150, 600), deadline=None)
@given(spoilt(), st.sampled_from((ZONE, ".")))
def test_the_fast_path_and_the_slow_path_say_the_same(raw: bytes, zone: str) -> None:
    fast = read(raw, zone=zone)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zonefile_fast, "KINDS", {})
        assert read(raw, zone=zone) == fast


def test_unclosed_parentheses_do_not_take_quadratic_time() -> None:
    started = time.process_time()
    zone = body("a A ( 192.0.2.1\n" * 20_000)
    assert set(codes(zone)) == {"parenthesis", "too-many"}
    assert time.process_time() - started < 5
