"""Views of a zone's Settings tab. Other modules save the cards for the default TTL, locks and transfers."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates.queries import set_of
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import ZoneSettingsForm
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.web.zone_tabs.default_ttl import default_ttl_form
from dnspanel.web.zone_tabs.keyless import keyless_context
from dnspanel.web.zone_tabs.locks import lock_form, locks_context
from dnspanel.zones.errors import QuotaExceeded, SettingsRefused
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import change_settings, change_soa_edit
from dnspanel.zones.values.soa import SOA_EDIT, SOA_EDIT_API


@require_http_methods(["GET", "HEAD", "POST"])
def zone_settings(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show a zone's settings. A POST changes the zone's tags and team."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    form = ZoneSettingsForm(request.POST or None, zone=zone, author=request.user)
    if form.is_valid():
        with form.catching(SettingsRefused), form.catching(QuotaExceeded, at="team"):
            change_settings(zone=zone, **form.cleaned_data, author=request.user, now=timezone.now())
            say_done(request, gettext("Tags and team for {name} saved."), name=zone.name)
            # A person who saw the zone only because of its old tag or team can't see the zone now.
            if not access.has_right(request.user, zone, Right.READ):
                return redirect("zone-list")
            return redirect("zone-detail", zone.name)
    status = 422 if form.is_bound else 200
    context = {
        "form": form,
        "default_ttl_form": default_ttl_form(request, zone),
        "serial_rules": {"api": SOA_EDIT_API, "edit": SOA_EDIT},
        "followed": set_of(zone, request.user),
        **locks_context(zone, lock_form(request, zone)),
        **keyless_context(zone),
    }
    return render_zone(request, zone, "settings", "zone_tabs/settings.html", context, status=status)


@require_POST
def zone_serials(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Save the rules SOA-EDIT-API and SOA-EDIT for serials from the next publication on."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    api, edit = request.POST.get("soa_edit_api", ""), request.POST.get("soa_edit", "")
    with reporting(request, SettingsRefused):
        change_soa_edit(zone=zone, api=api, edit=edit, author=request.user, now=timezone.now())
        say_done(request, gettext("Serial rules for {name} saved."), name=zone.name)
    return redirect("zone-settings", zone.name)
