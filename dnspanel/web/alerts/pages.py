"""Views of alerts: open alerts, past alerts, and the bell in the page header."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.roles import Permission
from dnspanel.alerts.models import Route
from dnspanel.alerts.queries import alert_summary, open_alerts, past_alerts
from dnspanel.fleet.nodes.heartbeats import WATCH, heartbeats
from dnspanel.web.frame.forms import id_in
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.zones.rights import access

MOST_PAST = 50


@require_safe
def alert_list(request: PanelRequest) -> HttpResponse:
    """List open alerts. Every five seconds, htmx fetches only the list."""
    access.require(request.user, Permission.FLEET)
    context = {
        "alerts": open_alerts(),
        "looked_at": heartbeats().get(WATCH),
        "is_told": Route.objects.filter(active=True).exists(),
    }
    return render(request, "alerts/_open.html" if is_fragment(request) else "alerts/list.html", context)


@require_safe
def alert_history(request: PanelRequest) -> HttpResponse:
    """List past alerts, newest first."""
    access.require(request.user, Permission.FLEET)
    found = past_alerts(before=_cursor(request), limit=MOST_PAST + 1)
    context = {
        "alerts": found[:MOST_PAST],
        "next_before": found[MOST_PAST - 1].pk if len(found) > MOST_PAST else "",
    }
    return render(request, "alerts/history.html", context)


@require_safe
def alert_pill(request: PanelRequest) -> HttpResponse:
    """Show only the bell. Return 204 if the page already shows the same message (`seen`)."""
    access.require(request.user, Permission.FLEET)
    summary = alert_summary()
    if request.GET.get("seen") == summary.message:
        return HttpResponse(status=204)
    return render(request, "alerts/_bell.html", {"bell": summary})


def _cursor(request: PanelRequest) -> int | None:
    """Return the cursor from the request, or None for the first page. The page lists only alerts with a lower id."""
    return id_in(request.GET.get("before", ""))
