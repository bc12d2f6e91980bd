"""The view that sets or cancels an RRset's expiry. Expiries are not part of the draft."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.editor.rrsets import back_to_row, require_rrset, row_of
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import OwnClockField, PanelForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.rows import rrset_query
from dnspanel.web.templatetags.panel import moment
from dnspanel.zones.errors import ExpiryRefused
from dnspanel.zones.publishing.expiry import cancel_expiry, expiry_of, set_expiry
from dnspanel.zones.rights import access
from replication.dns import names, rdata
from replication.dns.rrset import Change


class ExpiryForm(PanelForm):
    """The form for the time at which an RRset will be removed automatically."""

    remove_at = OwnClockField(label=gettext_lazy("Removal time"))


@require_http_methods(["GET", "HEAD", "POST"])
def rrset_expiry(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the RRset's expiry time. A POST sets or cancels it. If the RRset isn't published, redirect to its row."""
    zone = access.zone_for_editing(request.user, zone_name)
    key = require_rrset(request, zone)
    published = row_of(request, zone, key).change.before
    what = f"{names.owner_text(key[0], zone.name)} {rdata.type_to_text(key[1])}"
    if published is None:
        messages.warning(
            request,
            gettext("{what} is not published. Only published records can be removed automatically.").format(what=what),
        )
        return back_to_row(zone, key)
    access.refuse_changes(request.user, zone, [Change(*key, published, None)])
    now = timezone.now()
    if request.method == "POST" and request.POST.get("act") == "cancel":
        cancel_expiry(zone=zone, key=key, author=request.user, now=now)
        say_done(request, gettext("Scheduled removal of {what} cancelled."), what=what)
        return back_to_row(zone, key)
    expiry = expiry_of(zone, key)
    form = ExpiryForm(request.POST or None, initial={"remove_at": expiry.remove_at} if expiry else {})
    if request.method == "POST" and form.is_valid():
        remove_at = form.cleaned_data["remove_at"]
        try:
            set_expiry(zone=zone, key=key, remove_at=remove_at, author=request.user, now=now)
        except ExpiryRefused as refusal:
            form.add_error("remove_at", str(refusal))
        else:
            say_done(request, gettext("{what} will be removed on {remove_at}."), what=what, remove_at=moment(remove_at))
            return back_to_row(zone, key)
    context: dict[str, object] = {
        "form": form,
        "expiry": expiry,
        "rrset": published,
        "owner": names.owner_text(key[0], zone.name),
        "query": rrset_query(*key),
    }
    return render_zone(
        request, zone, "records", "editor/expiry.html", context, 422 if request.method == "POST" else 200
    )
