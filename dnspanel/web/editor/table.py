"""Views of the zone editor: the table of RRsets, quick add, and notices of other people's revisions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.accounts.people.list_looks import ListName
from dnspanel.database.statement_time import searching_for
from dnspanel.fleet.reads.queries import watched_statuses
from dnspanel.texts import gettext, gettext_lazy, joined
from dnspanel.web.editor.lines.additions import FALLBACK_TTL, Addition, Occupied, add_entry
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import AmbiguousName, Reading, read_line
from dnspanel.web.editor.ptr import PtrTick, follow, is_ticked, tick_for
from dnspanel.web.editor.rows.blocking import blocking_of, with_blocking
from dnspanel.web.editor.rows.row_answers import with_answers
from dnspanel.web.editor.rows.row_expiries import with_expiries
from dnspanel.web.editor.rows.row_revisions import with_revisions
from dnspanel.web.editor.rows.row_rights import with_rights
from dnspanel.web.editor.rows.row_uses import with_uses
from dnspanel.web.editor.rows.type_filter import TYPE_NAMES, types_of
from dnspanel.web.editor.zone_head import focus_after, render_zone, with_draft_state
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.frame.rows import DisplayRow, capitalize, display_rows, row_id
from dnspanel.web.frame.saved_views import look_in
from dnspanel.web.frame.sorting import LONGEST_SORT, Column
from dnspanel.web.frame.sorting import heads as heads_of
from dnspanel.web.frame.sync import sync_of_zone
from dnspanel.zones.complaints.warned import warned_rrset_page
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import queries, rrset_order, rrset_pages
from dnspanel.zones.lists.rrset_pages import RRsetFilter, RRsetPage
from dnspanel.zones.lists.zone_marks import note_visit
from dnspanel.zones.log.history import HistoryRow
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan.merge import Edit
from dnspanel.zones.plan.plan import plan_zones
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Severity, Violation
from dnspanel.zones.search.queried_rrsets import MOST_DAYS, counting_now
from dnspanel.zones.search.terms import FILTERS
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset, make
from replication.errors import ReplicationError

ROWS_PER_PAGE = 100
WEEK = timedelta(weeks=1)
FILTER_NAMES = ("q", "type", "in", "changed", "queried")  # the parameters that `filters_of` reads
COLUMNS = (
    Column(rrset_order.RRsetColumn.NAME, gettext_lazy("Name"), "col-name"),
    Column(rrset_order.RRsetColumn.TYPE, gettext_lazy("Type"), "col-type"),
    Column(rrset_order.RRsetColumn.TTL, "TTL", "num col-ttl"),
    Column(rrset_order.RRsetColumn.VALUE, gettext_lazy("Values"), "col-values"),
    Column(rrset_order.RRsetColumn.COMMENT, gettext_lazy("Comment"), "col-comment", falls=True),
    Column(rrset_order.RRsetColumn.CHANGED, gettext_lazy("Changed"), "col-acts", falls=True),
)
NOT_SORTED = gettext_lazy(
    "Sorted by name because the list is too long for other sort orders. Search or filter to sort by other columns."
)
LONGEST_LINE = 70_000  # the largest RRset that fits in an answer


# The table


@require_safe
def zone_detail(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the zone editor and record the visit. For htmx, return only the filtered table or its next rows."""
    zone = access.zone_for_reading(request.user, zone_name)
    if is_fragment(request):
        template = "editor/_rrset_rows.html" if request.GET.get("after") else "editor/_rrset_table.html"
        return render(request, template, {"zone": zone, **_table(request, zone)})
    note_visit(zone=zone, person=request.user)
    return _detail_page(request, zone)


def _detail_page(request: PanelRequest, zone: Zone, *, quick: "Quick | None" = None, status: int = 200) -> HttpResponse:
    shadows, has_more = nesting.shadows_of(zone)
    context = {
        "types": types_of(zone, request.user),
        "all_types": TYPE_NAMES,
        "quick": quick or Quick(),
        "shadowing": sorted(set(shadows.values())),
        "more_shadowing": has_more,
        **_table(request, zone),
    }
    return render_zone(request, zone, "records", "editor/detail.html", context, status)


def _table(request: PanelRequest, zone: Zone) -> dict[str, object]:
    """Return the template context of one page of rows, filtered, and sorted as requested unless there are too many."""
    order = rrset_order.rrset_order_of(request.GET.get("sort", "")[:LONGEST_SORT])
    at = _name_at(request, zone) if order == rrset_order.AS_EDITED else ""
    after = request.GET.get("after", "") or (rrset_pages.place_before(zone, at) if at else "")
    filters = filters_of(request.GET)
    with_warnings = request.GET.get("in") == "warnings"
    not_sorted = ""
    messages: Mapping[Key, str] = {}
    if filters.search.warnings and not filters.search.faults:
        order = rrset_order.AS_EDITED
        with searching_for(filters.search or filters.changed_since):
            found = warned_rrset_page(
                zone=zone, author=request.user, filters=filters, now=timezone.now(), after=after, limit=ROWS_PER_PAGE
            )
        page, messages = found.rows, found.messages
    elif with_warnings and access.may_edit_here(request.user, zone):
        keys = blocking_of(request, zone).keys_with_warnings
        page = rrset_pages.RRsetPage(tuple(rrset_pages.rrset_rows(zone=zone, author=request.user, keys=keys)), "")
        order = rrset_order.AS_EDITED
    else:
        with searching_for(filters.search or filters.changed_since):
            try:
                page = _page_of(request, zone, filters, order, after)
            except rrset_order.TooManyToSort:
                not_sorted, order = NOT_SORTED, rrset_order.AS_EDITED
                page = _page_of(request, zone, filters, order, "")
    sort = "" if order == rrset_order.AS_EDITED else request.GET["sort"]
    heads = heads_of(COLUMNS, sort, request.GET, _refusals(zone, filters))
    rows = with_expiries(zone, with_answers(zone, display_rows(zone.name, page.rows)))
    rows = with_revisions(zone, rows, always=order.column is rrset_order.RRsetColumn.CHANGED)
    counting = counting_now() if settings.COUNT_QUERIES else None
    rows = with_uses(zone, rows, counting) if counting else rows
    return {
        "rows": _with_messages(with_blocking(request, zone, with_rights(request.user, zone, rows)), messages),
        "next_after": page.next_after,
        "sort": sort,
        "heads": heads,
        "look": look_in(request, ListName.RECORDS),
        "not_sorted": not_sorted,
        "filters": filters,
        "counting": counting,
        "stopped_at": names.owner_text(page.stopped_at, zone.name) if page.stopped_at else "",
        "is_first": not after,
        "starts_at": names.owner_text(at, zone.name) if at and at != zone.name else "",
        "searched": filters.search,
        "search_filters": FILTERS,
        "type_filter": request.GET.get("type", ""),
        "with_warnings": with_warnings,
        "next_query": _next_query(request, page.next_after, sort),
        "may_edit": access.may_edit_here(request.user, zone),
    }


def _with_messages(rows: Iterable[DisplayRow], messages: Mapping[Key, str]) -> list[DisplayRow]:
    """Return the rows with warnings about the published RRsets. Warnings about the draft take precedence."""
    if not messages:
        return list(rows)
    return [replace(row, warned=row.warned or capitalize(messages.get(row.row.change.key, ""))) for row in rows]


def _page_of(
    request: PanelRequest, zone: Zone, filters: RRsetFilter, order: rrset_order.RRsetOrder, after: str
) -> RRsetPage:
    return rrset_pages.sorted_rrset_page(
        zone=zone, author=request.user, order=order, filters=filters, after=after, limit=ROWS_PER_PAGE
    )


def _refusals(zone: Zone, filters: RRsetFilter) -> dict[str, str]:
    """Return the columns that this large zone can't be sorted by, with reasons, or {} for a search or drafted rows."""
    if filters.search or filters.in_draft:
        return {}
    return {
        column: gettext(
            "{capitalize}: Sorting is limited to {most:,} records. Search or filter to reduce the number of records."
        ).format(capitalize=column.capitalize(), most=most)
        for column, most in rrset_order.MOST_SORTED.items()
        if zone.rrset_count > most
    }


def _name_at(request: PanelRequest, zone: Zone) -> str:
    """Return the name where the table starts, or "" for a later page or without a valid name in the request."""
    if request.GET.get("after"):
        return ""
    try:
        name = names.parse(request.GET.get("at", ""), zone.name)
    except ReplicationError:
        return ""
    return name if names.is_within(name, zone.name) else ""


def _next_query(request: PanelRequest, next_after: str, sort: str) -> str:
    """Return the URL query for the next rows, with the current filters."""
    filters = request.GET.copy()
    for name in ("after", "at", *(() if sort else ("sort",))):
        filters.pop(name, None)
    return "&".join(part for part in (filters.urlencode(), f"after={quote(next_after, safe='')}") if part)


def filters_of(parameters: QueryDict) -> RRsetFilter:
    """Return the RRset filter from the request's parameters. An invalid type is ignored."""
    try:
        types = frozenset({rdata.type_from_text(str(parameters.get("type", "")))})
    except ReplicationError:
        types = frozenset()
    return RRsetFilter(
        text=parameters.get("q", "").strip()[:300],
        types=types,
        in_draft=parameters.get("in") == "draft",
        changed_since=timezone.now() - WEEK if parameters.get("changed") == "week" else None,
        unqueried_days=min(number_of(parameters.get("queried")), MOST_DAYS),
    )


# Other people's newer revisions


@require_safe
def zone_sync(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show the chip with the number of nodes that have acknowledged the newest revision."""
    zone = access.zone_for_reading(request.user, zone_name)
    sync = sync_of_zone(zone, watched_statuses(now=timezone.now()))
    return render(request, "editor/_sync_chip.html", {"zone": zone, "sync": sync})


@dataclass(frozen=True, slots=True)
class News:
    """Revisions since the page was loaded: the newest, and the numbers of revisions (at most 20) and changed RRsets.

    `mine` counts conflicts with the user's draft.
    """

    newest: HistoryRow
    count: int
    rrsets: int
    mine: int


@require_safe
def zone_news(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Show a notice of newer revisions. Return 204 if the page already shows all of them."""
    zone = access.zone_for_reading(request.user, zone_name)
    since, seen = number_of(request.GET.get("since")), number_of(request.GET.get("seen"))
    if zone.revision <= max(since, seen):
        return HttpResponse(status=204)
    newer = [row for row in queries.history_page(zone=zone, limit=20).rows if row.number > since]
    touched = rrset_pages.rrset_page(zone=zone, author=request.user, filters=RRsetFilter(in_draft=True), limit=500)
    news = News(
        newest=newer[0],
        count=len(newer),
        rrsets=sum(row.added + row.changed + row.removed for row in newer),
        mine=sum(row.conflict for row in touched.rows),
    )
    return render(request, "editor/_news.html", {"zone": zone, "news": news, "since": since})


def number_of(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0


# Quick add


@dataclass(frozen=True, slots=True)
class Quick:
    """Quick add's result, shown below its field: an addition, a question, or an error."""

    line: str = ""
    addition: Addition | None = None
    doubled: AmbiguousName | None = None
    occupied: Occupied | None = None
    error: str = ""
    column: int = 0
    means: str = ""
    replace: bool = False
    violations: tuple[Violation, ...] = ()
    ptr: PtrTick | None = None
    ptr_ticked: bool = False  # the checkbox's state, even while it is hidden

    @property
    def type(self) -> str:
        return rdata.type_to_text(self.addition.rrset.type) if self.addition else ""


@require_http_methods(["GET", "HEAD", "POST"])
def quick_add(request: PanelRequest, zone_name: str) -> HttpResponse:
    """Preview the effect of a typed line. A POST adds the line's record, and its PTR if ticked, to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    quick = _understand(request, zone)
    if request.method != "POST":
        if quick.addition and not quick.addition.changes_nothing:
            quick = replace(quick, violations=violations_of(request, zone, quick.addition.rrset))
        if quick.addition:
            quick = replace(quick, ptr=tick_for(request, quick.addition.rrset, [quick.addition.value]))
        return _show_quick(request, zone, quick, status=200)
    if quick.addition is None:
        return _show_quick(request, zone, quick, status=422)
    if not quick.addition.changes_nothing:
        draft.replace_rrset(author=request.user, zone=zone, rrset=quick.addition.rrset, now=timezone.now())
    followed = follow(request, [_alone(quick.addition)]) if quick.ptr_ticked else ""
    return _added_response(request, zone, quick.addition, followed)


def _understand(request: PanelRequest, zone: Zone) -> Quick:
    """Parse the line in the request. Return its effect on the RRset in the author's draft, or the error."""
    parameters = request.POST if request.method == "POST" else request.GET
    quick = Quick(
        line=parameters.get("line", "")[:LONGEST_LINE],
        means=parameters.get("means", ""),
        replace=parameters.get("replace") == "yes",
        ptr_ticked=is_ticked(request),
    )
    if not quick.line.strip() and request.method != "POST":
        return quick
    try:
        means = Reading(quick.means) if quick.means in set(Reading) else None
        entry = read_line(quick.line.strip(), zone.name, means=means)
        now = rrset_pages.rrset_row(zone=zone, author=request.user, name=entry.name, type=entry.type).change.after
        ttl = default_ttl(request, zone) if entry.ttl is None and now is None else FALLBACK_TTL
        return replace(quick, addition=add_entry(entry, now, ttl, replace=quick.replace))
    except Unreadable as exc:
        return replace(quick, error=exc.message, column=exc.column)
    except AmbiguousName as exc:
        return replace(quick, doubled=exc)
    except Occupied as exc:
        return replace(quick, occupied=exc)
    except ReplicationError as exc:
        return replace(quick, error=capitalize(str(exc)))


def violations_of(request: PanelRequest, zone: Zone, *rrsets: RRset) -> tuple[Violation, ...]:
    """Check these RRsets with the draft's first ROWS_PER_PAGE changes. Return the owners' violations, except notes."""
    filters = RRsetFilter(in_draft=True)
    drafted = rrset_pages.rrset_page(zone=zone, author=request.user, filters=filters, limit=ROWS_PER_PAGE).rows
    keys = {(rrset.name, rrset.type) for rrset in rrsets}
    edits = [Edit(row.change) for row in drafted if row.change.key not in keys]
    for rrset in rrsets:
        published = rrset_pages.rrset_row(
            zone=zone, author=request.user, name=rrset.name, type=rrset.type
        ).change.before
        edits.append(Edit(Change(rrset.name, rrset.type, published, rrset)))
    [plan] = plan_zones({zone.pk: (zone, edits)}, timezone.now(), author=request.user)
    owners = {rrset.name for rrset in rrsets}
    return tuple(v for v in plan.violations if v.name in owners and v.severity != Severity.NOTE)


def default_ttl(request: PanelRequest, zone: Zone) -> int:
    """Return the TTL for a new RRset: the zone's default, otherwise the drafted SOA's TTL, otherwise FALLBACK_TTL."""
    if zone.default_ttl is not None:
        return zone.default_ttl
    soa = rrset_pages.rrset_row(zone=zone, author=request.user, name=zone.name, type=rdtypes.SOA).change.after
    return soa.ttl if soa else FALLBACK_TTL


def _show_quick(request: PanelRequest, zone: Zone, quick: Quick, *, status: int) -> HttpResponse:
    if not is_fragment(request):
        return _detail_page(request, zone, quick=quick, status=status)
    response = render(request, "editor/_quick_below.html", {"zone": zone, "quick": quick}, status=status)
    if status == 422:
        has_question = quick.doubled or quick.occupied
        focus_after(response, "#quick-below button" if has_question else "#quick-line")
    return response


def _alone(addition: Addition) -> RRset:
    """Return the RRset with only the added value, because the checkbox "PTR too" is about this value."""
    rrset = addition.rrset
    return make(rrset.name, rrset.type, rrset.ttl, [addition.value])


def _added_response(request: PanelRequest, zone: Zone, addition: Addition, followed: str) -> HttpResponse:
    rrset = addition.rrset
    message = (
        gettext("{name} {type} already has this value")
        if addition.changes_nothing
        else gettext("{name} {type} added to draft")
    ).format(name=names.owner_text(rrset.name, zone.name), type=rdata.type_to_text(rrset.type))
    if followed:
        message = joined("; ", (message, followed))
    if not is_fragment(request):
        say_done(request, f"{message}.")
        return redirect(f"{reverse('zone-detail', args=[zone.name])}#{row_id(rrset.name, rrset.type)}")
    response = HttpResponse(table_rows(request, zone, [(rrset.name, rrset.type)]))
    response.write(
        render_to_string(
            "editor/_quick_below.html",
            {"zone": zone, "added": addition, "message": message, "quick": Quick(ptr_ticked=is_ticked(request))},
            request,
        )
    )
    with_draft_state(request, zone, response, speak=message)
    return focus_after(response, "#quick-line")


def table_rows(request: PanelRequest, zone: Zone, rrsets: list[tuple[str, int]]) -> str:
    """Render rows for the table as an htmx out-of-band fragment. `editor.js` inserts each row by its sort key."""
    rows = [rrset_pages.rrset_row(zone=zone, author=request.user, name=name, type=type) for name, type in rrsets]
    display = with_answers(zone, [DisplayRow(zone.name, row) for row in rows])
    if settings.COUNT_QUERIES:
        display = with_uses(zone, display, counting_now())
    display = with_blocking(request, zone, with_expiries(zone, display))
    return render_to_string("editor/_rows_out_of_band.html", {"zone": zone, "rows": display, "may_edit": True}, request)
