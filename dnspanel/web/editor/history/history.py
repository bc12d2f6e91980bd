"""Views that show, compare and download the revisions of a zone or an RRset, and that revert or restore revisions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.database.statement_time import searching_for
from dnspanel.downloads import file_response
from dnspanel.texts import gettext
from dnspanel.transfer.exports import bind
from dnspanel.transfer.exports.exported_rows import ExportedZone, soa_first
from dnspanel.web.editor.history.days import day_of
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import Reading, read_owner
from dnspanel.web.editor.rrsets import require_rrset
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.read_once import statuses_of
from dnspanel.web.frame.row_diffs import DisplayDiff, display_diffs
from dnspanel.web.frame.sync import Sync, sync_of
from dnspanel.zones.dnssec import queries as dnssec
from dnspanel.zones.errors import CannotUndo, RevisionUnknown
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.log.history import (
    HistoryFilters,
    HistoryRow,
    RRsetDiff,
    diff,
    revision_changes,
    rrset_history,
    rrsets_at,
)
from dnspanel.zones.models import Channel, Revision, RevisionKind, Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.publishing.expiry import expiry_of
from dnspanel.zones.rights import access
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns import names, rdata
from replication.dns.rrset import Change, RRset, format_notes

REVISIONS_PER_PAGE = 50
LONGEST_NAME = 1100  # escapes included
_FILTERS = ("author", "channel", "name", "since", "until")
MOST_DIFFS = 1000
MOST_IN_A_FILE = 100_000
MOST_IN_MEMORY = 1 << 20  # a larger file is written to disk


@dataclass(frozen=True, slots=True)
class DisplayRevision:
    """A revision with its state on the nodes, for display in a list."""

    row: HistoryRow
    sync: Sync
    signing: tuple[str, ...] = ()  # texts about its changes to the zone's signing

    @property
    def channel(self) -> str:
        return str(Channel(self.row.channel).label)

    @property
    def can_revert(self) -> bool:
        """True if a draft can revert the revision. Signing changes are reverted on the DNSSEC page."""
        return self.row.kind == RevisionKind.CHANGE and not self.signing

    @property
    def kind(self) -> str:
        """The revision's kind as text, or "" for a change to RRsets."""
        return (
            ""
            if self.row.kind == RevisionKind.CHANGE
            else gettext("Zone {label}").format(label=RevisionKind(self.row.kind).label)
        )


@require_safe
def zone_history(request: PanelRequest, zone_name: str) -> HttpResponse:
    """List the zone's revisions, newest first. htmx fetches only the list or its next page."""
    zone = access.zone_for_reading(request.user, zone_name)
    before = request.GET.get("before", "")
    typed = {name: request.GET.get(name, "").strip()[:LONGEST_NAME] for name in _FILTERS}
    filters, fault = _filters(zone, typed)
    with searching_for("".join(typed.values())):
        page = queries.history_page(
            zone=zone,
            before=int(before) if before.isdecimal() and len(before) < 10 else None,
            limit=REVISIONS_PER_PAGE,
            filters=filters,
        )
    query = request.GET.copy()
    query.pop("before", None)
    context: dict[str, object] = {
        "revisions": [] if fault else _display(request, zone, page.rows),
        "next_before": "" if fault else page.next_after,
        "looked_down_to": page.looked_down_to,
        "typed": typed,
        "fault": fault,
        "query": query.urlencode(),
        "is_filtered": any(typed.values()),
        "is_first": not before,
        "channels": Channel.choices,
        "may_edit": access.may_edit_here(request.user, zone),
    }
    if not is_fragment(request):
        return render_zone(request, zone, "history", "editor/history.html", context)
    is_list = request.htmx.target == "revision-list"
    part = "editor/_revision_list.html" if is_list else "editor/_revision_rows.html"
    return render(request, part, {"zone": zone, **context})


def _filters(zone: Zone, typed: dict[str, str]) -> tuple[HistoryFilters, str]:
    """Return the filters from the form, and an error text if the name is invalid or outside this zone."""
    name, fault = "", ""
    if typed["name"]:
        try:
            name = read_owner(typed["name"], zone.name, means=Reading.ABSOLUTE)
        except Unreadable as exc:
            fault = exc.message
    filters = HistoryFilters(
        author=typed["author"],
        channel=typed["channel"] if typed["channel"] in Channel.values else "",
        since=day_of(typed["since"]),
        until=day_of(typed["until"], last=True),
        name=name,
    )
    return filters, fault


def _display(request: PanelRequest, zone: Zone, rows: tuple[HistoryRow, ...]) -> list[DisplayRevision]:
    statuses = statuses_of(request)
    signing = dnssec.descriptions_of_changes(zone, [row.number for row in rows])
    syncs = (sync_of(row.sequence, statuses, failed=row.failed_reason) for row in rows)
    return [
        DisplayRevision(row, sync, tuple(signing.get(row.number, ()))) for row, sync in zip(rows, syncs, strict=True)
    ]


def revision_of(zone: Zone, number: int) -> Revision:
    """Return the zone's revision with this number. Raise RevisionUnknown if it doesn't exist, or no longer."""
    found = (
        Revision.objects.select_related("publication__author", "publication__token", "zone")
        .filter(zone=zone, number=number)
        .first()
    )
    if found is None:
        raise RevisionUnknown(zone.name, number, newest=zone.revision)
    return found


@require_safe
def zone_revision(request: PanelRequest, zone_name: str, number: int) -> HttpResponse:
    """Show the changes in one revision, and the ways to revert it."""
    zone = access.zone_for_reading(request.user, zone_name)
    row = queries.history_page(zone=zone, before=number + 1, limit=1).rows
    found = revision_of(zone, number)
    changes = revision_changes(revision=found)
    [display] = _display(request, zone, row)
    context: dict[str, object] = {
        "revision": display,
        "diffs": display_diffs(zone.name, map(diff, changes[:MOST_DIFFS])),
        "left_out": max(0, len(changes) - MOST_DIFFS),
        "as_text": request.GET.get("as") == "text",
        "is_change": display.can_revert,
        "is_newest": number == zone.revision,
        "newer": number + 1 if number < zone.revision else None,
        "older": number - 1 if number > 1 else None,
    }
    return render_zone(request, zone, "history", "editor/revision.html", context)


@require_safe
def zone_compare(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the differences between two revisions, older revision first. Without two, redirect to the history."""
    zone = access.zone_for_reading(request.user, zone_name)
    numbers = sorted({int(text) for text in request.GET.getlist("r") if text.isdecimal() and len(text) < 10})
    if len(numbers) != 2:
        messages.warning(request, gettext("Select two revisions to compare."))
        return redirect("zone-history", zone.name)
    older, newer = (revision_of(zone, number) for number in numbers)
    found = list(islice(differences(zone, older.number, newer.number), MOST_DIFFS + 1))
    context: dict[str, object] = {
        "older": older,
        "newer": newer,
        "diffs": display_diffs(zone.name, found[:MOST_DIFFS]),
        "left_out": len(found) > MOST_DIFFS,
        "as_text": request.GET.get("as") == "text",
    }
    return render_zone(request, zone, "history", "editor/compare.html", context)


def differences(zone: Zone, older: int, newer: int) -> Iterator[RRsetDiff]:
    """Yield the RRsets that differ between two revisions, in canonical order. Read both revisions in parallel.

    An SOA that differs only in its serial isn't a difference.
    """

    def keyed_rrsets(number: int, side: int) -> Iterator[tuple[tuple[bytes, int], int, RRset]]:
        for rrset in rrsets_at(zone=zone, number=number):
            yield (relative_key(rrset.name, zone.name), rrset.type), side, rrset

    pending: dict[int, RRset] = {}
    pending_key: tuple[bytes, int] | None = None
    for key, side, rrset in merge(keyed_rrsets(older, 0), keyed_rrsets(newer, 1), key=lambda item: (item[0], item[1])):
        if key != pending_key:
            yield from _difference(pending)
            pending, pending_key = {}, key
        pending[side] = rrset
    yield from _difference(pending)


def _difference(sides: dict[int, RRset]) -> Iterator[RRsetDiff]:
    if sides and not soa.same(sides.get(0), sides.get(1)):
        one = next(iter(sides.values()))
        yield diff(Change(one.name, one.type, sides.get(0), sides.get(1)))


@require_safe
def record_history(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the newest revisions (at most REVISIONS_PER_PAGE) that changed one RRset."""
    zone = access.zone_for_reading(request.user, zone_name)
    name, type_ = require_rrset(request, zone)
    found = rrset_history(zone=zone, name=name, type=type_, limit=REVISIONS_PER_PAGE)
    revisions = _display(request, zone, tuple(row for row, _ in found))
    context: dict[str, object] = {
        "owner": names.owner_text(name, zone.name),
        "name": name,
        "type": rdata.type_to_text(type_),
        "changes": [
            (each, DisplayDiff(zone.name, diff), _who_url(request, zone, name, type_, each.row))
            for each, (_, diff) in zip(revisions, found, strict=True)
        ],
        "row": rrset_pages.rrset_row(zone=zone, author=request.user, name=name, type=type_),
        "expiry": expiry_of(zone, (name, type_)),
    }
    return render_zone(request, zone, "history", "editor/record_history.html", context)


def _who_url(request: PanelRequest, zone: Zone, name: str, type: int, row: HistoryRow) -> str:
    """Return the URL of the page that explains the rights over the RRset at the time when the revision was published.

    For a reader who manages users, the page explains the author's rights, otherwise the reader's own.
    """
    who = {"who": row.author} if row.author and can(request.user, Permission.PEOPLE) else {}
    at = timezone.localtime(row.at)
    query = {**who, "name": name, "type": rdata.type_to_text(type), "at": f"{at:%Y-%m-%dT%H:%M}"}
    return f"{reverse('zone-access', args=[zone.name])}?{urlencode(query)}#ask"


@require_safe
def revision_file(request: PanelRequest, zone_name: str, number: int) -> HttpResponseBase:
    """Download a revision's zone file. For a large zone, redirect to the export of the newest revision."""
    zone = access.zone_for_reading(request.user, zone_name)
    found = revision_of(zone, number)
    if zone.rrset_count > MOST_IN_A_FILE:
        messages.warning(
            request,
            gettext(
                "Old revisions of zones with more than {most_in_a_file:,} RRsets can’t be exported, but you can "
                "export the current version."
            ).format(most_in_a_file=MOST_IN_A_FILE),
        )
        return redirect("zone-export", zone.name)
    rows = (
        (
            rrset.name,
            rrset.type,
            rrset.ttl,
            list(rrset.rdata),
            list(rrset.disabled),
            rrset.comment,
            format_notes(rrset.notes),
        )
        for rrset in rrsets_at(zone=zone, number=number)
    )
    file = cast(BinaryIO, SpooledTemporaryFile(MOST_IN_MEMORY))  # noqa: SIM115  (the answer closes it)
    for lines in bind.zone_lines(ExportedZone(zone.name, found.serial, zone.rrset_count, soa_first(zone.name, rows))):
        file.write(lines.encode())
    stem = bind.file_name(zone.name).removesuffix(".zone")
    name = f"{stem}-revision-{number}.zone"
    return file_response(request, file, size=file.tell(), name=name, content_type="text/plain; charset=utf-8")


# Reverting: each view makes a draft, which is reviewed like any other draft


@require_POST
def revision_undo(request: PanelRequest, zone_name: str, number: int) -> HttpResponse:
    """Add the inverse of the revision to the user's draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    found = revision_of(zone, number)
    return _draft_and_review(
        request,
        zone,
        number,
        gettext("Revert revision {number}").format(number=number),
        lambda: revision.undo_revisions(revisions=[found], author=request.user, now=timezone.now()),
    )


@require_POST
def zone_return(request: PanelRequest, zone_name: str, number: int) -> HttpResponse:
    """Add changes to the user's draft that restore the zone to the revision."""
    zone = access.zone_for_editing(request.user, zone_name)
    return _draft_and_review(
        request,
        zone,
        number,
        gettext("Return to revision {number}").format(number=number),
        lambda: revision.restore_to(zone=zone, number=number, author=request.user, now=timezone.now()),
    )


def _draft_and_review(
    request: PanelRequest, zone: Zone, number: int, what: str, make_draft: Callable[[], object]
) -> HttpResponse:
    """Create the draft and open its review, with the reason `what`. If the draft is refused, open the revision."""
    with reporting(request, CannotUndo, access.RightMissing):
        make_draft()
        say_done(
            request,
            gettext("Draft created for {name}: {what}. Nothing changes until you publish it."),
            what=what,
            name=zone.name,
        )
        return redirect(f"{reverse('zone-review', args=[zone.name])}?{urlencode({'reason': what})}")
    return redirect("zone-revision", zone.name, number)
