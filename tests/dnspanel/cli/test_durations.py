"""Tests of TTLs on the command line."""

import click
import pytest

from dnspanel.cli.durations import MOST, Ttl
from dnspanel.transfer.zonefile.field_tables import seconds


@pytest.mark.parametrize(
    "text", ["0", "300", "1s", "90S", "5m", "5M", "1h", "1H30m", "2d", "1w2d3h4m5s", "2W", "1h1h", str(MOST)]
)
def test_a_ttl_is_what_zone_files_write(text: str) -> None:
    assert Ttl().convert(text, None, None) == seconds(text)


@pytest.mark.parametrize("text", ["", "h", "1y", "1h30", "-1", "1.5h", "1 h", "1h-", "٣", str(MOST + 1), "4000w"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Ttl().convert(text, None, None)


def test_each_option_has_its_own_bounds() -> None:
    assert Ttl(60, 604_800).convert("1w", None, None) == 604_800
    for text in ("59", "8d"):
        with pytest.raises(click.BadParameter, match="is not in the range 60 to 604800 seconds"):
            Ttl(60, 604_800).convert(text, None, None)
