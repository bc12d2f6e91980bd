"""View for a zone's default TTL for new records, on the zone's Settings tab."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Right
from dnspanel.database.statement_time import searching_for
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import read_ttl
from dnspanel.web.editor.table import default_ttl
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import PanelForm, mono_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists.rrset_pages import RRsetFilter
from dnspanel.zones.lists.selection import MOST_SELECTED, Outcome, Selection, TooMany, outcome_of
from dnspanel.zones.models import Zone
from dnspanel.zones.plan import many_rrsets
from dnspanel.zones.rights import access
from dnspanel.zones.settings.settings_of_zone import change_default_ttl


class DefaultTtlForm(PanelForm):
    """The form for the TTL of new records, with an option to update records with the old default."""

    default_ttl = mono_field(gettext_lazy("TTL for new records"), 20, list="ttls")
    others = forms.BooleanField(required=False)

    def __init__(self, *args: Any, present: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.present = present

    def clean_default_ttl(self) -> int | None:
        typed = self.cleaned_data["default_ttl"].strip()
        try:
            return read_ttl(typed) if typed else None
        except Unreadable as exc:
            raise forms.ValidationError(exc.message) from exc


def default_ttl_form(request: PanelRequest, zone: Zone, *, bound: bool = False) -> DefaultTtlForm:
    """Return the form for the zone's default TTL. If `bound` is True, the form contains the request's data."""
    initial = {"default_ttl": "" if zone.default_ttl is None else zone.default_ttl}
    return DefaultTtlForm(request.POST if bound else None, initial=initial, present=default_ttl(request, zone))


@require_http_methods(["GET", "HEAD", "POST"])
def zone_default_ttl(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the form for the default TTL. A POST saves it and, if selected, drafts it for records with the old one."""
    zone = access.zone_for(request.user, zone_name, Right.SETTINGS)
    form = default_ttl_form(request, zone, bound=request.method == "POST")
    if form.is_valid():
        change_default_ttl(zone=zone, ttl=form.cleaned_data["default_ttl"], author=request.user, now=timezone.now())
        new = default_ttl(request, zone)
        say_done(request, gettext("Default TTL for {name} set to {new} s."), name=zone.name, new=new)
        if form.cleaned_data["others"] and new != form.present:
            return _draft_others(request, zone, form.present, new)
        return redirect("zone-settings", zone.name)
    context: dict[str, object] = {"default_ttl_form": form}
    return render_zone(
        request, zone, "settings", "zone_tabs/default_ttl.html", context, status=422 if form.is_bound else 200
    )


def _draft_others(request: PanelRequest, zone: Zone, old: int, new: int) -> HttpResponse:
    """Draft the new TTL for records with the old one. Redirect to the review, or without changes to the settings."""
    zone = access.zone_for_editing(request.user, zone.name)
    try:
        outcome = _with_ttl(request, zone, old, new)
    except TooMany:
        messages.warning(
            request,
            gettext(
                "More than {most_selected:,} records have a TTL of {old} s, which is too many for one draft. No "
                "records were changed. Search for ttl:{old} and change them in batches."
            ).format(most_selected=MOST_SELECTED, old=old),
        )
        return redirect("zone-settings", zone.name)
    if outcome.refused:
        count = len(outcome.refused)
        messages.warning(
            request,
            ngettext(
                "{count:,} record wasn’t changed because you don’t have permission.",
                "{count:,} records weren’t changed because you don’t have permission.",
                count,
            ).format(count=count),
        )
    if not outcome.changes:
        messages.info(request, gettext("No other record has a TTL of {old} s.").format(old=old))
        return redirect("zone-settings", zone.name)
    draft.change_rrsets(author=request.user, zone=zone, afters=outcome.afters, now=timezone.now())
    return redirect("zone-review", zone.name)


def _with_ttl(request: PanelRequest, zone: Zone, old: int, new: int) -> Outcome:
    search = f"ttl:{old}"
    with searching_for(search):
        selection = Selection(filters=RRsetFilter(text=search))
        return outcome_of(act=many_rrsets.set_ttl(new), selection=selection, zone=zone, author=request.user)
