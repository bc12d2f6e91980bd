"""Views of alert routes: list, create, change, test, switch off, rotate the secret, delete, show sent messages."""

from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.alerts import routes
from dnspanel.alerts.errors import RouteRefused
from dnspanel.alerts.models import Route, RouteKind
from dnspanel.alerts.queries import messages_of, route_by_id, route_rows
from dnspanel.alerts.tasks import wake_sender
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.alerts.route_form import RouteForm
from dnspanel.web.frame.confirm import ask, before_secret, run_confirmed
from dnspanel.web.frame.layout import PanelRequest, is_fragment
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.zones.rights import access

MOST_MESSAGES = 30


@require_safe
def route_list(request: PanelRequest) -> HttpResponse:
    """List the routes that alerts are sent to."""
    access.require(request.user, Permission.FLEET)
    return render(request, "alerts/routes.html", {"rows": route_rows()})


@require_http_methods(["GET", "HEAD", "POST"])
def route_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new route, or create it. A webhook needs a confirmation, and its secret is shown once."""
    access.require(request.user, Permission.NODES)
    form = RouteForm(request.POST or None)
    if form.is_valid():
        terms = form.terms()
        create = partial(routes.create_route, terms=terms, by=request.user, now=timezone.now())
        is_signed = terms.kind == RouteKind.WEBHOOK
        try:
            made = run_confirmed(request, _ABOUT_SECRET if is_signed else None, create)
        except RouteRefused as exc:
            form.refuse_all(exc.fields)
        else:
            if made.secret:
                return _page_with_secret(request, made.route, made.secret)
            messages.success(
                request,
                gettext("Route {name} created. Send a test message to check the delivery.").format(
                    name=made.route.name
                ),
            )
            return redirect("alert-route", made.route.pk)
    context = {"form": form, "has_mail": bool(settings.EMAIL_HOST)}
    return render(request, "alerts/route_new.html", context, status=422 if form.is_bound else 200)


@require_safe
def route_detail(request: PanelRequest, route_id: int) -> HttpResponse:
    """Show a route and the messages sent to it. For htmx, return only the list of messages."""
    access.require(request.user, Permission.FLEET)
    route = route_by_id(route_id)
    context = _context(request, route)
    if is_fragment(request):
        return render(request, "alerts/_messages.html", context)
    return render(request, "alerts/route.html", {**context, "form": RouteForm(route=route)})


@require_POST
def route_change(request: PanelRequest, route_id: int) -> HttpResponse:
    """Change a route's name, address, severity or quiet hours."""
    access.require(request.user, Permission.NODES)
    route = route_by_id(route_id)
    form = RouteForm(request.POST, route=route)
    if form.is_valid():
        try:
            routes.change_route(route=route, terms=form.terms(kind=route.kind), by=request.user, now=timezone.now())
        except RouteRefused as exc:
            form.refuse_all(exc.fields)
        else:
            messages.success(request, gettext("Changes saved."))
            return redirect("alert-route", route.pk)
    return render(request, "alerts/route.html", {**_context(request, route), "form": form}, status=422)


@require_POST
def route_test(request: PanelRequest, route_id: int) -> HttpResponse:
    """Send a test message now. The page then shows the receiver's response."""
    access.require(request.user, Permission.NODES)
    route = route_by_id(route_id)
    routes.send_test(route=route, by=request.user, now=timezone.now())
    wake_sender(route_id=route.pk)
    messages.success(request, gettext("Sending a test message. The response will appear below in a moment."))
    return redirect("alert-route", route.pk)


@require_POST
def route_switch(request: PanelRequest, route_id: int) -> HttpResponse:
    """Switch the route on if `active` is yes, otherwise off. Switching it off deletes its waiting messages."""
    access.require(request.user, Permission.NODES)
    route = route_by_id(route_id)
    active = request.POST.get("active") == "yes"
    routes.switch_route(route=route, active=active, by=request.user, now=timezone.now())
    messages.success(
        request,
        (gettext("Route {name} enabled.") if active else gettext("Route {name} disabled.")).format(name=route.name),
    )
    return redirect("alert-route", route.pk)


@require_POST
def route_rotate(request: PanelRequest, route_id: int) -> HttpResponse:
    """Replace the signing secret after a confirmation, and show the new secret once."""
    access.require(request.user, Permission.NODES)
    route = route_by_id(route_id)
    ask(request, _ABOUT_SECRET)
    try:
        secret = routes.rotate_secret(route=route, by=request.user, now=timezone.now())
    except RouteRefused as exc:
        messages.error(request, gettext("{exc} Nothing was changed.").format(exc=exc))
        return redirect("alert-route", route.pk)
    return _page_with_secret(request, route, secret, rotated=True)


_ABOUT_SECRET = before_secret(
    forged=gettext_lazy("forged alerts that appear to come from this panel"), back="/alerts/routes/"
)


def _page_with_secret(request: PanelRequest, route: Route, secret: str, *, rotated: bool = False) -> HttpResponse:
    page = render(request, "alerts/route_made.html", {"route": route, "secret": secret, "rotated": rotated})
    return show_once(request, page, after=reverse("alert-route", args=[route.pk]))


@require_POST
def route_delete(request: PanelRequest, route_id: int) -> HttpResponse:
    """Delete the route and its message log."""
    access.require(request.user, Permission.NODES)
    route = route_by_id(route_id)
    routes.delete_route(route=route, by=request.user, now=timezone.now())
    messages.success(request, gettext("{name} deleted.").format(name=route.name))
    return redirect("alert-routes")


def _context(request: PanelRequest, route: Route) -> dict[str, object]:
    display = messages_of(route, limit=MOST_MESSAGES)
    return {
        "route": route,
        "sent": display,
        "is_moving": any(each.sent_at is None and each.failed_at is None for each in display),
        "may_change": can(request.user, Permission.NODES),
        "is_webhook": route.kind == RouteKind.WEBHOOK,
        "has_mail": bool(settings.EMAIL_HOST),
        "mail_server": gettext("{email_host}, port {email_port}").format(
            email_host=settings.EMAIL_HOST, email_port=settings.EMAIL_PORT
        )
        if settings.EMAIL_HOST
        else "",
    }
