"""Tests of the rdata of every type."""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replication.dns import rdata, rdtypes
from replication.dns.rdtypes import HTTPS, IPSECKEY, MX, SERVED_TYPES, SRV, SVCB, TXT, A, type_from_text, type_to_text
from replication.errors import BadRdata

ZONE = "example.test."

# One or more values for each type: the typed text, and the canonical text if it differs.
VALUES: dict[str, list[tuple[str, str]]] = {
    "A": [("192.0.2.1", "")],
    "AAAA": [("2001:DB8:0:0::1", "2001:db8::1"), ("::ffff:192.0.2.1", "")],
    "AFSDB": [("1 AFS", "1 AFS.example.test.")],
    "ALIAS": [("cdn.test.", "")],
    "APL": [("1:192.0.2.0/24 !2:2001:db8::/32", "")],
    "CAA": [('0 issue "ca.test"', ""), ("128 iodef mailto:a@b.test", '128 iodef "mailto:a@b.test"')],
    "CDNSKEY": [("257 3 13 AQNR", "")],
    "CDS": [("1 13 2 " + "ab" * 32, ""), ("0 0 0 00", "")],
    "CERT": [("PGP 0 0 AQNR", "")],
    "CNAME": [("WWW", "WWW.example.test.")],
    "CSYNC": [("66 3 A NS AAAA", "")],
    "DHCID": [
        ("AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69 lOjxfNuVAA2kjEA=")
    ],
    "DNAME": [("Other.test.", "")],
    "DNSKEY": [("257 3 13 AQNR", "")],
    "DS": [("1 13 2 " + "AB" * 32, "1 13 2 " + "ab" * 32)],
    "EUI48": [("00-00-5e-00-53-2a", "")],
    "EUI64": [("00-00-5e-ef-10-00-00-2a", "")],
    "HINFO": [('"PC" "Linux"', ""), ("PC Linux", '"PC" "Linux"')],
    "HTTPS": [
        ("0 svc.test.", ""),
        ("1 . ipv4hint=192.0.2.1,192.0.2.2 alpn=h2,h3", '1 . alpn="h2,h3" ipv4hint="192.0.2.1,192.0.2.2"'),
        ("16 Svc port=8443 mandatory=port", '16 Svc.example.test. mandatory="port" port="8443"'),
        ("1 . key65400=hello ipv6hint=2001:db8::1", '1 . ipv6hint="2001:db8::1" key65400="hello"'),
        ("1 . no-default-alpn alpn=h3", '1 . alpn="h3" no-default-alpn'),
    ],
    "IPSECKEY": [
        ("10 1 2 192.0.2.3 AQNR", ""),
        ("10 0 2 . AQNR", ""),
        ("10 2 2 2001:db8::1 AQNR", ""),
        ("10 3 2 gw.test. AQNR", ""),
    ],
    "KEY": [("256 3 5 AQNR", "")],
    "KX": [("10 kx", "10 kx.example.test.")],
    "L32": [("10 10.1.2.0", "")],
    "L64": [("10 2001:0db8:1140:1000", "")],
    "LOC": [("52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000.00m 10.00m", "")],
    "LP": [("10 l64.test.", "")],
    "LUA": [('A "ifportup(443, {})"', "")],
    "MB": [("mail", "mail.example.test.")],
    "MG": [("mail.test.", "")],
    "MINFO": [("a.test. b.test.", "")],
    "MR": [("mail.test.", "")],
    "MX": [("10 Mail", "10 Mail.example.test."), ("0 .", "")],
    "NAPTR": [('100 50 "s" "SIP+D2U" "" _SIP._udp', '100 50 "s" "SIP+D2U" "" _SIP._udp.example.test.')],
    "NID": [("10 0014:4fff:ff20:ee64", "")],
    "NS": [("NS1", "NS1.example.test.")],
    "OPENPGPKEY": [("AQNR", "")],
    "PTR": [("host", "host.example.test.")],
    "RKEY": [("0 3 5 AQNR", "")],
    "RP": [("mail txt", "mail.example.test. txt.example.test.")],
    "SMIMEA": [("3 1 1 " + "ab" * 32, "")],
    "SOA": [("a.invalid. hostmaster.test101.org. 0 10800 3600 604800 3600", "")],
    "SPF": [("v=spf1 -all", '"v=spf1 -all"')],
    "SRV": [("0 5 443 Web", "0 5 443 Web.example.test.")],
    "SSHFP": [("1 1 " + "ab" * 20, "")],
    "SVCB": [('1 . dohpath="/dns-query{?dns}"', '1 . dohpath="/dns-query{?dns}"')],
    "TLSA": [("3 1 1 " + "AB" * 32, "3 1 1 " + "ab" * 32)],
    "TXT": [('"a" "b"', "")],
    "URI": [('10 1 "https://www.test/"', "")],
    "ZONEMD": [("2026010101 1 1 " + "ab" * 48, "")],
    "TYPE1234": [("\\# 3 0102ff", ""), ("\\# 0", "\\# 0 ")],
}


def test_every_type_that_powerdns_serves_has_values() -> None:
    assert {type_from_text(name) for name in VALUES} - {1234} == SERVED_TYPES


@pytest.mark.parametrize(
    ("name", "text", "canonical"),
    [(name, text, canonical or text) for name, cases in VALUES.items() for text, canonical in cases],
)
def test_rdata_becomes_canonical_and_keeps_its_meaning_in_bytes(name: str, text: str, canonical: str) -> None:
    type = type_from_text(name)
    assert rdata.parse(type, text, ZONE) == canonical
    wire = rdata.to_wire(type, canonical)
    assert rdata.from_wire(type, wire) == canonical
    assert rdata.parse(type, canonical) == canonical
    assert rdata.parse(type, f"\\# {len(wire)} {wire.hex()}") == canonical


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("A", "192.0.2.300", "192.0.2.300 isn’t a valid IPv4 address"),
        ("A", "192.0.2.01", "192.0.2.01 isn’t a valid IPv4 address"),
        ("A", "2001:db8::1", "use AAAA for IPv6 addresses"),
        ("AAAA", "192.0.2.1", "use A for IPv4 addresses"),
        ("A", "", "the A record has an empty value"),
        ("MX", "mail", r"expected 2 fields \(preference, host\), but found 1"),
        ("MX", "70000 mail", "the preference 70000 must be from 0 to 65535"),
        ("MX", "x mail", "the preference “x” must be a whole number"),
        ("SRV", "0 0 80 a..b", "“a..b” isn’t a valid domain name"),
        ("CNAME", "nul\\000.test.", "zero byte"),
        ("SOA", "a. b. 1 2 3 4 2147483648", "the minimum 2147483648 must be from 0 to"),
        ("TXT", '"open', "the quotes don’t match"),
        ("TXT", "x" * 66000, "at most 65535 are allowed"),
        ("CAA", "0 issue", "isn’t a valid CAA value"),
        ("CAA", "0 issue ca.test;policy=ev", "put the text in double quotes"),
        ("TLSA", "3 1 1 zz", "isn’t a valid TLSA value"),
        ("TYPE1234", "hello", "isn’t a valid TYPE1234 value"),
        ("TYPE1234", "\\# 4 0102", "is followed by 2 bytes"),
        ("TYPE1234", "\\# x 01", "must be followed by a length"),
        ("A", "\\# 3 010203", "an IPv4 address must have 4 bytes, not 3"),
        ("LUA", "A ifportup()", "must be in double quotes"),
        ("LUA", 'NOPE "x"', "“NOPE” isn’t a valid record type"),
        ("NSEC", "a. A", "NSEC records can’t be edited"),
        ("ANY", "x", "ANY is only used in queries"),
    ],
)
def test_what_is_wrong_is_explained_to_a_person(name: str, text: str, reason: str) -> None:
    with pytest.raises(BadRdata, match=reason) as caught:
        rdata.parse(type_from_text(name), text, ZONE)
    assert "Text input" not in str(caught.value)
    assert len(str(caught.value)) < 250


TYPES = st.sampled_from(sorted(SERVED_TYPES | {1234}))
SAMPLES = st.sampled_from([text for cases in VALUES.values() for text, _ in cases])


@pytest.mark.parametrize(
    ("name", "text", "canonical"),
    [
        ("PTR", r"My\ Printer._ipp", r"My\032Printer._ipp.example.test."),
        ("CNAME", "a\\ ", r"a\032.example.test."),
        ("SRV", r"0 0 631 print\ server", r"0 0 631 print\032server.example.test."),
        ("MX", r"10 a\ b\	c.test.", r"10 a\032b\009c.test."),
        ("SOA", r"a\ b. c\ d. 1 2 3 4 5", r"a\032b. c\032d. 1 2 3 4 5"),
        ("RP", r"a\ b. c\ d.", r"a\032b. c\032d."),
        ("NAPTR", r'1 1 "u" "x" "" a\ b.', r'1 1 "u" "x" "" a\032b.'),
        ("SVCB", r"1 a\ b.", r"1 a\032b."),
        ("NS", "a\\\\ b", None),
        ("TXT", r'"a\ b" "c\\ d"', r'"a b" "c\\ d"'),
    ],
)
def test_an_escaped_space_does_not_end_a_name(name: str, text: str, canonical: str | None) -> None:
    r"""Go programs write this (RFC 1035 5.1). `a\\ b` is a name that ends in a backslash, and a second word."""
    if canonical is None:
        with pytest.raises(BadRdata):
            rdata.parse(type_from_text(name), text, ZONE)
        return
    assert rdata.parse(type_from_text(name), text, ZONE) == canonical


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TYPES, st.text(st.characters(), max_size=30) | SAMPLES)
def test_whatever_is_typed_becomes_rdata_or_is_refused(type: int, text: str) -> None:
    try:
        canonical = rdata.parse(type, text, ZONE)
    except BadRdata:
        return
    assert rdata.parse(type, canonical) == canonical
    assert rdata.from_wire(type, rdata.to_wire(type, canonical)) == canonical


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TYPES, st.binary(max_size=40))
def test_any_bytes_are_rdata_or_refused(type: int, wire: bytes) -> None:
    try:
        canonical = rdata.from_wire(type, wire)
    except BadRdata:
        return
    # Only the letter case of a signer can get lost.
    back = rdata.to_wire(type, canonical)
    assert back == wire or (type == rdtypes.RRSIG and back.lower() == wire.lower())


@pytest.mark.parametrize("type", [SVCB, HTTPS])
@pytest.mark.parametrize(
    "text",
    [
        "1 . alpn=h2 alpn=h3",  # twice
        "1 . mandatory=port",  # mandatory, but absent
        "1 . mandatory=mandatory",
        "1 . mandatory=port,port port=1",
        "1 . no-default-alpn",  # needs alpn
        "1 . alpn=",
        "1 . port=65536",
        "1 . port=x",
        "1 . ipv4hint=192.0.2.300",
        "1 . ipv6hint=192.0.2.1",
        "1 . ech=!!!",
        "1 . ech=",
        '1 . ech="AAAAA"',
        "1 . nonsense=1",
        "0 . alpn=h2",  # AliasMode has no parameters
        # The same in bytes: keys out of order, twice, cut, a port of one byte, an absent mandatory key.
        "\\# 14 0001 00 0003 0002 0050 0001 0003 026832".replace("14", "16"),
        "\\# 15 0001 00 0003 0002 0050 0003 0002 0050",
        "\\# 8 0001 00 0003 0002 50",
        "\\# 8 0001 00 0003 0001 50",
        "\\# 9 0001 00 0000 0002 0003",
    ],
)
def test_malformed_service_parameters_are_refused(type: int, text: str) -> None:
    """CVE-2026-33611: PowerDNS 4.7 to 5.0.3 damages its LMDB file when it gets such data."""
    with pytest.raises(BadRdata):
        rdata.parse(type, text, ZONE)


@pytest.mark.parametrize("type", [SVCB, HTTPS])
def test_ech_is_any_base64_as_powerdns_takes_it(type: int) -> None:
    """Only dnspython requires a correct length prefix. Previously, zones that PowerDNS serves were refused."""
    for value in ("AEj+DQBEAQAgACBm", "AA==", "AAT+DQAA"):
        canonical = rdata.parse(type, f"1 . ech={value}", ZONE)
        assert canonical == f'1 . ech="{value}"'
        assert rdata.from_wire(type, rdata.to_wire(type, canonical)) == canonical


@pytest.mark.parametrize(
    ("name", "wire"), [("TLSA", "0301"), ("CAA", "00"), ("HTTPS", "0001"), ("MX", "000a01"), ("NAPTR", "0001000100")]
)
def test_bytes_that_are_not_one_rdata_are_refused(name: str, wire: str) -> None:
    with pytest.raises(BadRdata, match=r"invalid [A-Z0-9]+ record"):
        rdata.from_wire(type_from_text(name), bytes.fromhex(wire))


@pytest.mark.parametrize(
    ("type", "text", "found"),
    [
        (A, "192.0.2.1", ()),
        (TXT, '"x"', ()),
        (MX, "10 mail.test.", ("mail.test.",)),
        (SRV, "0 0 443 web.test.", ("web.test.",)),
        (HTTPS, '1 Svc.test. alpn="h2"', ("svc.test.",)),
        (IPSECKEY, "10 3 2 gw.test. AQNR", ("gw.test.",)),
        (IPSECKEY, "10 1 2 192.0.2.3 AQNR", ()),
        (type_from_text("NAPTR"), '1 1 "s" "a b" "" x.test.', ("x.test.",)),
        (type_from_text("ALIAS"), "cdn.test.", ("cdn.test.",)),
    ],
)
def test_targets_are_the_names_that_must_exist(type: int, text: str, found: tuple[str, ...]) -> None:
    assert rdata.targets(type, text) == found


def test_common_types_do_not_load_dnspython() -> None:
    """The agent's memory is limited, and dnspython needs several MiB."""
    assert (
        subprocess.run([sys.executable, "-m", "tests.alone.make_common_types"], check=False, timeout=60).returncode == 0
    )


@pytest.mark.parametrize("type", sorted(SERVED_TYPES))
def test_every_type_has_a_name(type: int) -> None:
    assert not type_to_text(type).startswith("TYPE")


def test_a_value_of_an_unknown_type_has_at_most_as_many_bytes_as_its_length_can_say() -> None:
    assert rdata.to_wire(65280, f"\\# 65535 {'00' * 65535}") == bytes(65535)
    with pytest.raises(BadRdata, match="65536 bytes, but at most 65535"):
        rdata.to_wire(65280, f"\\# 65536 {'00' * 65536}")


@pytest.mark.parametrize("altitude", ["42849672.96m", "-100000.01m", "99999999999m"])
def test_an_altitude_beyond_what_a_loc_can_say_is_refused(altitude: str) -> None:
    """Previously, dnspython noticed this only when it packed the bytes, and a page failed with status 500."""
    with pytest.raises(BadRdata, match="out of range"):
        rdata.parse(29, f"0 0 0 N 0 0 0 E {altitude}")
    assert rdata.parse(29, "0 0 0 N 0 0 0 E 42849672.95m").endswith("42849672.95m")


@pytest.mark.parametrize(
    ("type", "text", "renamed"),
    [
        ("SOA", "ns.a.test. host.a.test. 1 2 3 4 5", "NS.A.TEST. HOST.A.TEST. 1 2 3 4 5"),
        ("MX", "10 mail.a.test.", "10 MAIL.A.TEST."),
        ("NAPTR", '1 1 "u" "E2U+sip" "!a.test. !b!" sip.a.test.', '1 1 "u" "E2U+sip" "!a.test. !b!" SIP.A.TEST.'),
        ("SVCB", '1 svc.a.test. alpn="h2"', '1 SVC.A.TEST. alpn="h2"'),
        ("TXT", '"mail.a.test."', '"mail.a.test."'),
        ("A", "192.0.2.1", "192.0.2.1"),
        ("IPSECKEY", "10 1 2 192.0.2.1 q80=", "10 1 2 192.0.2.1 q80="),
        ("IPSECKEY", "10 3 2 gw.a.test. q80=", "10 3 2 GW.A.TEST. q80="),
    ],
)
def test_only_names_of_hosts_and_mailboxes_are_renamed(type: str, text: str, renamed: str) -> None:
    assert rdata.with_names(rdata.type_from_text(type), text, str.upper) == renamed
