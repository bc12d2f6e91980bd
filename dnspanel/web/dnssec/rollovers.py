"""Views of rollovers: start, show progress, cancel, emergency rollover, and the list of running rollovers."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, Right
from dnspanel.texts import gettext
from dnspanel.web.dnssec.display_rollover import DisplayRollover, possible_kinds
from dnspanel.web.dnssec.pages import acting, answer
from dnspanel.web.dnssec.rollover_forms import BeginRolloverForm, CancelRolloverForm, EmergencyForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.dnssec import queries as dnssec
from dnspanel.zones.dnssec import rollover_queries
from dnspanel.zones.dnssec.rollover_stages import EMERGENCY, Kind
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.rights import access
from dnspanel.zones.signing import rollovers

PAGE = 100


@require_POST
def rollover_begin(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Start a rollover of the zone's keys."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = BeginRolloverForm(request.POST, kinds=possible_kinds(dnssec.signing_of(zone)))

    def act() -> None:
        chosen = form.cleaned_data
        rollovers.begin(
            zone=zone, kind=Kind(chosen["kind"]), acting=acting(request, form), algorithm=chosen["algorithm"]
        )

    return answer(request, zone, form, act, gettext("Rollover started. All further steps will run automatically."))


@require_POST
def rollover_cancel(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Cancel the zone's rollover and return to the old keys."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    form = CancelRolloverForm(request.POST)

    def act() -> None:
        rollovers.cancel(zone=zone, acting=acting(request, form), withdrawn=form.cleaned_data["withdrawn"])

    return answer(request, zone, form, act, gettext("Rollover cancelled. The zone is returning to the old keys."))


@require_safe
def rollover_card(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the current step of the zone's rollover."""
    zone = access.zone_for_reading(request.user, zone_name)
    newest = rollover_queries.newest(zone)
    context = {"zone": zone, "rolled": DisplayRollover(newest, timezone.now()) if newest else None}
    return render(request, "dnssec/_rollover_state.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def rollover_emergency(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the effects of an emergency rollover and a form that asks for the zone's name. A POST replaces the key."""
    zone = access.zone_for(request.user, zone_name, Right.DNSSEC)
    kinds = possible_kinds(dnssec.signing_of(zone))
    form = EmergencyForm(request.POST or None, zone_name=zone.name, kinds=kinds)
    if form.is_valid():
        kind = Kind(form.cleaned_data["kind"])
        with form.catching(DnssecRefused):
            rollovers.begin(zone=zone, kind=kind, acting=acting(request, form), emergency=True)
            say_done(request, gettext("Old key removed. Add the new DS at the parent now."))
            return redirect("zone-dnssec", zone.name)
    now = timezone.now()
    effects = [rollovers.breakage(zone=zone, kind=kind, now=now) for kind in kinds if kind in EMERGENCY]
    context = {"zone": zone, "form": form, "effects": effects}
    return render(request, "dnssec/emergency.html", context, status=422 if request.method == "POST" else 200)


@require_safe
def rollover_list(request: PanelRequest) -> HttpResponse:
    """List running rollovers of zones that the person is allowed to see."""
    access.require(request.user, Permission.READ)
    after = request.GET.get("after", "")
    rows, more = rollover_queries.under_way(
        request.user, after=int(after) if after.isdecimal() and len(after) < 19 else 0, limit=PAGE
    )
    now = timezone.now()
    context = {"rollovers": [DisplayRollover(row, now) for row in rows], "next": rows[-1].pk if more else None}
    return render(request, "dnssec/rollovers.html", context)
