"""Parse times on the command line: a duration before now, or a date and time."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


class Since(click.ParamType[str]):
    """A duration before now (30m, 2h, 7d), or an ISO 8601 time such as 2026-11-28T03:00, by default in UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if ago := re.fullmatch(r"(\d{1,6})([mhd])", value):
            at = datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return at.isoformat()
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"{value} is neither 30m, 2h or 7d nor a time such as 2026-11-28T03:00", param, ctx)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()
