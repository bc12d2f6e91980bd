"""The view that pins a zone to the user's dashboard, or unpins it."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.lists.zone_marks import pin, unpin
from dnspanel.zones.rights import access


@require_POST
def zone_pin(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Pin the zone, or unpin it if `pinned` is no. If too many zones are pinned, the oldest pin is removed."""
    zone = access.zone_for_reading(request.user, zone_name)
    if request.POST.get("pinned") == "no":
        unpin(zone=zone, person=request.user)
        say_done(request, gettext("{name} unpinned."), name=zone.name)
    else:
        pin(zone=zone, person=request.user)
        say_done(request, gettext("{name} pinned to your dashboard."), name=zone.name)
    return redirect("zone-detail", zone.name)
