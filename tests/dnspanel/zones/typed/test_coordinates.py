"""Latitude and longitude in the notations that people use."""

import pytest

from dnspanel.zones.typed.coordinates import latitude, longitude


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("52.5", "52 30 0.000 N"),
        ("-33.85678", "33 51 24.408 S"),
        ("+1", "1 0 0.000 N"),
        ("52 30 58.6 N", "52 30 58.600 N"),
        ("52°30′58.6″N", "52 30 58.600 N"),
        ("52° 30.5' S", "52 30 30.000 S"),
        ("N 52 30", "52 30 0.000 N"),
        ("90", "90 0 0.000 N"),
        ("-0", "0 0 0.000 N"),
        ("0.0000000001 S", "0 0 0.000 N"),
    ],
)
def test_a_latitude_is_read(typed: str, expected: str) -> None:
    assert latitude(typed) == expected


def test_a_longitude_goes_further_than_a_latitude() -> None:
    assert longitude("179.5 w") == "179 30 0.000 W"
    with pytest.raises(ValueError, match="at most 90 degrees"):
        latitude("90.1")
    with pytest.raises(ValueError, match="at most 180 degrees"):
        longitude("181")


@pytest.mark.parametrize("typed", ["", "north", "52 30 58.6 E", "1 2 3 4", "52.5 30", "-5 N", "1e5", "52 60", "N S 5"])
def test_what_is_no_latitude_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"Enter degrees|below 60"):
        latitude(typed)
