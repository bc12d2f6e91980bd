"""Search words: the meaning of each, and the error message for meaningless ones."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network

import pytest

from dnspanel.zones.search.terms import (
    FILTERS,
    MOST_TERMS,
    Filter,
    Since,
    Span,
    escaped_bytes,
    parse,
    split_search,
    unknown_filters,
)

A, MX, TXT = 1, 15, 16


def test_quotes_hold_words_together() -> None:
    assert split_search('shop team:"Web ops"  tag:x') == ["shop", 'team:"Web ops"', "tag:x"]


@pytest.mark.parametrize(
    ("word", "filter", "meaning"),
    [
        ("shop", Filter.WORD, "shop"),
        ('"web shop"', Filter.WORD, "web shop"),
        ('"type:mx"', Filter.WORD, "type:mx"),
        (r"\"", Filter.WORD, r"\""),
        ("192.0.2.7", Filter.WORD, ip_address("192.0.2.7")),
        ("2001:DB8:0::7", Filter.WORD, ip_address("2001:db8::7")),
        ("abcd::", Filter.WORD, ip_address("abcd::")),
        ('"192.0.2.7"', Filter.WORD, "192.0.2.7"),
        ("192.0.2.7/24", Filter.WORD, ip_network("192.0.2.0/24")),
        ("2001:db8::/32", Filter.WORD, ip_network("2001:db8::/32")),
        ("a/24", Filter.WORD, "a/24"),
        ("192.0.2", Filter.WORD, "192.0.2"),
        ("fe80::1%eth0", Filter.WORD, "fe80::1%eth0"),
        ("TYPE:mx,Txt", Filter.TYPE, frozenset({MX, TXT})),
        ("type:TYPE1", Filter.TYPE, frozenset({A})),
        ("ttl:300", Filter.TTL, Span(300, 300)),
        ("ttl:<1h", Filter.TTL, Span(None, 3599)),
        ("ttl:>=1D", Filter.TTL, Span(86_400, None)),
        ("ttl:5m..1h", Filter.TTL, Span(300, 3600)),
        ("ttl:>9999999999", Filter.TTL, Span(2**31, None)),
        ('value:"v=spf1 "', Filter.VALUE, "v=spf1 "),
        ("comment:Überall", Filter.COMMENT, "Überall"),
        ("name:www", Filter.NAME, "www"),
        ("zone:shop", Filter.ZONE, "shop"),
        ("tag:x", Filter.TAG, "x"),
        ('team:"Web ops"', Filter.TEAM, "Web ops"),
        ("owner:none", Filter.OWNER, "none"),
        ("dnssec:OFF", Filter.DNSSEC, "unsigned"),
        ("dnssec:rolling", Filter.DNSSEC, "rolling"),
        ("sync:late", Filter.SYNC, "late"),
        ("serial:2026", Filter.SERIAL, "2026"),
        ("serial:2026112501*", Filter.SERIAL, "2026112501"),
        ("serial:2026112501", Filter.SERIAL, Span(2026112501, 2026112501)),
        ("serial:>2026", Filter.SERIAL, Span(2027, None)),
        ("has:foo:bar", Filter.HAS, "foo:bar"),
        ("changed:<7d", Filter.CHANGED, Since(after=timedelta(days=7))),
        ("changed:1h", Filter.CHANGED, Since(after=timedelta(hours=1))),
        ("changed:today", Filter.CHANGED, Since(after=timedelta(days=1))),
        ("changed:>4w", Filter.CHANGED, Since(before=timedelta(weeks=4))),
        (
            "changed:2026-11-25",
            Filter.CHANGED,
            Since(datetime(2026, 11, 25, tzinfo=UTC), datetime(2026, 11, 26, tzinfo=UTC)),
        ),
        ("changed:<2026-11-25", Filter.CHANGED, Since(before=datetime(2026, 11, 25, tzinfo=UTC))),
    ],
    ids=str,
)
def test_a_word_means_one_thing_with_a_hyphen_in_front_or_without(word: str, filter: Filter, meaning: object) -> None:
    for typed, negated in ((word, False), (f"-{word}", True)):
        search = parse(typed)
        [term] = search.terms
        assert (term.filter, term.meaning, term.negated, term.typed) == (filter, meaning, negated, typed)
        assert not search.faults


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("type:mxx", "mxx isn’t a valid type. Did you mean type:mx?"),
        ("type:a,,b", "needs record types"),
        ("ttl:soon", "ttl: needs seconds"),
        ("ttl:1..2..3", "ttl: needs seconds"),
        ("dnssec:yes", "dnssec: must be signed, on, unsigned, off or rolling, not yes."),
        ("sync:x", "sync: must be late or done, not x."),
        ("serial:x", "serial: needs a serial"),
        ("serial:20261125011", "serial: needs a serial"),
        ("changed:7", "changed: needs an age"),
        ("changed:9999-12-31", "changed: needs an age"),
        ("changed:2026-02-30", "changed: needs"),
        ("tag:", "tag: needs a value"),
        ('value:""', "value: needs a value"),
    ],
)
def test_a_filter_that_does_not_take_its_word_is_told_at_it(word: str, message: str) -> None:
    search = parse(f"shop {word}")
    [fault] = search.faults
    assert fault.word == word
    assert message in fault.message
    assert search


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("", []),
        ("shop tag:x TEAM:web has:192.0.2.1", []),
        ("foo:bar shop tags: foo:x -typ:a", [("foo", ""), ("tags", "tag"), ("typ", "type")]),
        ("Tags:x", [("Tags", "tag")]),
        ("has:foo:bar", []),
        ("2001:db8::1 fe80::1 abcd::1 ::1", []),
        ('"foo:bar"', []),
        (":x 7:x -", []),
    ],
)
def test_what_looks_like_a_filter_and_is_none_is_named(text: str, unknown: list[tuple[str, str]]) -> None:
    search = parse(text)
    assert [(each.name, each.closest) for each in search.unknown] == unknown
    for name, _ in unknown:
        assert any(term.filter is Filter.WORD and f"{name}:" in term.text for term in search.terms)


def test_a_box_may_have_filters_of_its_own() -> None:
    assert unknown_filters("who:x tag:y", ("who",)) == ["tag"]
    assert "tag" in FILTERS


def test_a_search_has_so_many_words_and_no_more() -> None:
    assert len(parse("a " * MOST_TERMS).terms) == MOST_TERMS
    assert parse("a " * (MOST_TERMS + 1)).faults[0].message == "A search can have at most 20 words."


def test_terms_are_sorted_by_whom_they_ask() -> None:
    search = parse("shop type:a -tag:x has:y")
    assert [term.typed for term in search.words] == ["shop"]
    assert [term.typed for term in search.about_zones] == ["-tag:x"]
    assert [term.typed for term in search.about_rrsets] == ["type:a", "has:y"]
    assert not parse(" ")


def test_a_zero_byte_is_a_space() -> None:
    assert [term.text for term in parse("shop\0zzz").terms] == ["shop", "zzz"]


def test_letters_of_other_scripts_are_spelled_as_rdata_has_them() -> None:
    assert escaped_bytes("gr\u00fc\u00df") == r"gr\195\188\195\159"
    assert escaped_bytes("\ud800") == r"\237\160\128"
