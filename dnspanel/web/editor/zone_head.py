"""Render the parts that all of a zone's pages share: header, tabs, draft bar."""

import json
from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone

from dnspanel.accounts.actors.actors import Right
from dnspanel.texts import ngettext
from dnspanel.web.editor.rows.blocking import Blocking, blocking_of
from dnspanel.web.editor.rows.type_filter import types_of
from dnspanel.web.editor.transferred_from import DisplayTransfer, transfer_of
from dnspanel.web.frame.layout import PanelRequest, say
from dnspanel.web.frame.read_once import draft_counts_of, statuses_of
from dnspanel.web.frame.sync import Sync, sync_of_zone
from dnspanel.zones.governance.publish_guards import Rules
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.zone_marks import is_pinned
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.requests.request_lists import ZoneCalendar, calendar_of
from dnspanel.zones.rights import access
from dnspanel.zones.rights.lock_rules import locks_against


@dataclass(frozen=True, slots=True)
class ZoneHead:
    """A zone with the reader's rights, its state on the nodes, and its drafts."""

    zone: Zone
    tab: str
    may_edit: bool
    may_delete: bool
    may_set: bool  # tags and team
    may_clone: bool
    draft: queries.DraftCounts | None
    changes_elsewhere: int
    others: tuple[tuple[str, int], ...]
    sync: Sync
    blocking: Blocking
    is_pinned: bool
    lock: Lock | None  # a lock of the whole zone that applies to the reader
    calendar: ZoneCalendar
    transfer: DisplayTransfer | None  # None unless the zone is transferred from a primary elsewhere


def zone_head(request: PanelRequest, zone: Zone, tab: str, known: Rules | None = None) -> ZoneHead:
    """Return the head of a zone's page. `known` are the rules for the zone, if the caller already has them."""
    may_edit = access.may_edit_here(request.user, zone)
    may_set = access.has_right(request.user, zone, Right.SETTINGS)
    counts = draft_counts_of(request) if may_edit else ()
    here = next((count for count in counts if count.zone_id == zone.pk), None)
    return ZoneHead(
        zone=zone,
        tab=tab,
        may_edit=may_edit,
        may_delete=access.has_right(request.user, zone, Right.DELETE_ZONE),
        may_set=may_set,
        may_clone=access.may_create_zones(request.user),
        draft=here,
        changes_elsewhere=sum(count.total for count in counts) - (here.total if here else 0),
        others=queries.others_drafting(zone=zone, author=request.user) if may_edit else (),
        sync=sync_of_zone(zone, statuses_of(request)),
        blocking=blocking_of(request, zone) if may_edit and tab == "records" else Blocking(),
        is_pinned=is_pinned(zone, request.user),
        lock=next((lock for lock in locks_against(request.user, zone) if not lock.name), None) if may_edit else None,
        calendar=calendar_of(zone, timezone.now(), known),
        transfer=transfer_of(zone, closely=may_set),
    )


def with_draft_state(request: PanelRequest, zone: Zone, response: HttpResponse, *, speak: str = "") -> HttpResponse:
    """Append the page parts that depend on the draft to the response, as out-of-band fragments, and notify the page.

    The parts are the draft bar, the number on the tab and the filter's types. `speak` is the text to announce.
    """
    counts = queries.draft_summary(author=request.user)
    here = next((count for count in counts if count.zone_id == zone.pk), None)
    elsewhere = sum(count.total for count in counts) - (here.total if here else 0)
    context = {
        "zone": zone,
        "draft": here,
        "changes_elsewhere": elsewhere,
        "blocking": blocking_of(request, zone),
        "out_of_band": True,
    }
    response.write(render_to_string("editor/_draft_bar.html", context, request))
    types = {"types": types_of(zone, request.user), "out_of_band": True}
    if types["types"]:
        response.write(render_to_string("editor/_type_filter.html", types, request))
    total = here.total if here else 0
    spoken = (
        ngettext("{speak}, {total} change", "{speak}, {total} changes", total).format(speak=speak, total=total)
        if speak
        else ""
    )
    return say(response, speak=spoken, draft_changed=True)


def focus_after(response: HttpResponse, selector: str) -> HttpResponse:
    """Move the focus to the element that the selector finds, after htmx has inserted the fragment."""
    response["HX-Trigger-After-Settle"] = json.dumps({"focus-on": selector})
    return response


def render_zone(
    request: PanelRequest, zone: Zone, tab: str, template: str, context: dict[str, object], status: int = 200
) -> HttpResponse:
    """Render a zone's page with its head."""
    return render(request, template, {"head": zone_head(request, zone, tab), "zone": zone, **context}, status=status)
