"""The calendar page with its picture, and the feed for calendar programs, whose secret is in its URL."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlsplit

import icalendar
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.errors import BadToken, TokenRefused
from dnspanel.accounts.models import TokenKind
from dnspanel.accounts.people.own_language import mail_language
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import actor_by_secret, create_token
from dnspanel.texts import gettext, speaking
from dnspanel.web.calendar.events import Event, Kind, Window, events_of
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, actor_for, reporting
from dnspanel.web.frame.one_time_page import show_once

WIDTH = 1000  # units of the picture
_LEAST = 6  # units of a mark, which couldn't be seen if it was smaller
DAYS = timedelta(days=90)
MOST, MOST_OF_ONE, MOST_IN_FEED = 40, 250, 1_000  # events of each kind: of all kinds, of one kind, and in the feed
_PAST, _FUTURE = timedelta(days=30), timedelta(days=365)
_UNUSED_DAYS = 90  # a feed that no program reads ends
_FIRST, _LAST = date(1971, 1, 1), date(9000, 1, 1)


@require_safe
def calendar(request: PanelRequest) -> HttpResponse:
    """Show the events of 90 days from the day `from`, which is today by default, of all kinds or of one `kind`."""
    now = timezone.now()
    first = _day_in(request.GET.get("from", ""), timezone.localdate(now))
    chosen = next((kind for kind in Kind if kind.value == request.GET.get("kind")), None)
    window = Window(_midnight(first), _midnight(first + DAYS), MOST if chosen is None else MOST_OF_ONE)
    events, cut = events_of(actor_for(request), window, chosen)
    context = {
        "events": events,
        "cut": [kind.label for kind in cut],
        "lanes": lanes_of(events, window),
        "months": list(months_of(window)),
        "now_x": x_of(now, window) if window.begin <= now < window.end else None,
        "first": first,
        "last": first + DAYS - timedelta(days=1),
        "earlier": first - DAYS,
        "later": first + DAYS,
        "kinds": Kind,
        "chosen": chosen,
    }
    return render(request, "calendar/calendar.html", context)


@require_POST
def feed_new(request: PanelRequest) -> HttpResponse:
    """Create a feed of the user's calendar, and show its URL once."""
    actor = actor_for(request)
    terms = TokenTerms(
        gettext("Calendar feed"),
        scope=(Grant(frozenset({Right.READ}), everywhere=True),),
        permissions=actor.permissions & {Permission.READ, Permission.FLEET},
        unused_days=_UNUSED_DAYS,
    )
    with reporting(request, TokenRefused, text=NOTHING_CHANGED):
        made = create_token(owner=request.user, terms=terms, by=actor, now=timezone.now(), kind=TokenKind.FEED)
        address = settings.PANEL_URL + reverse("calendar-feed", args=[made.secret])
        page = render(request, "calendar/feed_made.html", {"address": address, "token": made.token})
        return show_once(request, page, after=reverse("token-detail", args=[made.token.pk]))
    return redirect("changes-calendar")


@require_safe
def feed(request: HttpRequest, secret: str) -> HttpResponse:
    """Return the calendar of the feed's owner as an iCalendar file, or 404 for an unknown or ended feed."""
    now = timezone.now()
    try:
        address = request.META.get("REMOTE_ADDR")
        actor = actor_by_secret(secret=secret, address=address, now=now, kind=TokenKind.FEED)
    except BadToken as exc:
        raise Http404 from exc
    with speaking(mail_language(actor.user)):
        events, _ = events_of(actor, Window(now - _PAST, now + _FUTURE, MOST_IN_FEED))
        text = calendar_file(events, name=gettext("DNS calendar"), panel_url=settings.PANEL_URL, now=now)
    return HttpResponse(text, content_type="text/calendar; charset=utf-8")


def lanes_of(events: Iterable[Event], window: Window) -> dict[Kind, list[tuple[int, int, list[Event]]]]:
    """Return the marks of each kind as (x, width, events). Events at almost the same time share a mark."""
    found: dict[Kind, dict[tuple[int, int], list[Event]]] = {}
    for event in events:
        x = min(x_of(event.at, window) // _LEAST * _LEAST, WIDTH - _LEAST)
        width = max(_LEAST, x_of(event.until or event.at, window) - x)
        found.setdefault(event.kind, {}).setdefault((x, width), []).append(event)
    return {kind: [(*place, at) for place, at in sorted(found[kind].items())] for kind in Kind if kind in found}


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


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def _day_in(text: str, today: date) -> date:
    """Parse a day of the URL. Return today for an invalid text, and the nearest possible day for a far one."""
    try:
        return min(max(date.fromisoformat(text), _FIRST), _LAST)
    except ValueError:
        return today
