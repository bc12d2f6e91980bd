"""The view that copies records to another zone: choose the zone, preview the changes, add them to the draft."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.database.statement_time import searching_for
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.editor.selected_rrsets import (
    EXAMPLES,
    MOST_REFUSED,
    address_with_filter,
    example_of,
    refused_rows,
    selected_fields,
    selection_of,
)
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.forms import PanelForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden, QuotaExceeded, Unknown
from dnspanel.zones.lists.selection import MOST_SELECTED, TooMany
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.runs.copies import Copies, Existing, copies_of
from replication.dns import names
from replication.errors import BadName


class CopyForm(PanelForm):
    """The form for copying records: the target zone, and an action for RRsets that already exist there."""

    target = forms.CharField(
        label=gettext_lazy("Target zone"),
        max_length=300,
        widget=forms.TextInput(
            attrs={"class": "input input-mono", "spellcheck": "false", "autocomplete": "off", "data-focus": ""}
        ),
    )
    existing = forms.ChoiceField(
        label=gettext_lazy("Existing records"),
        choices=[
            (Existing.SKIP.value, gettext_lazy("keep existing record")),
            (Existing.REPLACE.value, gettext_lazy("replace existing record")),
            (Existing.MERGE.value, gettext_lazy("merge values")),
        ],
        widget=forms.Select(attrs={"class": "select"}),
    )

    def __init__(self, *args: object, source: Zone, request: PanelRequest) -> None:
        super().__init__(*args)
        self.source, self.request = source, request

    def clean_target(self) -> Zone:
        try:
            zone = access.zone_for_editing(self.request.user, names.parse(self.cleaned_data["target"].strip()))
        except (BadName, Unknown, Forbidden) as exc:
            raise forms.ValidationError(str(exc)) from exc
        if zone.pk == self.source.pk:
            raise forms.ValidationError(gettext("The records are already in this zone. Choose another zone."))
        return zone


@require_POST
def zone_copy(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Ask for the target zone and preview the changes there. `act=copy` adds the changes to the draft."""
    source = access.zone_for_reading(request.user, zone_name)
    selection = selection_of(request, source)
    if selection is None:
        messages.warning(request, gettext("No records selected, so nothing was copied."))
        return redirect(address_with_filter(request.POST, source))
    form = CopyForm(request.POST if "target" in request.POST else None, source=source, request=request)
    if not form.is_valid():
        return _show(request, source, form, None)
    target = form.cleaned_data["target"]
    try:
        with searching_for(selection.filters.text if selection.filters else ""):
            copies = copies_of(
                selection=selection,
                source=source,
                target=target,
                author=request.user,
                existing=Existing(form.cleaned_data["existing"]),
            )
        if request.POST.get("act") != "copy" or not copies.changes:
            return _show(request, source, form, copies)
        draft.change_rrsets(author=request.user, zone=target, afters=copies.afters, now=timezone.now())
    except TooMany:
        form.add_error(
            None,
            gettext("More than {most_selected:,} records are selected. Use a more specific filter.").format(
                most_selected=MOST_SELECTED
            ),
        )
        return _show(request, source, form, None)
    except QuotaExceeded as exc:
        form.add_error(None, str(exc))
        return _show(request, source, form, None)
    count = len(copies.changes)
    say_done(
        request,
        ngettext(
            "{count:,} record copied from {name} into your draft.",
            "{count:,} records copied from {name} into your draft.",
            count,
        ),
        count=count,
        name=source.name,
    )
    return redirect(f"{reverse('zone-detail', args=[target.name])}?in=draft")


def _show(request: PanelRequest, source: Zone, form: CopyForm, copies: Copies | None) -> HttpResponse:
    target = form.cleaned_data["target"] if copies else source
    refused = copies.refused if copies else []
    context = {
        "form": form,
        "copies": copies,
        "target": target,
        "examples": [example_of(target, change) for change in copies.changes[:EXAMPLES]] if copies else [],
        "refused": refused_rows(target, refused),
        "more_refused": max(0, len(refused) - MOST_REFUSED),
        "selected": selected_fields(request),
        "back": address_with_filter(request.POST, source),
    }
    return render_zone(request, source, "records", "editor/copy.html", context, 422 if form.errors else 200)
