"""The calendar page, and the feed for calendar programs, whose secret is in its URL."""

from datetime import date, datetime, time, timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.grants import Grant, Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.errors import BadToken, TokenRefused
from dnspanel.accounts.models import TokenKind
from dnspanel.accounts.people.own_language import mail_language
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import actor_by_secret, create_token
from dnspanel.texts import gettext, speaking
from dnspanel.web.calendar.axis import lanes_of, months_of, x_of
from dnspanel.web.calendar.events import Kind, Window, events_of
from dnspanel.web.calendar.feed import calendar_file
from dnspanel.web.frame.layout import PanelRequest, actor_for
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.web.frame.outcomes import NOTHING_CHANGED, reporting

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


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def _day_in(text: str, today: date) -> date:
    """Parse a day of the URL. Return today for an invalid text, and the nearest possible day for a far one."""
    try:
        return min(max(date.fromisoformat(text), _FIRST), _LAST)
    except ValueError:
        return today
