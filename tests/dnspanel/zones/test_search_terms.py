"""Words of a search box, and what looks like a filter in them."""

import re

import pytest
from django.db import connection

from dnspanel.statement_time import SearchTooGeneral
from dnspanel.zones import search_terms
from dnspanel.zones.models import Zone
from dnspanel.zones.search_terms import (
    ZONE_FILTERS,
    in_zone_name,
    refuse_too_general,
    split_search,
    unknown_filters,
    unknown_values,
)
from tests.dnspanel.zones.conftest import MakeZone


def test_quotes_hold_words_together() -> None:
    assert split_search('shop team:"Web ops"  tag:x') == ["shop", 'team:"Web ops"', "tag:x"]


@pytest.mark.parametrize(
    ("search", "unknown"),
    [
        ("", []),
        ("shop tag:x TEAM:web has:192.0.2.1", []),
        ("foo:bar shop owner: foo:x", ["foo", "owner"]),
        ("Tags:x", ["Tags"]),
        ("has:foo:bar", []),
        ("2001:db8::1 fe80::1 abcd::1 ::1", []),
        ('"foo:bar"', []),
        (":x 7:x", []),
    ],
)
def test_what_looks_like_a_filter_and_is_none_is_named(search: str, unknown: list[str]) -> None:
    assert unknown_filters(search, ZONE_FILTERS) == unknown


def test_a_filter_that_takes_some_words_alone_says_which() -> None:
    assert unknown_values('dnssec:signed DNSSEC:"unsigned" tag:x') == []
    assert unknown_values("dnssec:yes x") == ["dnssec: takes signed or unsigned, not yes."]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("search", "reason"),
    [
        ("qz", "qz is too general among so many zones: it needs three letters or digits in a row."),
        ("a.b x-y", "a.b is too general"),
        ("a " * 21, "at most 20 words"),
        ("", ""),
        ("qz shop", ""),
        ("tag:x", ""),
        ("q has:1", ""),
        ("ü", ""),
    ],
)
def test_a_search_that_no_index_serves_is_refused_among_many_zones(
    search: str, reason: str, make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two letters in the search box took 10 s among 1,000,000 zones: PostgreSQL read all of the index of trigrams."""
    for name in ("a.test.", "b.test."):
        make_zone(name=name)
    monkeypatch.setattr(search_terms, "MANY_ZONES", 1)
    if not reason:
        refuse_too_general(search)
        return
    with pytest.raises(SearchTooGeneral, match=re.escape(reason)):
        refuse_too_general(search)
    monkeypatch.setattr(search_terms, "MANY_ZONES", 2)
    if search.count("a ") < 21:
        refuse_too_general(search)


@pytest.mark.django_db
def test_a_short_word_never_has_the_index_of_trigrams_read_in_full(make_zone: MakeZone) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO zones_zone (name, serial, revision, rrset_count, created_at, changed_at, sequence)"
            " SELECT 'z' || n || '.estate.test.', 1, 1, 2, now(), now(), 0 FROM generate_series(1, 10000) n"
        )
        cursor.execute("ANALYZE zones_zone")
        cursor.execute("SET LOCAL enable_seqscan = off")  # among so few, reading all may be cheaper
    assert "zone_name_trigram" not in Zone.objects.filter(in_zone_name("QZ")).order_by("name")[:101].explain()
    assert "zone_name_trigram" in Zone.objects.filter(in_zone_name("Z777.")).order_by("name")[:101].explain()
    assert Zone.objects.filter(in_zone_name("Z7")).count() == 1111
