"""View for a name server set's vanity names in this panel's zones: addresses, glue, and the parents' records."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.fleet.lookups.turns import Busy
from dnspanel.texts import gettext
from dnspanel.transfer.cutover.delegation_checklist import Point, Verdict
from dnspanel.transfer.vanity.keep import Place, keep_addresses, places_of, stop_keeping
from dnspanel.transfer.vanity.parent import ask_parent
from dnspanel.transfer.zone_templates.access import set_for
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.errors import Locked, RightMissing, TemplateRefused
from dnspanel.zones.models import ZoneTemplate
from dnspanel.zones.rights import access

_LOOKS = {Verdict.FINE: ("is-ok", "check"), Verdict.TO_DO: ("is-warn", "alert"), Verdict.UNKNOWN: ("", "info")}


@dataclass(frozen=True, slots=True)
class DisplayPoint:
    """A finding about the parent zone's records, with its color and icon."""

    point: Point

    @property
    def look(self) -> str:
        return _LOOKS[self.point.verdict][0]

    @property
    def icon(self) -> str:
        return _LOOKS[self.point.verdict][1]


@dataclass(frozen=True, slots=True)
class DisplayPlace:
    """A zone with some of a name server set's names, and whether the user is allowed to edit the zone."""

    place: Place
    may_edit: bool

    @property
    def glue(self) -> list[str]:
        """The glue lines to enter at the registrar."""
        return [f"{name} {' '.join(found)}" for name, found in self.place.addresses.items() if found]

    @property
    def lost(self) -> list[str]:
        """The names without an address, for example because their nodes no longer exist."""
        return [name for name, found in self.place.addresses.items() if not found]

    @property
    def points(self) -> list[DisplayPoint]:
        kept = self.place.kept
        return [] if kept is None else [DisplayPoint(Point.from_json(stored)) for stored in kept.points]


@require_http_methods(["GET", "HEAD", "POST"])
def server_set_addresses(request: PanelRequest, set_id: int) -> HttpResponse:
    """List the zones that contain some of a name server set's names.

    A POST starts or stops automatic address updates in one of these zones, or checks its parent zone.
    """
    access.require(request.user, Permission.READ)
    template = set_for(request.user, set_id)
    if request.method == "POST":
        _act(request, template)
        return redirect("server-set-addresses", template.pk)
    places = [
        DisplayPlace(place, access.may_edit_here(request.user, place.zone))
        for place in places_of(template, request.user)
    ]
    return render(request, "zone_templates/servers_addresses.html", {"template": template, "places": places})


def _act(request: PanelRequest, template: ZoneTemplate) -> None:
    zone = access.zone_for_editing(request.user, request.POST.get("zone", ""))
    now, act = timezone.now(), request.POST.get("act")
    kept = next((place.kept for place in places_of(template, request.user) if place.zone == zone), None)
    with reporting(request, TemplateRefused, RightMissing, Locked, Busy):
        if act == "keep":
            refusal = keep_addresses(template=template, zone=zone, by=request.user, now=now).refusal
            if refusal:
                messages.error(
                    request,
                    gettext("Automatic updates enabled, but the first update failed: {refusal}").format(
                        refusal=refusal
                    ),
                )
            else:
                say_done(
                    request,
                    gettext("Automatic updates enabled. The names in {name} now have their nodes’ addresses."),
                    name=zone.name,
                )
        elif act == "stop":
            stop_keeping(template=template, zone=zone, by=request.user, now=now)
            say_done(
                request, gettext("Automatic updates disabled. The addresses in {name} weren’t changed."), name=zone.name
            )
        elif act == "ask" and kept is not None:
            ask_parent(kept=kept, by=request.user, now=now)
