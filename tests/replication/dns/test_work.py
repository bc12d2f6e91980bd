"""The work of parsing names and all record types: at most twice for twice the text, counted and not timed."""

from collections.abc import Callable, Iterator
from functools import partial

import dns.ipv6
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest
from dns.rdtypes import svcbbase

from replication.dns import names, rdata, rdata_forms, rdtypes
from replication.errors import BadName, BadRdata
from tests.work import Work, counted_patterns, work_of

SIZE = 48
ORIGIN = "example.test."
# An unused type, read as raw octets.
UNKNOWN = 65280

Sized = Callable[[int], str]

# The text before the values, so that a parser reaches the place of the long text.
STARTS = {
    rdtypes.SOA: "ns.test. mail.test. ",
    rdtypes.CAA: "0 issue ",
    rdtypes.SVCB: "1 . ",
    rdtypes.HTTPS: "1 . alpn=",
    rdtypes.NAPTR: "1 1 ",
    rdtypes.URI: "1 1 ",
    rdtypes.LOC: "52 22 23.000 N 4 53 32.000 E ",
    rdtypes.LUA: "A ",
    rdtypes.DS: "1 13 2 ",
    rdtypes.DNSKEY: "257 3 13 ",
    rdtypes.MX: "10 ",
    rdtypes.SRV: "0 0 0 ",
    rdtypes.CSYNC: "1 1 ",
    rdtypes.APL: "1:",
}


def repeated(start: str, unit: str, end: str) -> Sized:
    return lambda size: start + unit * (size // len(unit)) + end


def shapes(type: int) -> Iterator[Sized]:
    """Yield shapes of texts: a unit that is repeated to any size, after the start that the type needs."""
    start = STARTS.get(type, "")
    for unit in (
        "a",
        "0",
        "1 ",
        ".",
        "a.",
        "\\",
        "\\065",
        "é",
        '"',
        '"" ',
        '"a" ',
        ";",
        "(",
        "()",
        "\n",
        " \n",
        ",",
        "a=b ",
    ):
        yield repeated(start, unit, "")
    yield repeated('"a"', " ", "x")
    yield repeated('("a")', " ", "x")
    yield repeated('"a" ;', " ", "\nx")
    yield repeated('("a"', "\n;", "x")
    yield repeated(start, " ", "x")
    yield repeated(start + '"', "\\065", '"')
    yield repeated(start + '"', "a", '"')
    yield repeated(start + "a ;x\n", ";", "")
    yield repeated("\\# 60 ", "00", "")


def types() -> Iterator[int]:
    """Yield one type for each parser. MX and KX have the same parser."""
    seen = set()
    for number in sorted({*rdtypes.SERVED_TYPES, *map(int, dns.rdatatype.RdataType), UNKNOWN}):
        if rdtypes.refusal(number) is not None:
            continue
        by_dnspython = dns.rdata.get_rdata_class(dns.rdataclass.IN, dns.rdatatype.RdataType.make(number))
        reader = rdata_forms.FORMS.get(number) or getattr(by_dnspython.from_text, "__func__", by_dnspython)
        if (key := (reader, STARTS.get(number))) not in seen:
            seen.add(key)
            yield number


COMMON = [rdtypes.A, rdtypes.MX, rdtypes.SOA, rdtypes.TXT, rdtypes.LUA, rdtypes.RKEY, rdtypes.CAA, rdtypes.HTTPS]


@pytest.mark.parametrize("type", COMMON, ids=rdtypes.type_to_text)
def test_twice_the_rdata_is_at_most_twice_the_work(type: int) -> None:
    assert_reading_is_linear(type)


@pytest.mark.sample(3, reason="types that only dnspython reads, all by the same tokens")
@pytest.mark.parametrize("type", sorted({*types()} - {*COMMON}), ids=rdtypes.type_to_text)
def test_twice_the_rdata_of_a_rare_type_is_at_most_twice_the_work(type: int) -> None:
    assert_reading_is_linear(type)


def assert_reading_is_linear(type: int) -> None:
    for start in STARTS.get(type, ""), "":
        names.to_wire.cache_clear()
        work_of(lambda start=start: rdata.parse(type, start + "a", ORIGIN))  # type: ignore[misc]  # modules are imported once
    with counted_patterns(rdata_forms, names, dns.ipv6, svcbbase) as steps:

        def work(text: str) -> Work:
            traced = work_of(lambda: rdata.parse(type, text, ORIGIN))
            return traced._replace(steps=traced.steps + steps())

        for shape in shapes(type):
            assert_linear(work, shape)


def test_twice_the_name_is_at_most_twice_the_work() -> None:
    with counted_patterns(names) as steps:

        def work(text: str) -> Work:
            traced = work_of(lambda: names.parse(text, ORIGIN))
            return traced._replace(steps=traced.steps + steps())

        for unit in ("a", "a.", ".", "\\", "\\065", "é", "・", "。", " ", "-", "_", "@", '"', "\u0660", "\u200d"):
            assert_linear(work, repeated("", unit, "!"))


def assert_linear(work: Callable[[str], Work], shape: Sized, *, size: int = SIZE) -> None:
    """Check that twice the size takes at most about twice the work. If not, try larger sizes, in which a fixed extra
    amount matters less.
    """
    for factor in (1, 2, 4, 8):
        once, twice = work(shape(size * factor)), work(shape(2 * size * factor))
        if twice.is_at_most_twice(once):
            return
    pytest.fail(f"{once} for {shape(size)[:30]!r}…, {twice} for twice that")


def test_the_work_of_a_quadratic_reader_is_seen() -> None:
    def bytes_one_by_one(text: str) -> None:
        found = b""
        for character in text:
            found += character.encode()

    def the_rest_each_time(text: str) -> None:
        while text:
            text = text[1:]

    for reader in bytes_one_by_one, the_rest_each_time:
        with pytest.raises(pytest.fail.Exception, match="for twice that"):
            assert_linear(lambda text, reader=reader: work_of(lambda: reader(text)), repeated("", "a", ""))  # type: ignore[misc]


@pytest.mark.parametrize("type", [rdtypes.A, rdtypes.TXT, rdtypes.CAA, rdtypes.MX, UNKNOWN], ids=rdtypes.type_to_text)
def test_rdata_is_measured_before_anything_parses_it(type: int) -> None:
    """Both typed values and stored values are measured."""
    for text in (
        '"a" ' * rdata.MAX_RDATA + '"',
        "( " * 2 * rdata.MAX_RDATA + "x",
        "\\# 1 " + " " * rdata.MAX_TEXT + "00",
    ):
        reason = f"the value has {len(text)} characters, but at most {rdata.MAX_TEXT} are allowed"
        for entry in partial(rdata.parse, type, text, ORIGIN), partial(rdata.to_wire, type, text):
            with pytest.raises(BadRdata, match=reason):
                entry()
            assert work_of(entry).steps < 1000


def test_all_that_an_answer_can_hold_fits_as_text() -> None:
    """In the longest TXT record, one-octet strings need the most characters for each octet."""
    longest = '"\\255" ' * (rdata.MAX_RDATA // 2)
    assert len(rdata.to_wire(rdtypes.TXT, rdata.parse(rdtypes.TXT, longest))) == rdata.MAX_RDATA - 1
    full = rdata.from_wire(rdtypes.TXT, b"\xff" * (255 + 1) * 255 + b"\xfe" + b"\xff" * 254)
    assert rdata.MAX_RDATA * 3.9 < len(full) <= rdata.MAX_TEXT


def test_a_comment_is_looked_for_where_it_was_read() -> None:
    """The last occurrence of the comment's text doesn't count, because text after the record's line is ignored."""
    assert rdata.parse(rdtypes.CAA, '0 issue "ca.test" ;x\n;x') == '0 issue "ca.test"'
    with pytest.raises(BadRdata, match="starts a comment"):
        rdata.parse(rdtypes.CAA, "0 issue ca.test;x\n ;x")


def test_a_name_is_measured_before_anything_parses_it() -> None:
    longest = ".".join("\\200" * count for count in (63, 63, 63, 61))
    assert len(names.to_wire(names.parse(longest))) == names.MAX_WIRE
    for text in ("a" * (names.MAX_TEXT + 1), "é" * 60_000):
        with pytest.raises(
            BadName, match=f"the name has {len(text)} characters, but at most {names.MAX_TEXT} are allowed"
        ):
            names.parse(text)
        assert work_of(lambda text=text: names.parse(text)).steps < 1500  # type: ignore[misc]


def test_the_message_about_a_long_value_is_short() -> None:
    for type in (rdtypes.A, rdtypes.MX, rdtypes.CAA, rdtypes.TXT):
        with pytest.raises(BadRdata) as caught:
            rdata.parse(type, '"' + "x" * 60_000)
        assert len(caught.value.reason) < 300
