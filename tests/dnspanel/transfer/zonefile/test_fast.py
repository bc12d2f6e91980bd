"""The fast path of the zone file parser. It reads lines correctly, and leaves uncertain ones to the slow path."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnspanel.transfer.zonefile import fast_rdata
from dnspanel.transfer.zonefile.fast import FastReader
from dnspanel.transfer.zonefile.fast_rdata import KINDS
from dnspanel.transfer.zonefile.field_tables import LABELS_IN_RDATA, MOST_KEPT, Table, seconds
from replication.codec.keys import relative_key
from replication.dns import names, rdata
from replication.errors import BadName, BadRdata
from tests.full import examples

ZONE = "example.test."


class Plain(FastReader):
    """A fast reader that records the lines for the slow path."""

    def __init__(self, zone: str = ZONE) -> None:
        super().__init__(zone)
        self.suffix = ""
        self.left: list[str] = []

    def read_slowly(self, place: int, line: str) -> int:
        self.left.append(line)
        return 0


def read(*lines: str, suffix: str | None = "", default_ttl: int | None = 60) -> Plain:
    reader = Plain()
    reader.suffix = suffix
    reader.default_ttl = default_ttl
    reader.read(enumerate(lines))
    return reader


@pytest.mark.parametrize(
    "line",
    [
        "www 300 IN A 192.0.2.1",
        "www IN 300 A 192.0.2.1",
        "www\t300\ta 192.0.2.1",
        "www 5m in A 192.0.2.1  ",
        "WWW.example.test. A 192.0.2.1",
        "@ MX 10 mail",
        't TXT "a" "b\\"c"',
        "t TXT word",
        "* CNAME @",
        '@ CAA 0 issue "ca.test"',
        "_a._b SRV 1 2 3 x.y",
        "@ SOA a b. 1 2h 3 4 5",
        "1 PTR A.Other.TEST.",
    ],
)
def test_plain_lines_are_read_quickly(line: str) -> None:
    reader = read(line)
    assert reader.left == []
    assert len(reader.content.sets) == 1


@pytest.mark.parametrize(
    "line",
    [
        "www A 192.0.2.300",
        "www A (192.0.2.1)",
        "www A 192.0.2.1 ; x",
        "w\\.w A 192.0.2.1",
        '"www" A 192.0.2.1',
        "www.other.test. A 192.0.2.1",
        "$TTL x",
        "$TTL 300 ; x",
        "$ORIGIN sub",
        "$INCLUDE x",
        "; www A 192.0.2.1",
        ";www 3600 IN A 192.0.2.1",
        "www 1h30 A 192.0.2.1",
        "www 300 300 A 192.0.2.1",
        "www CH A 192.0.2.1",
        "www TYPE1 \\# 4 C0000201",
        "t TXT v=spf1",
        't TXT "a',
        't TXT "a" b',
        "@ MX mail",
        "@ MX 65536 mail",
        "@ SOA a b 1 2 3 4",
        "www A",
        "www",
        "www LOC x",
        "a" * 64 + " A 192.0.2.1",
        "a..b A 192.0.2.1",
        '@ CAA 256 issue "x"',
        "www 2147483648 A 192.0.2.1",
        "@ SOA a b 4294967296 2 3 4 5",
        "@.example.test. A 192.0.2.1",
        ".example.test. A 192.0.2.1",
        "www CNAME @.example.test.",
    ],
)
def test_whatever_is_not_plain_is_left_to_the_slow_path(line: str) -> None:
    reader = read("a 300 A 192.0.2.9", line)
    assert reader.left == [line]
    assert len(reader.content.sets) == 1
    assert (reader.owner, reader.last_ttl) == ("a", 300)


def test_lines_of_other_characters_are_left_unless_they_were_checked() -> None:
    reader = Plain()
    lines = ["www 60 A\u00a0192.0.2.1", 't 60 TXT "gr\u00fcn"', 'k 60 TXT "\x01"', "a 60 A 192.0.2.1"]
    reader.read(enumerate(lines), checked=False)
    assert reader.left == lines[:3]


def test_a_missing_ttl_and_a_missing_owner_are_those_above() -> None:
    reader = read("a 300 A 192.0.2.1", "  TXT x", "b A 192.0.2.2", default_ttl=None)
    assert [(found.name[0], found.ttl) for found in reader.content.sets.values()] == [("a", 300)] * 2 + [("b", 300)]
    assert read(" A 192.0.2.1").left == [" A 192.0.2.1"]
    assert read("a A 192.0.2.1", default_ttl=None).left == ["a A 192.0.2.1"]


def test_the_directives_of_nearly_every_zone_are_read_at_once() -> None:
    reader = read("$ORIGIN example.test.", "$TTL 5m", "a A 192.0.2.1", suffix=None, default_ttl=None)
    assert reader.left == ["a A 192.0.2.1"]  # the origin existed before, and the fast path may not read names there
    reader = read("$TTL 5m", "a A 192.0.2.1", "$ORIGIN example.test.", " A 192.0.2.2")
    assert (reader.left, reader.default_ttl, reader.owner) == ([], 300, "a")
    assert len(reader.content.more[b"a\0\0\0\1"]) == 2


def test_relative_names_are_below_the_origin() -> None:
    reader = read("a A 192.0.2.1", "@ CNAME a", "b CNAME @", "c.example.test. MX 1 @", suffix=".sub")
    assert {(found.name, found.texts[0]) for found in reader.content.sets.values()} == {
        ("a.sub.example.test.", "192.0.2.1"),
        ("sub.example.test.", "a.sub.example.test."),
        ("b.sub.example.test.", "sub.example.test."),
        ("c.example.test.", "1 sub.example.test."),
    }
    assert read("a A 192.0.2.1", suffix=None).left == ["a A 192.0.2.1"]


def test_targets_inside_the_zone_are_noted_by_their_keys() -> None:
    reader = read("@ MX 1 A.b", "@ NS other.test.", "c CNAME d.example.test.", "e CNAME example.test.")
    assert (reader.content.hosts, reader.content.aliases) == ({b"b\0a\0"}, {b"d\0", b"\0"})


def test_targets_are_noted_after_another_zone_pointed_at_them() -> None:
    other = Plain("other.test.")
    lines = ("@ NS b.example.test.", "@ MX 1 b.example.test.", "c CNAME d.example.test.", "s SRV 1 1 1 b.example.test.")
    other.default_ttl = 60
    other.read(enumerate(lines))
    assert (other.content.hosts, other.content.aliases) == (set(), set())
    for line in lines:
        own = read(line).content
        assert own.hosts | own.aliases == ({b"d\0"} if "CNAME" in line else {b"b\0"}), line


def test_lines_that_the_slow_path_took_are_skipped() -> None:
    class Greedy(Plain):
        def read_slowly(self, place: int, line: str) -> int:
            return super().read_slowly(place, line) + 2

    reader = Greedy()
    reader.default_ttl = 60
    reader.read(enumerate(("a A (", "b A 192.0.2.1", "c A 192.0.2.1", "d A 192.0.2.1")))
    assert [found.name for found in reader.content.sets.values()] == ["d.example.test."]


@pytest.mark.parametrize(
    ("word", "ttl"),
    [
        ("0", 0),
        ("300", 300),
        ("1h30m", 5400),
        ("1W", 604800),
        ("2d12H", 216000),
        ("1h30", None),
        ("h", None),
        ("", None),
        ("-1", None),
        ("1.5h", None),
        ("4294967296", 2**32),
        ("12345678901", None),
    ],
)
def test_ttls_have_units(word: str, ttl: int | None) -> None:
    assert seconds(word) == ttl


def test_a_table_forgets_when_it_is_full() -> None:
    table = Table(int)
    for number in range(MOST_KEPT + 10):
        assert table[str(number)] == number
    assert len(table) <= MOST_KEPT
    with pytest.raises(ValueError, match="invalid literal"):
        table["x"]


LABEL = st.text("abcXYZ019-_*", min_size=1, max_size=12)
NAME = st.builds(
    "{}{}".format,
    st.lists(LABEL, min_size=1, max_size=4).map(".".join) | st.just("@"),
    st.sampled_from(("", ".", ".example.test.", ".EXAMPLE.test.", ".other.test.")),
)


@settings(max_examples=examples(150, 500))
@given(NAME, st.sampled_from(("", ".sub", ".x.sub")))
def test_names_are_what_names_parse_makes_of_them(written: str, suffix: str) -> None:
    reader = Plain()
    reader.suffix = suffix
    try:
        expected = names.parse(written, suffix[1:] + "." * bool(suffix) + ZONE)
    except BadName:
        expected = ""
    # People who mean a label "@" always escape it.
    if not expected or written.startswith("@."):
        with pytest.raises(KeyError):
            reader.name_at(written)
        return
    text, wire, key = reader.name_at(written)
    spelled = names.parse_in_rdata(written, suffix[1:] + "." * bool(suffix) + ZONE)
    assert (text, wire) == (spelled, names.to_wire(spelled))
    assert text.lower() == expected
    assert key == (relative_key(expected, ZONE) if names.is_within(expected, ZONE) else b"")


TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40)
NUMBER = st.integers(0, 70000).map(str) | st.sampled_from(("00", "01", "4294967295", "4294967296", "1h", "x"))
SMALL = st.integers(0, 5) | st.sampled_from((255, 256, 65535, 65536))
HEX = (
    st.sampled_from((20, 32, 48, 1, 64, 65))
    .flatmap(lambda size: st.binary(min_size=size, max_size=size))
    .map(bytes.hex)
)
VALUES = {
    "A": st.ip_addresses(v=4).map(str) | TEXT,
    "AAAA": st.ip_addresses(v=6).map(str) | st.ip_addresses(v=6).map(lambda ip: ip.exploded.upper()) | TEXT,
    **dict.fromkeys(("NS", "CNAME", "PTR"), NAME | TEXT),
    "MX": st.builds("{} {}".format, NUMBER, NAME) | TEXT,
    "SRV": st.builds("{} {}  {} {}".format, NUMBER, NUMBER, NUMBER, NAME),
    "SOA": st.lists(NAME, min_size=2, max_size=2).flatmap(
        lambda two: st.lists(NUMBER, min_size=5, max_size=5).map(lambda five: " ".join(two + five))
    ),
    "TXT": st.lists(TEXT.map('"{}"'.format), min_size=1, max_size=3).map(" ".join) | TEXT.map('"{}'.format),
    "DS": st.builds("{} {} {} {}".format, SMALL, SMALL, SMALL, HEX),
    "TLSA": st.builds("{} {} {} {}".format, SMALL, SMALL, SMALL, HEX),
    "SSHFP": st.builds("{} {} {}".format, SMALL, SMALL, HEX),
    "CAA": st.builds('{} {} "{}"'.format, NUMBER, st.text("abc019", max_size=5), TEXT),
}


@pytest.mark.parametrize("mnemonic", VALUES)
@settings(max_examples=examples(100, 300))
@given(data=st.data())
def test_rdata_is_what_rdata_parse_makes_of_it_or_is_left_alone(mnemonic: str, data: st.DataObject) -> None:
    value = data.draw(VALUES[mnemonic]).strip() or "x"
    type_, _, _, convert = KINDS[mnemonic]
    reader = Plain()
    try:
        found = convert(reader, value)
    except KeyError:
        return
    text = rdata.parse(type_, value, ZONE)
    assert found == (text, rdata.to_wire(type_, text))


def test_faulty_values_are_left_to_the_slow_path() -> None:
    for mnemonic, value in (
        ("A", "192.0.2"),
        ("MX", "10"),
        ("NS", "a b"),
        ("SRV", "1 2 x."),
        ("TXT", '"a"b'),
    ):
        type_, _, _, convert = KINDS[mnemonic]
        with pytest.raises(KeyError):
            convert(Plain(), value)
        if mnemonic != "TXT":
            with pytest.raises(BadRdata):
                rdata.parse(type_, value, ZONE)


def test_what_is_kept_does_not_depend_on_the_zone() -> None:
    LABELS_IN_RDATA.clear()
    for zone in (ZONE, "other.test."):
        reader = Plain(zone)
        reader.default_ttl = 60
        reader.read(enumerate(("w CNAME x", "@ MX 10 x", "@ MX 20 x.example.test.", "_s SRV 1 1 1 x")))
        assert reader.content.sets[b"w\0\0\0\5"].texts == (f"x.{zone}",)
        assert reader.content.sets[b"\0\0\0\x0f"].texts == (f"10 x.{zone}",)
    assert "10 x" not in fast_rdata.KINDS["MX"][2]
