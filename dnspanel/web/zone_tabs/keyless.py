"""View for a zone's transfers without a TSIG key and its additional NOTIFY targets, on the Settings tab."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Right
from dnspanel.secondaries import keyless
from dnspanel.secondaries.access import reason_against
from dnspanel.secondaries.errors import KeylessRefused
from dnspanel.secondaries.set_up_secondaries import MOST_ADDRESSES, MOST_NETWORKS
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import PanelForm, mono_field, split_list
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access

# The length of the longest entry, including the separator.
_LONGEST = 50


class KeylessForm(PanelForm):
    """The form for networks that can transfer without a key, and addresses to notify. Module `keyless` checks both."""

    networks = mono_field(
        gettext_lazy("Transfers without key"),
        MOST_NETWORKS * _LONGEST,
        gettext_lazy("Enter the networks that can transfer the zone, one per line, such as 192.0.2.0/24."),
        rows=3,
    )
    addresses = mono_field(
        gettext_lazy("Additional NOTIFY targets"),
        MOST_ADDRESSES * _LONGEST,
        gettext_lazy(
            "Addresses that receive unsigned NOTIFY messages. Enter one per line, with the port if it isn’t "
            "53, such as 192.0.2.53:5300."
        ),
        rows=3,
    )

    def words(self, field: str) -> list[str]:
        return split_list(str(self.cleaned_data[field]))


def keyless_context(zone: Zone) -> dict[str, object]:
    """Return the template context for the card about transfers without a key."""
    return _about(zone, keyless.keyless_of(zone))


def _about(zone: Zone, found: keyless.Keyless) -> dict[str, object]:
    is_anything = bool(found.networks or found.addresses)
    return {"keyless": found, "no_transfer_reason": reason_against(zone) if is_anything else ""}


@require_http_methods(["GET", "HEAD", "POST"])
def zone_transfers(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the networks that can transfer without a key, and additional NOTIFY targets. A POST changes both."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    found = keyless.keyless_of(zone)
    context = _about(zone, found)
    initial = {"networks": "\n".join(found.networks), "addresses": "\n".join(found.addresses)}
    form = KeylessForm(request.POST or None, initial=initial)
    if form.is_valid():
        with form.catching(KeylessRefused):
            keyless.change(
                zone=zone,
                networks=form.words("networks"),
                addresses=form.words("addresses"),
                by=request.user,
                now=timezone.now(),
            )
            say_done(request, gettext("Transfer settings for {name} saved."), name=zone.name)
            return redirect("zone-transfers", zone.name)
    status = 422 if form.is_bound else 200
    return render_zone(request, zone, "settings", "zone_tabs/keyless.html", {**context, "form": form}, status=status)
