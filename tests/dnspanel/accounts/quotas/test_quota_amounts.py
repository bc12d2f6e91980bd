"""Tests of quota amounts as users enter and read them."""

import pytest

from dnspanel.accounts.quotas.quota_amounts import (
    Kind,
    describe_amount,
    format_amount,
    noun_of,
    parse_amount,
    parse_quotas,
    round_amount,
)


@pytest.mark.parametrize(
    ("kind", "text", "amount"),
    [
        (Kind.ZONES, "1000", 1000),
        (Kind.ZONES, " 1,000 ", 1000),
        (Kind.ZONES, "0", 0),
        (Kind.TOKENS, "Unlimited", None),
        (Kind.BYTES, "2G", 2 << 30),
        (Kind.BYTES, "500 MiB", 500 << 20),
        (Kind.BYTES, "123", 123),
    ],
)
def test_an_amount_is_read_and_written_without_loss(kind: Kind, text: str, amount: int | None) -> None:
    assert parse_amount(kind, text) == amount
    assert parse_amount(kind, format_amount(kind, amount)) == amount


@pytest.mark.parametrize("text", ["", "-1", "many", "1.5", "2G", "²", "9" * 16])
def test_what_is_no_number_of_zones_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="Enter a whole number such as 1000, or unlimited"):
        parse_amount(Kind.ZONES, text)


def test_an_amount_beyond_what_is_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="at most"):
        parse_amount(Kind.BYTES, "99999T")


def test_amounts_are_described_with_what_they_are_of() -> None:
    assert describe_amount(Kind.ZONES, 1) == "1 zone"
    assert describe_amount(Kind.IMPORTS, 1200) == "1,200 imports in progress"
    assert describe_amount(Kind.BYTES, 5 << 29) == "2.5 GiB of imported files"
    assert describe_amount(Kind.BYTES, 17) == "17 bytes of imported files"
    assert round_amount(Kind.BYTES, 2 << 30) == "2 GiB"
    assert [noun_of(kind) for kind in (Kind.RRSETS, Kind.BYTES)] == ["RRsets per zone", "size of imported files"]


def test_a_setting_replaces_the_kinds_that_it_names() -> None:
    defaults = parse_quotas("zones=10,bytes=1G", {})
    assert parse_quotas("zones=unlimited, tokens=3", defaults) == {
        Kind.ZONES: None,
        Kind.BYTES: 1 << 30,
        Kind.TOKENS: 3,
    }
    with pytest.raises(ValueError, match="'zone' isn’t one of zones, rrsets"):
        parse_quotas("zone=1", {})
