"""View that saves a zone's rules for serials, on the zone's Settings tab."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.errors import SettingsRefused
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import change_soa_edit


@require_POST
def zone_serials(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Save the rules SOA-EDIT-API and SOA-EDIT for serials from the next publication on."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    api, edit = request.POST.get("soa_edit_api", ""), request.POST.get("soa_edit", "")
    with reporting(request, SettingsRefused):
        change_soa_edit(zone=zone, api=api, edit=edit, author=request.user, now=timezone.now())
        say_done(request, gettext("Serial rules for {name} saved."), name=zone.name)
    return redirect("zone-settings", zone.name)
