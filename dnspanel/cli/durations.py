"""Parse TTLs and durations on the command line, in seconds or with units as in zone files."""

import re
from typing import Any

import click

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TTL = re.compile(r"(?:[0-9]{1,10}[smhdw])+|[0-9]{1,10}", re.ASCII | re.IGNORECASE)
_PART = re.compile(r"([0-9]+)([smhdw]?)", re.ASCII)
MOST = 2**31 - 1


class Ttl(click.ParamType[int]):
    """A number of seconds, or a duration such as 90s, 5m, 1h30m, 1d or 2W. `least` and `most` limit the seconds."""

    name = "ttl"

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        if not _TTL.fullmatch(value):
            self.fail(f"{value} is neither a number of seconds nor a duration such as 5m, 1h30m or 1d", param, ctx)
        seconds = sum(int(number) * _UNITS.get(unit, 1) for number, unit in _PART.findall(value.lower()))
        if not self.least <= seconds <= self.most:
            self.fail(f"{value} is not in the range {self.least} to {self.most} seconds", param, ctx)
        return seconds
