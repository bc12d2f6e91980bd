"""Rdata in form fields (`typed.fields`, `typed.certificate_layouts`): splitting and joining are inverse.

Each fault is shown at its field.
"""

import base64

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.layouts import LAYOUTS
from dnspanel.zones.typed.rare_layouts import BRID, HHIT, WALLET
from dnspanel.zones.typed.rdata_fields import (
    OF_ALL,
    blank_fields,
    format_fields,
    is_untouched,
    joined_as_typed,
    parse_fields,
    without_missing,
)
from replication.dns import names, rdata, rdtypes
from replication.errors import ReplicationError

ZONE = "example.test."

# ── Canonical texts of every type ─────────────────────────────────────────────────────────────────────────────────

u8, u16, u32 = (st.integers(0, 2**bits - 1).map(str) for bits in (8, 16, 32))
seconds = st.integers(0, 2**31 - 1).map(str)
labels = st.lists(st.binary(min_size=1, max_size=12).filter(lambda label: 0 not in label), max_size=4)
owners = labels.map(lambda found: names.from_labels(tuple(label.lower() for label in found)))
hexes = st.binary(min_size=1, max_size=70).map(bytes.hex)
strings = st.binary(max_size=40).map(lambda raw: '"' + "".join(f"\\{byte:03d}" for byte in raw) + '"')
texts = st.lists(strings, min_size=1, max_size=3).map(" ".join) | st.binary(max_size=600).map(
    lambda raw: '"' + "".join(f"\\{byte:03d}" for byte in raw) + '"'
)
plain = st.text("abcdefghij0123456789", min_size=1, max_size=8)
metres = st.integers(-10_000_000, 2**32 - 10_000_001).map(lambda cm: f"{cm / 100:.2f}m")
sizes = st.tuples(st.integers(1, 9), st.integers(0, 9)).map(lambda size: f"{size[0] * 10 ** size[1] / 100:.2f}m")
v4 = st.ip_addresses(v=4).map(str)
v6 = st.ip_addresses(v=6).map(str)


def _in_a_list(raw: bytes) -> str:
    """Return a list item for a quoted string, escaped first for the list and then for the string."""
    return "".join(f"\\{byte:03d}" for byte in raw.replace(b"\\", b"\\\\").replace(b",", b"\\,"))


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


keys = st.binary(min_size=3, max_size=90).map(_base64)


def _groups(raw: bytes) -> str:
    return raw.hex(":", 2)


def joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(" ".join)


def angles(most: int, letters: str) -> st.SearchStrategy[str]:
    def text_of(found: tuple[int, str]) -> str:
        angle, letter = found
        degrees, rest = divmod(angle, 3_600_000)
        return f"{degrees} {rest // 60_000} {rest % 60_000 // 1000}.{rest % 1000:03d} {letter}"

    return st.tuples(st.integers(0, most * 3_600_000), st.sampled_from(letters)).map(text_of)


def listed(key: str, each: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(each, min_size=1, max_size=3).map(lambda found: f'{key}="{",".join(found)}"')


parameters = st.tuples(
    st.just("") | listed("alpn", st.binary(min_size=1, max_size=6).map(_in_a_list)),
    st.sampled_from(["", "no-default-alpn"]),
    st.just("") | u16.map('port="{}"'.format),
    st.just("") | listed("ipv4hint", v4),
    st.just("") | listed("ipv6hint", v6),
    st.sampled_from(["", 'ech="AEj+DQBE"', 'ech=""', 'dohpath="/q{?dns}"', "key9999", "ohttp", 'key65000="a\\"b"']),
    st.sampled_from(["", "mandatory=alpn", "mandatory=alpn,port"]),
).map(lambda found: " ".join(filter(None, found)))


matched = joined(u8, u8, u8, hexes) | joined(u8, u8, st.just("1"), st.binary(min_size=32, max_size=32).map(bytes.hex))
signer = joined(u16, u8, u8, hexes) | joined(u16, u8, st.just("2"), st.binary(min_size=32, max_size=32).map(bytes.hex))
service = joined(u16, owners, parameters)
TEXTS: dict[int, st.SearchStrategy[str]] = {
    rdtypes.SOA: joined(owners, owners, u32, seconds, seconds, seconds, seconds),
    rdtypes.MX: joined(u16, owners),
    rdtypes.SRV: joined(u16, u16, u16, owners),
    rdtypes.CAA: joined(u8, plain, strings),
    rdtypes.TLSA: matched,
    rdtypes.SMIMEA: matched,
    rdtypes.SSHFP: joined(u8, st.sampled_from(["2", "1", "3"]), hexes)
    | joined(u8, st.just("2"), st.binary(min_size=32, max_size=32).map(bytes.hex)),
    rdtypes.HTTPS: service,
    rdtypes.SVCB: service,
    **dict.fromkeys((rdtypes.TXT, rdtypes.SPF), texts),
    rdtypes.NAPTR: joined(u16, u16, strings, strings, strings, owners),
    rdtypes.DS: signer,
    rdtypes.CDS: signer,
    rdtypes.LOC: joined(angles(90, "NS"), angles(180, "EW"), metres, sizes, sizes, sizes)
    | joined(angles(90, "NS"), angles(180, "EW"), metres),
    rdtypes.URI: joined(u16, u16, strings),
    rdtypes.CERT: joined(u16, u16, u8, st.binary(min_size=1, max_size=90).map(_base64)),
    rdtypes.AFSDB: joined(u16, owners),
    rdtypes.KX: joined(u16, owners),
    rdtypes.RP: joined(owners, owners),
    rdtypes.A: v4,
    rdtypes.AAAA: v6,
    **dict.fromkeys((rdtypes.CNAME, rdtypes.DNAME, rdtypes.ALIAS, rdtypes.PTR, rdtypes.NS), owners),
    **dict.fromkeys((rdtypes.MB, rdtypes.MG, rdtypes.MR), owners),
    rdtypes.MINFO: joined(owners, owners),
    rdtypes.HINFO: joined(strings, strings),
    **dict.fromkeys((rdtypes.KEY, rdtypes.RKEY, rdtypes.DNSKEY, rdtypes.CDNSKEY), joined(u16, u8, u8, keys)),
    rdtypes.IPSECKEY: joined(u8, st.just("1"), u8, v4, keys)
    | joined(u8, st.just("2"), u8, v6, keys)
    | joined(u8, st.just("3"), u8, owners, keys)
    | joined(u8, st.just("0"), st.just("0"), st.just(".")),
    **dict.fromkeys((rdtypes.OPENPGPKEY, rdtypes.DHCID, HHIT, BRID), keys),
    rdtypes.ZONEMD: joined(u32, st.just("1"), st.just("1"), st.binary(min_size=48, max_size=48).map(bytes.hex)),
    rdtypes.CSYNC: joined(u32, u16, st.sampled_from(["A", "A NS AAAA", "NS TYPE1234"])),
    rdtypes.APL: st.lists(v4.map("1:{}/32".format) | v6.map("!2:{}/128".format), min_size=1, max_size=9).map(" ".join),
    rdtypes.EUI48: st.binary(min_size=6, max_size=6).map(lambda raw: raw.hex("-")),
    rdtypes.EUI64: st.binary(min_size=8, max_size=8).map(lambda raw: raw.hex("-")),
    rdtypes.L32: joined(u16, v4),
    **dict.fromkeys((rdtypes.NID, rdtypes.L64), joined(u16, st.binary(min_size=8, max_size=8).map(_groups))),
    rdtypes.LP: joined(u16, owners),
    rdtypes.LUA: joined(st.sampled_from(["A", "AAAA", "TXT"]), strings),
    WALLET: st.lists(strings, min_size=1, max_size=3).map(" ".join),
}


def test_every_type_that_powerdns_serves_has_fields() -> None:
    assert LAYOUTS.keys() >= rdtypes.SERVED_TYPES


@pytest.mark.parametrize(("number", "name"), [(WALLET, "WALLET"), (HHIT, "HHIT"), (BRID, "BRID")])
def test_types_that_are_newer_than_powerdns_have_their_names(number: int, name: str) -> None:
    assert rdata.type_to_text(number) == name
    assert rdata.type_from_text(name.lower()) == number


def test_a_type_without_fields_takes_its_rdata_as_bytes() -> None:
    assert 1234 not in LAYOUTS
    assert rdata.to_wire(1234, rdata.parse(1234, "\\# 2 ab cd")) == bytes.fromhex("abcd")


@pytest.mark.parametrize("type", sorted(LAYOUTS), ids=rdata.type_to_text)
@given(data=st.data())
def test_fields_taken_apart_and_put_together_are_the_same_rdata(type: int, data: st.DataObject) -> None:
    try:
        canonical = rdata.parse(type, data.draw(TEXTS[type]))
    except ReplicationError:
        assume(False)
    fields = parse_fields(LAYOUTS[type], canonical)
    assert fields.keys() == {field.name for field in LAYOUTS[type].all_fields}
    assert rdata.parse(type, format_fields(LAYOUTS[type], fields)) == canonical
    assert rdata.parse(type, joined_as_typed(LAYOUTS[type], fields)) == canonical


@pytest.mark.parametrize("type", sorted(LAYOUTS), ids=rdata.type_to_text)
@given(data=st.data())
def test_whatever_is_typed_is_a_text_that_the_parser_takes_or_a_fault_of_a_field(
    type: int, data: st.DataObject
) -> None:
    layout = LAYOUTS[type]
    alphabet = st.characters(blacklist_categories=["Cs"]) | st.sampled_from('\\"();@. ,=')
    typed = {field.name: data.draw(st.text(alphabet, max_size=12)) for field in layout.all_fields}
    faults: dict[str, str] = {}
    try:
        rdata.parse(type, format_fields(layout, typed, ZONE), ZONE)
    except BadFields as exc:
        faults = exc.faults
    assert faults.keys() <= {OF_ALL, *typed}
    assert all(fault.endswith(".") for fault in faults.values())
    joined_as_typed(layout, typed)


# ── What people type ──────────────────────────────────────────────────────────────────────────────────────────────


def formatted(type: int, **typed: str) -> str:
    """Return the canonical text of a new value whose fields were filled like this."""
    layout = LAYOUTS[type]
    return rdata.parse(type, format_fields(layout, blank_fields(layout) | typed, ZONE), ZONE)


SHA256 = "ab" * 32


@pytest.mark.parametrize(
    ("type", "typed", "canonical"),
    [
        (rdtypes.MX, {"host": "mail"}, "10 mail.example.test."),
        (rdtypes.MX, {"preference": "0", "host": "."}, "0 ."),
        (rdtypes.SRV, {"port": "5060", "target": "sip"}, "10 0 5060 sip.example.test."),
        (rdtypes.CAA, {"value": 'ca.test; a="b"'}, '0 issue "ca.test; a=\\"b\\""'),
        (rdtypes.CAA, {"tag": "iodef", "value": "mailto:ö@x.test"}, '0 iodef "mailto:\\195\\182@x.test"'),
        (rdtypes.CAA, {"value": '""'}, '0 issue ""'),
        (rdtypes.TLSA, {"certificate": "AB:" * 31 + "AB"}, "3 1 1 " + SHA256),
        (rdtypes.SSHFP, {"fingerprint": f"{SHA256[:32]} {SHA256[32:]}"}, "4 2 " + SHA256),
        (rdtypes.HTTPS, {"alpn": "h3, h2", "port": "8443"}, '1 . alpn="h3,h2" port="8443"'),
        (rdtypes.HTTPS, {"no-default-alpn": "yes", "alpn": "h2"}, '1 . alpn="h2" no-default-alpn'),
        (rdtypes.HTTPS, {"priority": "0", "target": "www"}, "0 www.example.test."),
        (rdtypes.SVCB, {"other": "dohpath=/q{?dns}", "alpn": "h2"}, '1 . alpn="h2" dohpath="/q{?dns}"'),
        (rdtypes.LOC, {"latitude": "52.5", "longitude": "-13"}, "52 30 0.000 N 13 0 0.000 W 0.00m"),
        (rdtypes.TXT, {"text": 'v=spf1  "mx" ~all;'}, '"v=spf1  \\"mx\\" ~all;"'),
        (rdtypes.TXT, {"text": '"one" "two"'}, '"one" "two"'),
        (rdtypes.TXT, {"text": "x" * 300}, f'"{"x" * 255}" "{"x" * 45}"'),
        (rdtypes.TXT, {"text": "v=DKIM1;\np=abc"}, '"v=DKIM1; p=abc"'),
        (rdtypes.URI, {"target": "https://x.test/"}, '10 0 "https://x.test/"'),
        (rdtypes.CERT, {"certificate": "-----BEGIN A-----\nQUJD\n-----END A-----"}, "PKIX 0 0 QUJD"),
        (
            rdtypes.NAPTR,
            {"flags": "u", "service": "E2U+sip", "regexp": "!^.*$!sip:a@x.test!"},
            '100 10 "u" "E2U+sip" "!^.*$!sip:a@x.test!" .',
        ),
        (
            rdtypes.SOA,
            {"primary": "ns1", "mailbox": "host.master@example.net", "serial": "7", "refresh": "3h"},
            "ns1.example.test. host\\.master.example.net. 7 10800 3600 604800 3600",
        ),
    ],
)
def test_fields_are_read_as_people_type_them(type: int, typed: dict[str, str], canonical: str) -> None:
    assert formatted(type, **typed) == canonical


@pytest.mark.parametrize(
    ("type", "typed", "field", "fault"),
    [
        (rdtypes.MX, {"preference": "low", "host": "mail"}, "preference", "whole number"),
        (rdtypes.MX, {"preference": "65536", "host": "mail"}, "preference", "from 0 to 65535"),
        (rdtypes.MX, {}, "host", "Mail server is missing."),
        (rdtypes.MX, {"host": "two words"}, "host", "A name cannot contain spaces, quotes,"),
        (rdtypes.MX, {"host": "a..b"}, "host", "empty label"),
        (rdtypes.SRV, {"target": "sip"}, "port", "Port is missing."),
        (rdtypes.TLSA, {"certificate": "abc"}, "certificate", "two for each byte"),
        (rdtypes.TLSA, {"certificate": "abcd"}, "certificate", "SHA-256 must have 64 hexadecimal digits, not 4."),
        (rdtypes.DS, {"tag": "1", "digest": "ab" * 20}, "digest", "SHA-256 must have 64"),
        (rdtypes.CAA, {"tag": "two words", "value": "x"}, "tag", "one word"),
        (rdtypes.CAA, {"value": "ends in \\"}, "value", "must be followed by"),
        (rdtypes.HTTPS, {"ech": "***"}, "ech", "Base64"),
        (rdtypes.TXT, {"text": '"open'}, "text", "Enclose each string in double quotes, and"),
        (rdtypes.TXT, {"text": "\\"}, "text", "must be followed by"),
        (rdtypes.HTTPS, {"ipv4hint": "2001:db8::1"}, OF_ALL, "."),
        (rdtypes.LOC, {"latitude": "91", "longitude": "0"}, "latitude", "at most 90"),
        (rdtypes.LOC, {"latitude": "1", "longitude": "1", "size": "wide"}, "size", "metres"),
        (rdtypes.NAPTR, {"service": "x" * 256}, "service", "256 bytes, but at most 255"),
        (rdtypes.SOA, {"primary": "a", "mailbox": "b", "serial": "1", "retry": "soon"}, "retry", "seconds"),
    ],
)
def test_a_fault_is_told_at_its_field(type: int, typed: dict[str, str], field: str, fault: str) -> None:
    with pytest.raises(BadFields) as caught:
        formatted(type, **typed)
    assert fault in caught.value.faults[field]


def test_what_is_not_typed_yet_can_be_left_out_of_the_faults() -> None:
    layout = LAYOUTS[rdtypes.SRV]
    with pytest.raises(BadFields) as caught:
        format_fields(layout, {"priority": "x", "weight": "0", "port": "", "target": ""})
    assert without_missing(layout, caught.value.faults) == {"priority": "Enter a whole number."}


def test_a_value_of_defaults_alone_is_untouched() -> None:
    layout = LAYOUTS[rdtypes.MX]
    assert is_untouched(layout, blank_fields(layout))
    assert is_untouched(layout, {"preference": "", "host": " "})
    assert not is_untouched(layout, {"preference": "10", "host": "m"})


@pytest.mark.parametrize(
    ("type", "typed", "line"),
    [
        (rdtypes.MX, {"preference": "abc", "host": "mail"}, "abc mail"),
        (rdtypes.CAA, {"flags": "0", "tag": "issue", "value": "bad \\"}, '0 issue "bad \\"'),
        (rdtypes.TLSA, {"usage": "3", "selector": "", "matching": "1", "certificate": "not hex"}, "3 1 not hex"),
    ],
)
def test_nothing_typed_is_lost_in_the_text(type: int, typed: dict[str, str], line: str) -> None:
    assert joined_as_typed(LAYOUTS[type], typed) == line
