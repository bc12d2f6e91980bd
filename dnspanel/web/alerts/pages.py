"""Views of alerts: open alerts, past alerts, and the bell in the page header."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.alerts.alert_lines import AlertLine, merged_lines
from dnspanel.alerts.alert_marks import mark_read, mute
from dnspanel.alerts.models import Route
from dnspanel.alerts.queries import alert_summary, equal_alerts, open_lines, past_alerts
from dnspanel.fleet.nodes.heartbeats import WATCH, heartbeats
from dnspanel.web.alerts.alert_rows import AlertRow, alert_rows
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.rights import access

MOST_PAST = 100


@require_safe
def alert_list(request: PanelRequest) -> HttpResponse:
    """List open alerts, with equal alerts on one line. Every five seconds, htmx fetches only the list."""
    access.require(request.user, Permission.FLEET)
    context = {
        "rows": _rows(request, open_lines(now=timezone.now())),
        "looked_at": heartbeats().get(WATCH),
        "is_told": Route.objects.filter(active=True).exists(),
        "may_mute": can(request.user, Permission.NODES),
    }
    return render(request, "alerts/_open.html" if is_fragment(request) else "alerts/list.html", context)


@require_POST
def alert_mark(request: PanelRequest, act: str) -> HttpResponse:
    """Mark a line's alerts as read, mute them for a day, or unmute them."""
    sent, now = request.POST, timezone.now()
    first, last = id_in(sent.get("first", "")) or 0, id_in(sent.get("last", "")) or 0
    alerts = equal_alerts(kind=sent.get("kind", ""), severity=sent.get("severity", ""), first=first, last=last)
    if act == "read":
        mark_read(alerts=alerts, by=request.user)
    elif act in {"mute", "unmute"}:
        mute(alerts=alerts, by=request.user, now=now, until=now if act == "unmute" else None)
    else:
        raise Http404
    page = reverse("alert-list")
    return redirect(f"{page}?{urlencode({'open': sent['open']})}" if sent.get("open") else page)


@require_safe
def alert_history(request: PanelRequest) -> HttpResponse:
    """List past alerts, newest first. Equal alerts on the page share one line."""
    access.require(request.user, Permission.FLEET)
    before = id_in(request.GET.get("before", ""))
    found = past_alerts(before=before, limit=MOST_PAST + 1)
    lines = sorted(merged_lines(found[:MOST_PAST]), key=lambda line: line.last, reverse=True)
    context = {
        "rows": _rows(request, lines),
        "before_query": f"before={before}" if before else "",
        "next_before": found[MOST_PAST - 1].pk if len(found) > MOST_PAST else "",
    }
    return render(request, "alerts/history.html", context)


@require_safe
def alert_pill(request: PanelRequest) -> HttpResponse:
    """Show only the bell. Return 204 if the page already shows the same message (`seen`)."""
    access.require(request.user, Permission.FLEET)
    summary = alert_summary(request.user, now=timezone.now())
    if request.GET.get("seen") == summary.message:
        return HttpResponse(status=204)
    return render(request, "alerts/_bell.html", {"bell": summary})


def _rows(request: PanelRequest, lines: Iterable[AlertLine]) -> list[AlertRow]:
    opened, after = request.GET.get("open", ""), id_in(request.GET.get("after", "")) or 0
    return list(alert_rows(lines, request.user, opened=opened, after=after))
