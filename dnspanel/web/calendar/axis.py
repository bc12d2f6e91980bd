"""Lanes of the calendar's picture: a lane for each kind of event, all on one axis. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from dnspanel.web.calendar.events import Event, Kind, Window

WIDTH = 1000  # units of the picture
_LEAST = 6  # units of a mark, which couldn't be seen if it was smaller


def lanes_of(events: Iterable[Event], window: Window) -> dict[Kind, list[tuple[int, int]]]:
    """Return the marks of each kind as (x, width). Events at almost the same time share a mark."""
    found: dict[Kind, set[tuple[int, int]]] = {}
    for event in events:
        x = min(x_of(event.at, window) // _LEAST * _LEAST, WIDTH - _LEAST)
        width = max(_LEAST, x_of(event.until or event.at, window) - x)
        found.setdefault(event.kind, set()).add((x, width))
    return {kind: sorted(found[kind]) for kind in Kind if kind in found}


def months_of(window: Window) -> Iterator[tuple[str, datetime]]:
    """Yield each month that begins in the window, with its place on the axis in percent, for texts of a fixed size."""
    month = window.begin.replace(day=1)
    while month < window.end:
        if month >= window.begin:
            yield f"{x_of(month, window) / WIDTH:.1%}", month
        month = month.replace(year=month.year + month.month // 12, month=month.month % 12 + 1)


def x_of(at: datetime, window: Window) -> int:
    """Return the place of a time on the axis. Times outside the window are at its ends."""
    return round(min(max((at - window.begin) / (window.end - window.begin), 0), 1) * WIDTH)
