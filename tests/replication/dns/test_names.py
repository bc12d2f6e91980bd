"""Tests of domain names: text, canonical form and wire form."""

import dns.name
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.dns import names
from replication.errors import BadName

LABEL = st.binary(min_size=1, max_size=20).filter(lambda label: 0 not in label)
LABELS = st.lists(LABEL, min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "origin", "name"),
    [
        ("WWW.Example.test", None, "www.example.test."),
        ("www.example.test.", "other.test.", "www.example.test."),
        (" www ", "example.test.", "www.example.test."),
        ("www", ".", "www."),
        (".", None, "."),
        (".", "example.test.", "."),
        ("@", "example.test.", "example.test."),
        ("*", "example.test.", "*.example.test."),
        ("_dmarc", "example.test.", "_dmarc.example.test."),
        ("a\\.b", "example.test.", "a\\.b.example.test."),
        ("a\\064b.test.", None, "a\\@b.test."),
        ("tab\\009.test.", None, "tab\\009.test."),
        ('q\\"x.test.', None, 'q\\"x.test.'),
        ("\\200\\255.test.", None, "\\200\\255.test."),
        ("\\065.test.", None, "a.test."),
        ("host", "a\\.b.test.", "host.a\\.b.test."),
        ("a/b", "test.", "a/b.test."),
        ("Bücher.test", None, "xn--bcher-kva.test."),
        ("_tcp.Bücher.test", None, "_tcp.xn--bcher-kva.test."),
        ("例え。テスト", None, "xn--r8jz45g.xn--zckzah."),
        ("straße.test", None, "xn--strae-oqa.test."),
        ("XN--BCHER-KVA.test", None, "xn--bcher-kva.test."),
    ],
)
def test_people_type_names_in_many_ways(text: str, origin: str | None, name: str) -> None:
    assert names.parse(text, origin) == name
    assert names.parse(name) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the name is empty"),
        ("@", "needs a zone"),
        ("a..b", "empty label"),
        (".a", "empty label"),
        ("a b", "space"),
        ("a" * 64 + ".test", "64 bytes, but at most 63"),
        (".".join(["a" * 63] * 4), "at most 255"),
        ("nul\\000.test", "zero byte"),
        ("a\\256.test", "three digits"),
        ("a\\1.test", "three digits"),
        ("a\\", "escape"),
        ("☃\u200d.test", "international label"),
        ("a\ud800.test", "contains an invalid character"),
    ],
)
def test_what_is_not_a_name_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(BadName, match=reason):
        names.parse(text)


@given(st.text(st.characters(), max_size=30))
def test_whatever_is_typed_becomes_a_name_or_is_refused(text: str) -> None:
    try:
        name = names.parse(text, "example.test.")
    except BadName:
        return
    assert names.parse(name) == name
    assert names.from_wire(names.to_wire(name)) == name


def test_a_relative_name_too_long_with_its_zone_is_refused() -> None:
    zone = ".".join(["b" * 60] * 4) + "."
    assert len(zone) == 244
    assert len(names.to_wire(names.parse("a" * 9, zone))) == 255
    with pytest.raises(BadName, match="at most 255"):
        names.parse("a" * 10, zone)


@given(LABELS)
def test_names_are_printed_as_dnspython_prints_them(labels: list[bytes]) -> None:
    name = names.from_labels(tuple(label.lower() for label in labels))
    try:
        theirs = dns.name.Name([*labels, b""])
    except dns.name.NameTooLong:
        return
    assert name == theirs.canonicalize().to_text()
    assert names.parse(name) == name
    assert names.labels(name) == theirs.canonicalize().labels[:-1]
    assert names.to_wire(name) == theirs.canonicalize().to_wire()
    assert names.from_wire(theirs.to_wire()) == name


@given(LABELS, LABELS)
def test_within_means_that_the_last_labels_are_equal(one: list[bytes], other: list[bytes]) -> None:
    name, zone = names.from_labels(tuple(one)), names.from_labels(tuple(other))
    assert names.is_within(name, zone) == (one[-len(other) :] == other)
    both = names.from_labels(tuple(one + other))
    assert names.is_within(both, zone)
    assert (
        names.parse(names.relative_text(both, zone), zone)
        == names.from_labels(tuple(label.lower() for label in one) + tuple(other))
        or any(label != label.lower() for label in one + other)
        or len(names.to_wire(both)) > 255
    )


def test_an_escaped_dot_does_not_separate() -> None:
    assert not names.is_within("a\\.example.test.", "example.test.")
    assert names.is_within("a\\\\.example.test.", "example.test.")
    assert names.parent("a\\.b.test.") == "test."


def test_parents_lead_to_the_root() -> None:
    assert names.parent("a.b.") == "b."
    assert names.parent("b.") == "."
    assert names.parent(".") is None


def test_names_are_displayed_relative_to_their_zone() -> None:
    assert names.relative_text("example.test.", "example.test.") == "@"
    assert names.relative_text("a.b.example.test.", "example.test.") == "a.b"
    assert names.relative_text("a.b.", ".") == "a.b"
    assert names.relative_text("www.other.test.", "example.test.") == "www.other.test."


def test_names_are_displayed_in_their_own_script() -> None:
    assert names.display("xn--bcher-kva.test.") == "bücher.test."
    assert names.display("www.test.") == "www.test."
    assert names.display("xn--0.test.") == "xn--0.test."
    assert names.display("a\\.xn--b.xn--bcher-kva.") == "a\\.xn--b.bücher."


@pytest.mark.parametrize(
    "wire", [b"", b"\1", b"\1a", b"\1a\0\0", b"\xc0\0", b"\1\0\0", (b"\77" + b"a" * 63) * 4 + b"\0"]
)
def test_damaged_wire_names_are_refused(wire: bytes) -> None:
    with pytest.raises(BadName):
        names.from_wire(wire)


def test_a_name_inside_other_bytes_is_found_with_its_end() -> None:
    assert names.from_wire_at(b"xx\1A\0yy", 2) == ("a.", 5)


@pytest.mark.parametrize(
    ("name", "zone", "text"),
    [
        ("example.test.", "example.test.", "@"),
        ("www.example.test.", "example.test.", "www"),
        ("xn--bcher-kva.example.test.", "example.test.", "bücher"),
        ("xn--bcher-kva.xn--bcher-kva.test.", "xn--bcher-kva.test.", "bücher"),
        (".", ".", "@"),
        ("test.", ".", "test"),
    ],
)
def test_inside_its_zone_a_name_is_short_and_in_its_own_script(name: str, zone: str, text: str) -> None:
    assert names.owner_text(name, zone) == text


def test_a_sentence_that_ends_in_a_name_ends_in_one_dot() -> None:
    assert f"It is {names.before_full_stop('example.test.')}." == "It is example.test."
    assert names.before_full_stop(names.ROOT) == "."
