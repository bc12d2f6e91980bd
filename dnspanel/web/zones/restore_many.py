"""Views that restore many zones from the trash: selected zones, search results, or a publication's deletions."""

import hashlib
import json
from collections.abc import Sequence
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.frame.forms import LONGEST_SEARCH, PublishingForm, text_field
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import PublishRefused, RunRefused
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.models import Channel, Zone, ZoneAct
from dnspanel.zones.publishing import restore_zones
from dnspanel.zones.publishing.many_settings import ZonesOutcome
from dnspanel.zones.runs import change_runs

MOST_AT_ONCE = restore_zones.PIECE_ZONES  # a worker restores larger numbers in pieces
EXAMPLES = 10
MOST_NAMED = 20
_KEPT = ("zone", "all", "q", "publication")
_LARGEST_ID, _LARGEST_SEQUENCE = 2**31, 2**63


class RestoreZonesForm(PublishingForm):
    """The form that confirms the restoration of the displayed zones, with an optional reason."""

    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the history."))
    preview = forms.BooleanField(required=False)
    seen = text_field(None, 64)


@require_http_methods(["GET", "HEAD", "POST"])
def zone_restore_many(request: PanelRequest) -> HttpResponse:
    """Preview the zones that can be restored. A second POST restores them. A large search starts a dry run instead."""
    given = request.POST if request.method == "POST" else request.GET
    selection, found = _selection(given), list[Zone]()
    if selection is None:
        messages.warning(request, gettext("Nothing was selected, so nothing was changed."))
        return redirect(_back(given))
    try:
        with searching_for(selection.search):
            found = restore_zones.selected_from_trash(selection, request.user, MOST_AT_ONCE)
    except TooMany:
        return _as_job(request, selection)
    except SearchTooGeneral as exc:
        messages.error(request, str(exc))
        return redirect(_back(given))
    outcome = restore_zones.preview_restore(zones=found, author=request.user, now=timezone.now())
    form = RestoreZonesForm(request.POST) if given.get("preview") else RestoreZonesForm()
    if not form.is_bound or not form.is_valid():
        return _show(request, form, outcome, selection, status=422 if form.is_bound else 200)
    if form.cleaned_data["seen"] != _fingerprint(outcome.changed) and outcome.changed:
        messages.warning(
            request, gettext("The zones to restore have changed since the last preview. Review them again.")
        )
        return _show(request, RestoreZonesForm(), outcome, selection)
    return _restore(request, form, found)


def _as_job(request: PanelRequest, selection: restore_zones.TrashSelection) -> HttpResponse:
    """Start a dry run for restoring all matching zones. Redirect to the dry run, or back with an error message."""
    given = request.POST if request.method == "POST" else request.GET
    if request.method != "POST" or selection.publication is not None or selection.ids:
        messages.error(
            request,
            gettext("The search found more than {most:,} zones. Restore them from the trash.").format(
                most=MOST_AT_ONCE
            ),
        )
        return redirect(_back(given))
    with reporting(request, RunRefused):
        run = change_runs.create_run(
            alike=change_runs.Alike(ZoneAct.RESTORE), by=request.user, now=timezone.now(), search=selection.search
        )
        return redirect("zone-change-run", run.pk)
    return redirect(_back(given))


def _restore(request: PanelRequest, form: RestoreZonesForm, zones: Sequence[Zone]) -> HttpResponse:
    try:
        done = restore_zones.restore_zones(
            zones=zones, acting=Acting(request.user, Channel.WEB, timezone.now(), form.cleaned_data["reason"], form.id)
        )
    except PublishRefused as exc:
        messages.error(request, gettext("{exc} Nothing was changed.").format(exc=exc))
        return redirect(_back(request.POST))
    for zone, reason in done.outcome.refused[:MOST_NAMED]:
        messages.warning(request, gettext("{name} stays in the trash. {reason}").format(name=zone.name, reason=reason))
    if len(done.outcome.refused) > MOST_NAMED:
        messages.warning(
            request,
            gettext("More zones that were not changed: {value:,}.").format(
                value=len(done.outcome.refused) - MOST_NAMED
            ),
        )
    if done.last is None:
        return redirect(_back(request.POST))
    count = len(done.outcome.changed)
    say_done(
        request,
        ngettext(
            "{count:,} zone was restored with a higher serial.",
            "{count:,} zones were restored with higher serials.",
            count,
        ),
        count=count,
    )
    return redirect("publication", done.last.sequence)


def _show(
    request: PanelRequest,
    form: RestoreZonesForm,
    outcome: ZonesOutcome,
    selection: restore_zones.TrashSelection,
    *,
    status: int = 200,
) -> HttpResponse:
    given = request.POST if request.method == "POST" else request.GET
    context = {
        "form": form,
        "count": len(outcome.changed),
        "rrsets": outcome.rrsets,
        "examples": outcome.changed[:EXAMPLES],
        "more_examples": max(0, len(outcome.changed) - EXAMPLES),
        "refused": outcome.refused[:MOST_NAMED],
        "more_refused": max(0, len(outcome.refused) - MOST_NAMED),
        "kept": [(name, value) for name in _KEPT for value in given.getlist(name)],
        "seen": _fingerprint(outcome.changed),
        "sequence": selection.publication,
        "back": _back(given),
    }
    return render(request, "zones/restore.html", context, status=status)


def _selection(given: QueryDict) -> restore_zones.TrashSelection | None:
    """Return the selection from the request, or None if it is invalid or empty."""
    sequence = given.get("publication", "")
    if sequence.isascii() and sequence.isdecimal() and 0 < int(sequence) < _LARGEST_SEQUENCE:
        return restore_zones.TrashSelection(publication=int(sequence))
    if given.get("all"):
        return restore_zones.TrashSelection(search=given.get("q", "")[:LONGEST_SEARCH].strip())
    ids = [int(text) for text in given.getlist("zone") if text.isascii() and text.isdecimal() and len(text) < 11]
    ids = [id for id in ids if id < _LARGEST_ID]
    return restore_zones.TrashSelection(ids=tuple(ids)) if ids else None


def _back(given: QueryDict) -> str:
    """Return the URL of the previous page: the publication, or the trash with its search."""
    sequence = given.get("publication", "")
    if sequence.isascii() and sequence.isdecimal() and 0 < int(sequence) < _LARGEST_SEQUENCE:
        return reverse("publication", args=[int(sequence)])
    query = urlencode({"q": given["q"]}) if given.get("q") else ""
    return f"{reverse('zone-trash')}{'?' if query else ''}{query}"


def _fingerprint(zones: Sequence[Zone]) -> str:
    """Return a digest of the zones to restore and their current revisions."""
    content = sorted([zone.pk, zone.revision] for zone in zones)
    return hashlib.blake2s(json.dumps(content).encode(), digest_size=12).hexdigest()
