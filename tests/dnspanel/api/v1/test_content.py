"""Tests of record content: conversion from and to PowerDNS's form. The samples come from pdns_server 4.7.3."""

import pytest

from dnspanel.api.v1.content import content_for_client, read_content
from dnspanel.api.v1.view import Refusal
from replication.dns import rdata, rdtypes

NAME = "x.example.test."
KEY = "mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ=="

# The real server accepts and shows these unchanged.
SAMPLES = [
    ("A", "192.0.2.1"),
    ("AAAA", "2001:db8::1"),
    ("AFSDB", "1 afs.test."),
    ("AFSDB", "1 a@b$.c\\.d.test."),
    ("ALIAS", "x.test."),
    ("CAA", '0 issue "letsencrypt.org"'),
    ("CDNSKEY", f"257 3 13 {KEY}"),
    ("CDS", "12345 13 2 " + "ab" * 32),
    ("CERT", "1 0 0 AQIDBA=="),
    ("CERT", "3 0 8 " + "A" * 100),
    ("CNAME", "x.test."),
    ("CSYNC", "66 3 A NS AAAA"),
    ("DHCID", "AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA="),
    ("DNSKEY", f"257 3 13 {KEY}"),
    ("DS", "12345 13 2 " + "ab" * 32),
    ("EUI48", "00-00-5e-00-53-2a"),
    ("HINFO", '"i386" "Linux"'),
    ("HTTPS", "1 . alpn=h2,h3 ipv4hint=192.0.2.1 ipv6hint=2001:db8::1"),
    ("HTTPS", "0 foo.test."),
    ("IPSECKEY", "10 0 2 AQNR"),
    ("IPSECKEY", f"10 1 2 192.0.2.38 {KEY}"),
    ("IPSECKEY", "10 3 2 mygw.test. AQNR"),
    ("KX", "10 kx.test."),
    ("L32", "10 10.1.2.0"),
    ("L64", "10 2001:0DB8:1140:1000"),
    ("LOC", "51 56 0.123 N 5 54 0.000 E 4.00m 1.00m 10000.00m 10.00m"),
    ("LOC", "51 56 0.123 N 5 54 0.000 E 4.00m 2.00m 10000.00m 10.00m"),
    ("LP", "10 l64.test."),
    ("MX", "10 mx.test."),
    ("NAPTR", '100 50 "s" "z3950+I2L+I2C" "" _z3950._tcp.test.'),
    ("NAPTR", '100 10 "u" "sip" "!^.*\\\\$!sip:a\\\\@x.test!" .'),
    ("NID", "10 0014:4FFF:FF20:EE64"),
    ("OPENPGPKEY", "AQIDBA=="),
    ("PTR", "x.test."),
    ("RP", "a.b.test. ."),
    ("SMIMEA", "3 1 1 " + "ab" * 32),
    ("SOA", "ns1.test. hostmaster.test. 1 10800 3600 604800 3600"),
    ("SOA", "ns1.test. hostmaster@example.test. 1 10800 3600 604800 3600"),
    ("SRV", "0 5 5060 sip.test."),
    ("SSHFP", "1 1 " + "ab" * 20),
    ("SVCB", "16 foo.test. port=53"),
    ("TLSA", "3 1 1 " + "ab" * 32),
    ("TXT", '"a" "b"'),
    ("TXT", '"semi;colon \\"quoted\\" back\\\\slash"'),
    ("TXT", '""'),
    ("TYPE1234", "\\# 4 01020304"),
    ("URI", '10 1 "https://a.test/"'),
    ("ZONEMD", "2018031500 1 1 " + "ab" * 48),
]


@pytest.mark.parametrize(("word", "content"), SAMPLES)
def test_what_a_client_writes_is_what_it_reads(word: str, content: str) -> None:
    type_ = rdata.type_from_text(word)
    assert content_for_client(type_, read_content(NAME, type_, content)) == content


@pytest.mark.parametrize(
    ("word", "content", "displayed"),
    [
        ("AAAA", "2001:DB8:0::1", "2001:db8::1"),
        ("MX", "010  MX.test.", "10 MX.test."),
        ("DS", "1 13 2 " + "AB" * 32, "1 13 2 " + "ab" * 32),
        ("TXT", '"' + "x" * 300 + '"', '"' + "x" * 255 + '" "' + "x" * 45 + '"'),
        ("HTTPS", '1 . alpn="h2,h3"', "1 . alpn=h2,h3"),
        ("HTTPS", '1 . alpn="h2,h\\\\,3"', '1 . alpn="h2,h\\\\,3"'),
    ],
)
def test_other_spellings_are_taken_and_shown_in_the_one(word: str, content: str, displayed: str) -> None:
    type_ = rdata.type_from_text(word)
    assert content_for_client(type_, read_content(NAME, type_, content)) == displayed


@pytest.mark.parametrize(
    ("word", "content", "words"),
    [
        ("A", "x", "Record x.example.test./A 'x': "),
        ("A", " 192.0.2.1", "Not in expected format (parsed as '192.0.2.1')"),
        ("CNAME", "www", "Not in expected format (parsed as 'www.')"),
        ("MX", "10 mail.test", "Not in expected format (parsed as '10 mail.test.')"),
        ("SRV", "0 5 5060 @", "Not in expected format"),
        ("HTTPS", "1 svc", "Not in expected format (parsed as '1 svc.')"),
        ("RP", "a.test. b", "Not in expected format"),
        ("TXT", "plain", "Not in expected format (parsed as '\"plain\"')"),
        ("TXT", "", "has an empty value"),
        ("MX", "10 a@b.test.", "non-hostname content"),
        ("RRSIG", "x", "signed"),
        ("NSEC", "example.test. A", "signed"),
        ("NSEC3", "1 0 0 - 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A", "signed"),
        ("NSEC3PARAM", "1 0 0 -", "a setting of the signed zone"),
    ],
)
def test_what_could_mean_two_things_is_refused(word: str, content: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_content(NAME, rdata.type_from_text(word), content)
    assert caught.value.status == 422
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("type", "content"),
    [
        (rdtypes.TXT, '"a";b'),
        (rdtypes.TXT, '"a" ; b'),
        (rdtypes.TXT, '("a")'),
        (rdtypes.CNAME, "a.test.;b.test."),
        (rdtypes.MX, "10 (mail.example.test.)"),
        (rdtypes.MX, "10\nmail.example.test."),
    ],
)
def test_what_only_a_zone_file_knows_is_refused_and_never_cut_off(type: int, content: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_content("www.example.test.", type, content)
    assert caught.value.status == 422


@pytest.mark.parametrize("content", ['"a;b (c)"', r'"a\";b"', '"v=DKIM1; k=rsa; p=MIG" "x;y"'])
def test_within_quotes_it_is_text(content: str) -> None:
    assert read_content("www.example.test.", rdtypes.TXT, content) == content
