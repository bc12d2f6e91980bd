"""View that creates a zone transferred from external primaries."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.primaries.errors import PrimariesRefused
from dnspanel.primaries.set_up_primaries import create_transferred_zone
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import allowed_servers
from dnspanel.web.frame.forms import PublishingForm, input_faults, mono_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.web.frame.primaries_form import PrimariesForm
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import HookRefused, KeptBack, Locked, NameRefused, NamesRefused, QuotaExceeded
from dnspanel.zones.models import Channel
from dnspanel.zones.rights import access
from replication.dns import names


class NewTransferredZoneForm(PrimariesForm, PublishingForm):
    """The form for a new transferred zone: its name and its primaries."""

    field_order = ("form_id", "name")

    name = mono_field(
        None,
        1100,
        gettext_lazy("Enter the zone name used by the primaries. Unicode names are allowed."),
        required=True,
        autofocus=True,
    )

    def clean_name(self) -> str:
        with input_faults():
            return names.parse(self.cleaned_data["name"])


@require_http_methods(["GET", "HEAD", "POST"])
def zone_new_transferred(request: PanelRequest) -> HttpResponse:
    """Show the form for a transferred zone. A POST creates the zone and starts its first transfer."""
    if not access.may_create_zones(request.user):
        raise access.Forbidden(Permission.EDIT)
    allowed_servers.refuse_servers(request.user)
    form = NewTransferredZoneForm(request.POST or None)
    if form.is_valid() and _create(request, form):
        name = form.cleaned_data["name"]
        say_done(request, gettext("{name} created. The first transfer has started."), name=name)
        return redirect("zone-detail", name)
    context = {"form": form, "near_quotas": near_quotas(request.user, Kind.ZONES)}
    return render(request, "zones/new_transferred.html", context, status=422 if form.is_bound else 200)


def _create(request: PanelRequest, form: NewTransferredZoneForm) -> bool:
    """Create the zone and return True. If it is rejected, add the reason to the form and return False."""
    with (
        form.catching(PrimariesRefused, NameRefused, NamesRefused, QuotaExceeded),
        form.catching(KeptBack, Locked, HookRefused, at="name"),
    ):
        create_transferred_zone(
            name=form.cleaned_data["name"],
            terms=form.terms,
            acting=Acting(request.user, Channel.WEB, timezone.now(), form_id=form.id),
        )
        return True
    return False
