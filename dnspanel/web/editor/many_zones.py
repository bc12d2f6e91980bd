"""Views that change RRsets in many zones at once: all RRsets that match a search, or the selected RRsets."""

import hashlib
import json
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.texts import gettext, ngettext
from dnspanel.web.editor.selected_rrsets import EXAMPLES, MOST_REFUSED, ManyForm, example_of, ticked_lines
from dnspanel.web.frame.forms import LONGEST_SEARCH, checked_search, text_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.lists.selection import MOST_SELECTED, TooMany
from dnspanel.zones.rights import access
from dnspanel.zones.runs.many_zones import KeyByName, WideOutcome, WideSelection, draft_outcome, wide_outcome
from replication.dns import names, rdata


class ManyZonesForm(ManyForm):
    """The form for a bulk change to all RRsets that match a search, or to the selected RRsets."""

    q = text_field(None, LONGEST_SEARCH)
    seen = text_field(None, 64)

    def clean_q(self) -> str:
        text = checked_search(self.cleaned_data["q"])
        if self.data.get("all") and not text:
            raise forms.ValidationError(gettext("Enter a search, such as type:a has:192.0.2.7"))
        return text


@require_http_methods(["GET", "HEAD", "POST"])
def changes_many(request: PanelRequest) -> HttpResponse:
    """Show the form for selected records or all that match a search. One POST previews changes, another drafts them."""
    access.require(request.user, Permission.EDIT)
    if request.method != "POST":
        return _show(request, ManyZonesForm(initial={"q": request.GET.get("q", "")[:LONGEST_SEARCH]}), None)
    form = ManyZonesForm(request.POST)
    selection = _selection(request)
    if selection is None:
        messages.warning(request, gettext("Nothing was selected, so nothing was changed."))
        return redirect(back_to(request))
    if not form.is_valid():
        return _show(request, form, None, status=422)
    outcome = _outcome(request, form, selection)
    if outcome is None:
        return _show(request, form, None, status=422)
    if not outcome.count or not form.cleaned_data["preview"]:
        return _show(request, form, outcome)
    if form.cleaned_data["seen"] != fingerprint(outcome):
        messages.warning(
            request, gettext("The changes are no longer the same as in the last preview. Review the new preview.")
        )
        return _show(request, form, outcome)
    draft_outcome(outcome=outcome, author=request.user, now=timezone.now())
    zones = len(outcome.changes)
    say_done(
        request,
        gettext("{records} in {zones} changed in your draft."),
        records=ngettext("{count:,} record", "{count:,} records", outcome.count).format(count=outcome.count),
        zones=ngettext("{count:,} zone", "{count:,} zones", zones).format(count=zones),
    )
    return redirect("changes")


def _outcome(request: PanelRequest, form: ManyZonesForm, selection: WideSelection) -> WideOutcome | None:
    """Return the requested changes. If the search is too general or matches too much, add an error and return None."""
    try:
        with searching_for(selection.search):
            return wide_outcome(act=form.chosen_act(), selection=selection, author=request.user, now=timezone.now())
    except TooMany:
        form.add_error(
            None,
            gettext("The search matches more than {most_selected:,} records. Use a more specific search.").format(
                most_selected=MOST_SELECTED
            ),
        )
    except SearchTooGeneral as exc:
        form.add_error(None, str(exc))
    return None


def fingerprint(outcome: WideOutcome) -> str:
    """Return a digest of all changes, to detect changes since the preview."""
    content = [
        [zone.pk, change.name, change.type, change.after.to_json() if change.after else None]
        for zone, changes in outcome.changes.items()
        for change in changes
    ]
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=12).hexdigest()


def _selection(request: PanelRequest) -> WideSelection | None:
    """Return the selection in the request, or None if nothing is selected."""
    if request.POST.get("all"):
        return WideSelection(search=request.POST.get("q", "")[:LONGEST_SEARCH].strip())
    keys = tuple(dict.fromkeys(key for line in ticked_lines(request) if (key := _key(line))))
    return WideSelection(keys) if keys else None


def _key(line: str) -> KeyByName | None:
    """Parse a checkbox value: zone, name and type number, separated by spaces. Return None if it is invalid."""
    zone, _, rest = line.strip().partition(" ")
    name, _, type_ = rest.rpartition(" ")
    return (zone, name, int(type_)) if name and type_.isascii() and type_.isdigit() and len(type_) < 6 else None


def back_to(request: PanelRequest) -> str:
    """Return the URL of the search page with the request's search."""
    query = urlencode({"q": request.POST["q"]}) if request.POST.get("q") else ""
    return f"{reverse('search')}{'?' if query else ''}{query}"


def _show(
    request: PanelRequest, form: ManyZonesForm, outcome: WideOutcome | None, *, status: int = 200
) -> HttpResponse:
    """Show the form, or a preview with examples of the changes and the refused records."""
    refused = outcome.refused if outcome else []
    context = {
        "form": form,
        "act": form.title if outcome else gettext("Bulk edit records"),
        "asks": outcome is None,
        "search_text": form["q"].value() or "",
        "count": outcome.count if outcome else 0,
        "left_out": outcome.left_out if outcome else 0,
        "zone_count": len(outcome.changes) if outcome else 0,
        "unchanged": outcome.unchanged if outcome else 0,
        "examples": [example_of(zone, change) for zone, change in outcome.examples(EXAMPLES)] if outcome else [],
        "refused": [
            (names.display(each.rrset.name), rdata.type_to_text(each.rrset.type), each.reason)
            for each in refused[:MOST_REFUSED]
        ],
        "more_refused": max(0, len(refused) - MOST_REFUSED),
        "selected": [(name, value) for name in ("rr", "rrs", "all", "q") for value in request.POST.getlist(name)],
        "kept": form.sent_fields,
        "typed": dict(form.sent_fields),
        "seen": fingerprint(outcome) if outcome else "",
        "back": back_to(request),
    }
    return render(request, "editor/many_zones.html", context, status=status)
