"""View that searches all zones and RRsets that a user is allowed to see."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.read_once import statuses_of
from dnspanel.web.frame.rows import DisplayRow, row_address
from dnspanel.web.frame.totals import text_of_records, text_of_zones
from dnspanel.web.zones.pages import with_sync
from dnspanel.web.zones.search_offers import exact_url
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.rights import access
from dnspanel.zones.search.everywhere import Found, FoundPage, place_of, rrsets_found
from dnspanel.zones.search.terms import FILTERS, Search, parse
from dnspanel.zones.search.zone_conditions import refuse_too_general
from replication.dns.rrset import Change

MOST_ZONES = 5  # above the records; the zone list shows all
BESIDE_RECORDS = 4  # search only a quarter of the zones that the zone list would search
ROWS_PER_PAGE = 50
# At least one for each filter, the most common first: a phone shows only the first five.
EXAMPLES = (
    "type:mx ttl:<300 changed:<7d tag:shop -type:txt has:192.0.2.7 has:warning dnssec:signed sync:late name:www "
    "value:harbour comment:old zone:shop team:web owner:ana primary:elsewhere serial:2026113001"
)


@dataclass(frozen=True, slots=True)
class DisplayFound:
    """An RRset in the search results, with its zone and the URL of its row."""

    zone_name: str
    row: DisplayRow
    url: str
    complaint: str


@require_safe
def search(request: PanelRequest) -> HttpResponse:
    """Show the zones and RRsets that match a search. htmx gets only the next rows.

    If `open` is "exact", as sent by the search box, redirect to the zone or record with exactly this name, if any.
    """
    text = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    if request.GET.get("open") == "exact" and (url := exact_url(request.user, text)):
        return redirect(url)
    searched = parse(text)
    zones, page, too_general = _search_pages(request, text, searched)
    context = {
        "search_text": text,
        "searched": searched,
        "filters": FILTERS,
        "examples": EXAMPLES.split(),
        "shorter": _shorter_searches(searched),
        "zones": with_sync(zones.rows, statuses_of(request)) if zones.rows else [],
        "more_zones": bool(zones.next_after),
        "zone_total": text_of_zones(zones, access.zones_visible_to(request.user), text) if zones.rows else "",
        "record_total": text_of_records(len(page.rows), is_part=bool(page.next_after or request.GET.get("after"))),
        "zones_looked_to": zones.looked_to,
        "rows": [_display_found(found) for found in page.rows],
        "next_after": page.next_after.to_text() if page.next_after else "",
        "looked_to": page.looked_to,
        "left_out": page.left_out,
        "unchecked": page.unchecked,
        "is_first": not request.GET.get("after"),
        "too_general": too_general,
        "may_change": access.may_edit(request.user),
    }
    target = request.htmx.target if request.htmx else None
    status = 422 if too_general or searched.faults else 200
    if target == "found-more":
        return render(request, "zones/_found_rows.html", context)
    return render(request, "zones/search.html", context, status=status)


def _search_pages(request: PanelRequest, text: str, searched: Search) -> tuple[queries.ZonePage, FoundPage, str]:
    """Return zones (only on the first page), a page of RRsets, and an error message if the search is too general."""
    zones = queries.ZonePage((), "")
    after = place_of(request.GET.get("after", ""))
    try:
        with searching_for(text):
            if not request.GET.get("after") and _asks_for_zones(searched):
                refuse_too_general(searched)
                zones = queries.zone_page(user=request.user, search=text, limit=MOST_ZONES, part=BESIDE_RECORDS)
            page = rrsets_found(
                person=request.user, search=searched, now=timezone.now(), after=after, limit=ROWS_PER_PAGE
            )
            return zones, page, ""
    except SearchTooGeneral as exc:
        return zones, FoundPage((), None), str(exc)


def _shorter_searches(searched: Search) -> list[tuple[str, str]]:
    """Return each word or filter of the search with the search without it. Return [] for a search of one word."""
    typed = [term.typed for term in searched.terms]
    return [(typed[at], " ".join(typed[:at] + typed[at + 1 :])) for at in range(len(typed)) if len(typed) > 1]


def _asks_for_zones(searched: Search) -> bool:
    """Return True if the search can match zones. A search with only record filters can't."""
    return bool(searched.words or searched.about_zones)


def _display_found(found: Found) -> DisplayFound:
    rrset = found.rrset
    row = DisplayRow(found.zone.name, rrset_pages.RRsetRow(Change(rrset.name, rrset.type, rrset, rrset)))
    url = row_address(found.zone.name, rrset.name, rrset.type)
    return DisplayFound(found.zone.name, row, url, found.complaint)
