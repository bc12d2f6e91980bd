"""The forms without dnspython read and print the same text as dnspython."""

import base64

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from replication.dns import names, rdtypes
from replication.dns.rdata_forms import FORMS

IN = dns.rdataclass.IN
# Types whose structure dnspython doesn't know.
OWN = {rdtypes.ALIAS, rdtypes.LUA, rdtypes.RKEY, rdtypes.MB, rdtypes.MG, rdtypes.MR, rdtypes.MINFO}

ORIGIN = "example.test."
LABEL = st.binary(min_size=1, max_size=9).filter(lambda label: 0 not in label)
NAME = st.lists(LABEL, max_size=5).map(lambda labels: dns.name.Name([*labels, b""]).to_wire())
U16 = st.integers(0, 65535).map(lambda value: value.to_bytes(2, "big"))
U31 = st.integers(0, 2**31 - 1).map(lambda value: value.to_bytes(4, "big"))
STRINGS = st.lists(st.binary(max_size=255), min_size=1, max_size=4).map(
    lambda strings: b"".join(bytes((len(string),)) + string for string in strings)
)


def row(*parts: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    return st.tuples(*parts).map(b"".join)


WIRE = {
    rdtypes.A: st.binary(min_size=4, max_size=4),
    rdtypes.AAAA: st.binary(min_size=16, max_size=16) | st.binary(max_size=16).map(lambda tail: tail.rjust(16, b"\0")),
    rdtypes.NS: NAME,
    rdtypes.CNAME: NAME,
    rdtypes.PTR: NAME,
    rdtypes.DNAME: NAME,
    rdtypes.MX: row(U16, NAME),
    rdtypes.AFSDB: row(U16, NAME),
    rdtypes.KX: row(U16, NAME),
    rdtypes.SRV: row(U16, U16, U16, NAME),
    rdtypes.RP: row(NAME, NAME),
    rdtypes.SOA: row(NAME, NAME, U31, U31, U31, U31, U31),
    rdtypes.TXT: STRINGS,
    rdtypes.SPF: STRINGS,
}


def test_every_form_is_compared_with_dnspython_or_is_our_own() -> None:
    assert FORMS.keys() == WIRE.keys() | OWN


@given(st.sampled_from(sorted(WIRE)).flatmap(lambda type: st.tuples(st.just(type), WIRE[type])))
@example((rdtypes.AAAA, bytes(10) + b"\xff\xff\xc0\0\2\1"))
@example((rdtypes.AAAA, bytes(12) + b"\xc0\0\2\1"))
@example((rdtypes.AAAA, bytes(16)))
@example((rdtypes.AAAA, bytes.fromhex("20010db8000000010001000100010001")))
def test_canonical_text_is_what_dnspython_prints(case: tuple[int, bytes]) -> None:
    type, wire = case
    theirs = dns.rdata.from_wire(IN, dns.rdatatype.RdataType(type), wire, 0, len(wire))
    text = theirs.to_text()
    assert FORMS[type].decode(wire) == text
    assert FORMS[type].encode(text, None) == wire


SIMPLE = st.from_regex(r"[A-Za-z0-9_-]{1,10}(\.[a-z0-9-]{1,10}){0,2}\.?", fullmatch=True)


@given(SIMPLE, st.integers(0, 65535), st.sampled_from([rdtypes.MX, rdtypes.SRV, rdtypes.NS, rdtypes.CNAME]))
def test_relative_names_are_read_as_dnspython_reads_them(name: str, number: int, type: int) -> None:
    text = {rdtypes.MX: f"{number} {name}", rdtypes.SRV: f"0 {number} 443 {name}"}.get(type, name)
    theirs = dns.rdata.from_text(
        IN, dns.rdatatype.RdataType(type), text, origin=dns.name.from_text(ORIGIN), relativize=False
    )
    assert FORMS[type].encode(text, ORIGIN) == theirs.to_wire()


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters='"\\\n'), max_size=60), min_size=1, max_size=3))
def test_quoted_strings_are_read_as_dnspython_reads_them(strings: list[str]) -> None:
    text = " ".join(f'"{string}"' for string in strings)
    theirs = dns.rdata.from_text(IN, dns.rdatatype.TXT, text)
    assert FORMS[rdtypes.TXT].encode(text, None) == theirs.to_wire()


@pytest.mark.parametrize(
    ("text", "strings"),
    [
        ("v=spf1 mx -all", [b"v=spf1 mx -all"]),
        ("v=DMARC1; p=none", [b"v=DMARC1; p=none"]),
        ('"a" "b"', [b"a", b"b"]),
        ('"a" ; a comment', [b"a"]),
        ('( "v=DKIM1; k=rsa; "\n\t  "p=MIGf" )  ; ----- DKIM key', [b"v=DKIM1; k=rsa; ", b"p=MIGf"]),
        ("(in brackets)", [b"(in brackets)"]),
        ("<script>alert(1)</script>", [b"<script>alert(1)</script>"]),
        ('""', [b""]),
        ("ünïcode", "ünïcode".encode()),
        ('"\\"\\\\\\007\\255"', [b'"\\\x07\xff']),
        ('say \\"hi\\"', [b'say "hi"']),
        ("x" * 255, [b"x" * 255]),
        ("x" * 256, [b"x" * 255, b"x"]),
        ('"' + "x" * 4000 + '"', [b"x" * 255] * 15 + [b"x" * 175]),
        ('"' + "x" * 300 + '" "y"', [b"x" * 255, b"x" * 45, b"y"]),
    ],
)
def test_txt_is_what_people_mean(text: str, strings: list[bytes] | bytes) -> None:
    found = [strings] if isinstance(strings, bytes) else strings
    wire = FORMS[rdtypes.TXT].encode(text, None)
    assert wire == b"".join(bytes((len(string),)) + string for string in found)


def test_txt_keeps_every_byte() -> None:
    form = FORMS[rdtypes.TXT]
    wire = b"\xff" + bytes(range(1, 256)) + b"\1\0"
    assert form.encode(form.decode(wire), None) == wire


@pytest.mark.parametrize("text", ['"a', '"a"b', '"a" b', '"a""b"', '( "a"', "a\\", "\\256", "\\1"])
def test_txt_that_is_cut_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"quotes|escape|three digits"):
        FORMS[rdtypes.TXT].encode(text, None)


def test_a_soa_may_be_written_as_in_a_zone_file() -> None:
    text = "ns hostmaster ( 2026010101 ; serial (of today)\n 3h ; refresh\n 1h30m 1w 3600 )"
    wire = FORMS[rdtypes.SOA].encode(text, ORIGIN)
    assert FORMS[rdtypes.SOA].decode(wire) == (
        "ns.example.test. hostmaster.example.test. 2026010101 10800 5400 604800 3600"
    )


@pytest.mark.parametrize(
    ("type", "text", "canonical"),
    [
        (rdtypes.ALIAS, "CDN.test.", "CDN.test."),
        (rdtypes.MB, "a", "a.example.test."),
        (rdtypes.MINFO, "a b", "a.example.test. b.example.test."),
        (rdtypes.RKEY, "0 3 5 AQ NR", "0 3 5 AQNR"),
        (rdtypes.LUA, "a \"ifportup(443, {'192.0.2.1'})\"", "A \"ifportup(443, {'192.0.2.1'})\""),
        (rdtypes.LUA, 'TXT ";return \\"x\\"" "y"', 'TXT ";return \\"x\\"" "y"'),
    ],
)
def test_types_that_dnspython_does_not_know(type: int, text: str, canonical: str) -> None:
    wire = FORMS[type].encode(text, ORIGIN)
    assert FORMS[type].decode(wire) == canonical
    assert FORMS[type].encode(canonical, None) == wire


def test_lua_is_a_type_and_strings() -> None:
    assert FORMS[rdtypes.LUA].encode('AAAA "x"', None) == b"\0\x1c\1x"


@pytest.mark.parametrize(
    ("type", "wire"),
    [
        (rdtypes.A, b"\1\2\3"),
        (rdtypes.AAAA, bytes(15)),
        (rdtypes.MX, b"\0"),
        (rdtypes.MX, b"\0\1\1a\0x"),
        (rdtypes.SRV, b"\0\1\0\1\0"),
        (rdtypes.TXT, b""),
        (rdtypes.TXT, b"\2a"),
        (rdtypes.RKEY, b"\0\0\3\5"),
        (rdtypes.LUA, b"\0\1"),
        (rdtypes.SOA, names.to_wire("a.") * 2 + bytes(19)),
    ],
)
def test_damaged_bytes_are_refused(type: int, wire: bytes) -> None:
    with pytest.raises(ValueError, match=r"byte|no string|data ends"):
        FORMS[type].decode(wire)


@pytest.mark.parametrize("text", ["0 3 AQNR", "0 3 300 AQNR", "0 3 5 ***", "x 3 5 AQNR"])
def test_a_malformed_rkey_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected flags"):
        FORMS[rdtypes.RKEY].encode(text, None)


def test_a_key_may_have_spaces_in_its_base64() -> None:
    key = base64.b64encode(bytes(range(200))).decode()
    split = " ".join(key[at : at + 20] for at in range(0, len(key), 20))
    assert FORMS[rdtypes.RKEY].encode(f"0 3 5 {split}", None)[4:] == bytes(range(200))
