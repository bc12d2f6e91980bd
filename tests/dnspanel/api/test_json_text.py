"""Tests of the JSON parser of both APIs."""

import pytest

from dnspanel.api.json_text import parse_json


def test_what_can_be_stored_is_read() -> None:
    assert parse_json(r'{"a": ["\u00e9", "😀", 1, null, true]}') == {"a": ["é", "😀", 1, None, True]}
    assert parse_json(r'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("NaN", "NaN is not JSON"),
        ("[-Infinity]", "-Infinity is not JSON"),
        (r'{"a": ["\u0000"]}', "zero byte"),
        (r'{"\u0000": 1}', "zero byte"),
        (r'[{"a": "\ud800"}]', "half a character"),
        ('{"a": {"ttl": 60, "b": 1, "ttl": 60}}', "the member “ttl” is named twice"),
    ],
)
def test_what_means_nothing_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(text)


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(RecursionError):
        parse_json("[" * 100_000)
