"""Words of a search box, and what looks like a filter in them."""

import pytest

from dnspanel.zones.search_terms import ZONE_FILTERS, split_search, unknown_filters


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
