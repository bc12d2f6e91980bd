"""Edit the whole zone, the filtered records or the selected records as zone-file text."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.database.statement_time import searching_for
from dnspanel.texts import gettext, ngettext
from dnspanel.transfer import zone_text
from dnspanel.transfer.zone_text import LONGEST_TEXT, MOST_RRSETS, EditedText, TooLarge
from dnspanel.web.editor.selected_rrsets import address_with_filter, selection_of
from dnspanel.web.editor.table import FILTER_NAMES, default_ttl, filters_of, number_of
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest, is_fragment, open_page, say_done
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import QuotaExceeded
from dnspanel.zones.lists.rrset_pages import EVERYTHING
from dnspanel.zones.lists.selection import Selection, TooMany
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access


@require_http_methods(["GET", "HEAD", "POST"])
def zone_text_edit(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the records as text. `act=check` lists the text's errors, and `act=save` adds its changes to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    act = request.POST.get("act", "")
    if act not in ("check", "save"):
        return _open(request, zone)
    text, base = request.POST.get("text", ""), request.POST.get("base", "")
    if len(text) > 2 * LONGEST_TEXT or len(base) > 2 * LONGEST_TEXT:
        return _answer(request, zone, EditedText(), error=_too_long(), status=422)
    now = timezone.now()
    edited = zone_text.read_edited_text(
        zone=zone,
        author=request.user,
        text=text,
        base=base,
        is_complete=bool(request.POST.get("whole")),
        now=now,
        over_clashes=bool(request.POST.get("over")),
    )
    if act == "check" or edited.faults or edited.clashes:
        return _answer(request, zone, edited, status=200 if act == "check" else 422)
    revision = number_of(request.POST.get("revision"))
    try:
        draft.change_rrsets(author=request.user, zone=zone, afters=edited.afters, now=now, base_revision=revision)
    except QuotaExceeded as exc:
        return _answer(request, zone, edited, error=str(exc), status=422)
    count = len(edited.afters)
    if not count:
        messages.info(request, gettext("The text contains no changes, so your draft wasn’t changed."))
        return open_page(request, address_with_filter(request.POST, zone))
    say_done(
        request,
        ngettext("{count:,} record changed in your draft.", "{count:,} records changed in your draft.", count),
        count=count,
    )
    return open_page(request, f"{reverse('zone-detail', args=[zone.name])}?in=draft")


def _open(request: PanelRequest, zone: Zone) -> HttpResponse:
    """Show the text of the selected records, otherwise the filtered records, otherwise the whole zone."""
    if request.method == "POST":
        selection = selection_of(request, zone)
        if selection is None:
            messages.warning(request, gettext("No records selected."))
            return redirect(address_with_filter(request.POST, zone))
    else:
        selection = Selection(filters=filters_of(request.GET))
    if selection.filters == EVERYTHING:
        selection = None
    try:
        with searching_for(selection.filters.text if selection and selection.filters else ""):
            made = zone_text.text_of(
                zone=zone, author=request.user, selection=selection, default_ttl=default_ttl(request, zone)
            )
    except (TooLarge, TooMany):
        return _page(request, zone, {"is_too_large": True}, 200)
    context = {
        "text": made.text,
        "base": made.text,
        "revision": zone.revision,
        "whole": "1" if selection is None else "",
        "rrsets": made.rrsets,
        "hidden": made.hidden,
    }
    return _page(request, zone, context, 200)


def _answer(request: PanelRequest, zone: Zone, edited: EditedText, *, status: int, error: str = "") -> HttpResponse:
    """Show the errors in the text. A page that already has the text receives only the errors."""
    context = {"edited": edited, "error": error, "may_save": not (edited.faults or error)}
    if is_fragment(request):
        return render(request, "editor/_text_findings.html", {"zone": zone, **context}, status=status)
    typed = {name: request.POST.get(name, "") for name in ("text", "base", "revision", "whole")}
    return _page(request, zone, {**typed, **context}, status)


def _page(request: PanelRequest, zone: Zone, more: dict[str, object], status: int) -> HttpResponse:
    parameters = request.POST if request.method == "POST" else request.GET
    filters = [(name, parameters[name]) for name in FILTER_NAMES if parameters.get(name)]
    context = {
        "filters": filters,
        "back": address_with_filter(parameters, zone),
        "most_rrsets": MOST_RRSETS,
        "longest_text": LONGEST_TEXT,
        **more,
    }
    return render_zone(request, zone, "records", "editor/text.html", context, status)


def _too_long() -> str:
    return gettext("The text can have at most {longest_text:,} characters. Import longer texts as a file.").format(
        longest_text=LONGEST_TEXT
    )
