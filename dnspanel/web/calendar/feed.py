"""Write events as an iCalendar file (RFC 5545). Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import urlsplit

import icalendar

from dnspanel.web.calendar.events import Event


def calendar_file(events: Iterable[Event], *, name: str, panel_url: str, now: datetime) -> bytes:
    """Return an iCalendar file. All times are in UTC. Calendar programs recognize an event by its UID."""
    calendar = icalendar.Calendar()
    for key, text in (("prodid", "-//dnspanel//calendar//EN"), ("version", "2.0"), ("x-wr-calname", name)):
        calendar.add(key, text)
    for event in events:
        entry = icalendar.Event()
        entry.add("uid", f"{event.key}@{urlsplit(panel_url).hostname}")
        times = {"dtstamp": now, "dtstart": event.at, "dtend": event.until}
        for key, at in times.items():
            if at is not None:
                entry.add(key, at.astimezone(UTC))
        entry.add("summary", event.text)
        entry.add("categories", [event.kind.value])
        entry.add("url", panel_url + event.path)
        calendar.add_component(entry)
    content: bytes = calendar.to_ical()
    return content
