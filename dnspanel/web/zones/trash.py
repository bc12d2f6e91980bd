"""Views of the trash: list deleted zones, show one, restore it, or delete it permanently."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Right
from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.publish.gone_zones import delete_for_good
from dnspanel.texts import gettext
from dnspanel.web.frame.forms import LONGEST_SEARCH, GoneForm
from dnspanel.web.frame.layout import PanelRequest, say, say_done
from dnspanel.web.frame.rows import display_rows
from dnspanel.web.frame.totals import text_of_zones
from dnspanel.zones.errors import NameRefused, NameTaken, NotInTrash, QuotaExceeded, StillOnItsWay
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.models import TRASH_DAYS, Channel, Zone, gone_at
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights import access
from dnspanel.zones.search.terms import FILTERS, Search, parse
from dnspanel.zones.search.zone_conditions import refuse_too_general

ROWS_PER_PAGE = 100


@dataclass(frozen=True, slots=True)
class TrashedZone:
    """A deleted zone, the time and days until its permanent deletion, and whether the user can restore it."""

    zone: queries.ZoneRow
    gone_at: datetime
    days_left: int
    may_restore: bool


@require_safe
def zone_trash(request: PanelRequest) -> HttpResponse:
    """List deleted zones, or those that match a search, most recently deleted first. htmx gets only the list."""
    now = timezone.now()
    search = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    searched = parse(search)
    page, too_general = _trash_page(request, search, searched)
    mine = access.zones_within_reach(request.user, Right.DELETE_ZONE).in_bulk([row.id for row in page.rows])
    total = text_of_zones(page, access.trash_visible_to(request.user), search, after=request.GET.get("after", ""))
    context = {
        "total": total,
        "zones": [_trashed_zone(row, now, may_restore=row.id in mine) for row in page.rows if row.deleted_at],
        "may_restore_some": bool(mine),
        "next_after": page.next_after,
        "days": TRASH_DAYS,
        "search": search,
        "searched": searched,
        "too_general": too_general,
        "filters": FILTERS,
    }
    status = 422 if too_general or searched.faults else 200
    if request.htmx and request.htmx.target == "trash-list":
        return say(render(request, "zones/_trash_list.html", context, status=status), speak=too_general or total)
    return render(request, "zones/trash.html", context, status=status)


def _trash_page(request: PanelRequest, search: str, searched: Search) -> tuple[queries.Page[queries.ZoneRow], str]:
    """Return the requested page of the trash, and an error message if the search is too general."""
    try:
        with searching_for(search):
            refuse_too_general(searched)
            after = request.GET.get("after", "")
            return queries.trash_page(user=request.user, search=search, after=after), ""
    except SearchTooGeneral as exc:
        return queries.Page((), ""), str(exc)


def _trashed_zone(row: queries.ZoneRow, now: datetime, *, may_restore: bool) -> TrashedZone:
    assert row.deleted_at is not None
    return TrashedZone(row, gone_at(row.deleted_at), max(0, TRASH_DAYS - (now - row.deleted_at).days), may_restore)


@require_safe
def zone_trashed(request: PanelRequest, zone_id: int) -> HttpResponse:
    """Show the records of a deleted zone, one page at a time."""
    zone = access.trashed_zone_for_reading(request.user, zone_id)
    return _trashed_page(request, zone, GoneForm(zone_name=zone.name))


def _trashed_page(request: PanelRequest, zone: Zone, form: GoneForm, status: int = 200) -> HttpResponse:
    assert zone.deleted_at is not None
    page = rrset_pages.rrset_page(
        zone=zone, author=request.user, after=request.GET.get("after", ""), limit=ROWS_PER_PAGE
    )
    context = {
        "zone": zone,
        "gone_at": gone_at(zone.deleted_at),
        "rows": display_rows(zone.name, page.rows),
        "next_after": page.next_after,
        "may_restore": access.has_right(request.user, zone, Right.DELETE_ZONE),
        "form": form,
    }
    return render(request, "zones/trashed.html", context, status=status)


@require_http_methods(["POST"])
def zone_gone(request: PanelRequest, zone_id: int) -> HttpResponse:
    """Permanently delete a zone in the trash if the user confirmed by typing its name."""
    zone = access.trashed_zone_for_restoring(request.user, zone_id)
    form = GoneForm(request.POST, zone_name=zone.name)
    if form.is_valid():
        with form.catching(NotInTrash, StillOnItsWay, at="typed"):
            delete_for_good(zone=zone, author=request.user, now=timezone.now())
            say_done(request, gettext("{name} deleted permanently."), name=zone.name)
            return redirect("zone-trash")
    return _trashed_page(request, zone, form, status=422)


@require_POST
def zone_restore(request: PanelRequest, zone_id: int) -> HttpResponse:
    """Restore a zone from the trash."""
    zone = access.trashed_zone_for_restoring(request.user, zone_id)
    try:
        edit.restore_zone(zone=zone, author=request.user, channel=Channel.WEB, now=timezone.now())
    except NotInTrash:
        say_done(request, gettext("{name} is already restored."), name=zone.name)
    except QuotaExceeded as exc:
        messages.error(
            request, gettext("{name} cannot be restored: {exc} Nothing was changed.").format(name=zone.name, exc=exc)
        )
        return redirect("zone-trash")
    except NameTaken:
        messages.error(
            request,
            gettext(
                "{name} can’t be restored because a zone with this name already exists. Nothing was changed."
            ).format(name=zone.name),
        )
        return redirect("zone-trash")
    except NameRefused as exc:
        messages.error(
            request, gettext("{name} cannot be restored. {exc} Nothing was changed.").format(name=zone.name, exc=exc)
        )
        return redirect("zone-trash")
    else:
        say_done(request, gettext("{name} was restored with a higher serial."), name=zone.name)
    return redirect("zone-detail", zone.name)
