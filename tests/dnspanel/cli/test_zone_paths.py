"""Tests of URL paths for names that users type."""

import pytest

from dnspanel.cli.zone_paths import segment, zone_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("example.test", "example.test"),
        ("0/25.2.0.192.in-addr.arpa", "0%5C04725.2.0.192.in-addr.arpa"),
        ("*.example.test", "*.example.test"),
        ("@", "@"),
        ("../../tokens", "..%5C047..%5C047tokens"),
        ("a?b#c d", "a%3Fb%23c%20d"),
        ("müller.test", "m%C3%BCller.test"),
    ],
)
def test_a_name_is_one_segment_whatever_is_in_it(name: str, path: str) -> None:
    assert segment(name) == path


def test_something_below_a_zone() -> None:
    assert zone_path("example.test", "revisions", 7, "undo") == "/zones/example.test/revisions/7/undo"
