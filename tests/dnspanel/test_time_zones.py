"""Tests of time zone names."""

import pytest

from dnspanel.time_zones import UnknownTimeZone, offered_names, time_zone_named


@pytest.mark.parametrize("name", ["", "Mars/Base", "../etc/passwd", "/etc/passwd", "Europe/\0", "x" * 10_000, "Europe"])
def test_what_is_no_time_zone_is_told(name: str) -> None:
    with pytest.raises(UnknownTimeZone, match="such as Europe/Berlin"):
        time_zone_named(name)


def test_utc_and_every_place_is_offered_and_no_file_of_rules() -> None:
    names = offered_names()
    assert names[0] == "UTC"
    assert {"Europe/Berlin", "Asia/Tokyo", "America/Argentina/Ushuaia"} <= set(names)
    assert not [name for name in names[1:] if name.startswith("Etc/") or "/" not in name]
    assert all(time_zone_named(name).key == name for name in names)
