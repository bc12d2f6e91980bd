"""Views that list and create zones. The editor's views are in `editor`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.people.list_looks import ListName
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import allowed_servers
from dnspanel.transfer.zone_templates import use
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import PanelRequest, say, say_done
from dnspanel.web.frame.near_quotas import near_quotas
from dnspanel.web.frame.new_zone_forms import MOST_REFUSALS, NewZoneForm
from dnspanel.web.frame.read_once import statuses_of
from dnspanel.web.frame.saved_views import look_in
from dnspanel.web.frame.sorting import LONGEST_SORT, Column
from dnspanel.web.frame.sorting import heads as heads_of
from dnspanel.web.frame.sync import Sync, sync_of, sync_of_zone
from dnspanel.web.frame.totals import text_of_zones
from dnspanel.web.frame.variable_fields import VariablesForm
from dnspanel.web.row_patterns import PatternRow
from dnspanel.web.templatetags.panel import ago, count, idn
from dnspanel.web.zones.from_template import Beginning, beginning, templates_to_choose_from, using_of, with_records
from dnspanel.zones import errors
from dnspanel.zones.acting import Acting
from dnspanel.zones.lists import queries
from dnspanel.zones.models import TRASH_DAYS, Channel, Publication
from dnspanel.zones.order.zone_order import BY_NAME, ZoneColumn, ZoneOrder, order_of
from dnspanel.zones.publishing import delegation, edit
from dnspanel.zones.publishing.new_names import refusals_of
from dnspanel.zones.rights import access
from dnspanel.zones.runs import change_run_queries
from dnspanel.zones.runs.policy_runs import may_begin_runs
from dnspanel.zones.search.terms import FILTERS, Search, parse
from dnspanel.zones.search.warned_zones import unchecked_zones
from dnspanel.zones.search.zone_conditions import refuse_too_general
from replication.dns import names, rdata
from replication.dns.rrset import RRset

MOST_OFFERS = 10  # of reverse zones
MOST_LINES = 60  # of a preview
MOST_TRACES = 8  # of a delegation
LONGEST_NAME = 1100

COLUMNS = (
    Column(ZoneColumn.NAME, gettext_lazy("Name")),
    Column(ZoneColumn.DNSSEC, "DNSSEC", "col-dnssec"),
    Column(ZoneColumn.RRSETS, "RRsets", "num col-rrsets", falls=True),
    Column(ZoneColumn.SERIAL, gettext_lazy("Serial"), "num col-serial", falls=True),
    Column(ZoneColumn.CHANGED, gettext_lazy("Revision"), "col-changed", falls=True),
    Column(ZoneColumn.AUTHOR, gettext_lazy("Author"), "col-author"),
    Column(ZoneColumn.SYNC, gettext_lazy("On nodes"), "col-sync", falls=True),
    Column(ZoneColumn.TEAM, gettext_lazy("Team")),
)


@dataclass(frozen=True)
class ListedZone(PatternRow):
    """A zone in the list, with its state on the nodes."""

    SHAPED_BY = ("readable", "team", "tags", "is_signed", "changed_by", "sync")
    FILLED_IN = ("id", "name", "address", "rrsets", "serial", "revision", "age")

    zone: queries.ZoneRow
    sync: Sync

    id = property(attrgetter("zone.id"))
    name = property(attrgetter("zone.name"))
    team = property(attrgetter("zone.team"))
    tags = property(attrgetter("zone.tags"))
    is_signed = property(attrgetter("zone.is_signed"))
    serial = property(attrgetter("zone.serial"))
    revision = property(attrgetter("zone.revision"))
    changed_by = property(attrgetter("zone.changed_by"))

    @property
    def readable(self) -> str:
        """The zone's name in Unicode if it contains Punycode, otherwise empty."""
        return idn(self.zone.name)

    @property
    def address(self) -> str:
        return reverse("zone-detail", args=[self.zone.name])

    @property
    def rrsets(self) -> str:
        return count(self.zone.rrset_count)

    @property
    def age(self) -> str:
        """The time since the zone's last change, as HTML."""
        return ago(self.zone.changed_at)


@dataclass(frozen=True, slots=True)
class FirstZone:
    """A preview of the first new zone, and the number of other new zones."""

    name: str
    rrsets: tuple[RRset, ...]
    others: int

    @property
    def lines(self) -> list[str]:
        """The zone's first MOST_LINES records in zone-file syntax."""
        return self._lines[:MOST_LINES]

    @property
    def more(self) -> int:
        return max(0, len(self._lines) - MOST_LINES)

    @property
    def _lines(self) -> list[str]:
        return [
            f"{names.owner_text(each.name, self.name)} {each.ttl} {rdata.type_to_text(each.type)} {text}"
            for each in self.rrsets
            for text in each.rdata
        ]


@require_safe
def zone_list(request: PanelRequest) -> HttpResponse:
    """List all zones, or those that match a search. htmx gets only the list or its next rows."""
    search = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    searched = parse(search)
    sort = request.GET.get("sort", "")[:LONGEST_SORT]
    order = queries.order_for(searched, order_of(sort))
    heads = heads_of(COLUMNS, sort if order != BY_NAME else "", request.GET)
    page, too_general = _search_page(request, search, searched, order)
    target = request.htmx.target if request.htmx else None
    is_list = target != "zone-more"
    among = access.zones_visible_to(request.user)
    total = text_of_zones(page, among, search, after=request.GET.get("after", "")) if is_list else ""
    context = {
        "total": total,
        "zones": with_sync(page.rows, statuses_of(request)),
        "next_after": page.next_after,
        "sort": "" if order == BY_NAME else sort,
        "heads": heads,
        "look": look_in(request, ListName.ZONES),
        "looked_to": page.looked_to,
        "search_text": search,
        "searched": searched,
        "too_general": too_general,
        "unchecked": unchecked_zones(searched),
        "filters": FILTERS,
        "may_change": change_run_queries.may_begin_runs(request.user),
        "may_sign": may_begin_runs(request.user),
    }
    status = 422 if too_general or searched.faults else 200
    if target == "zone-more":
        return render(request, "zones/_zone_rows.html", context)
    if target == "zone-list":
        response = render(request, "zones/_zone_list.html", context, status=status)
        return say(response, speak=too_general or total)
    return render(request, "zones/list.html", context, status=status)


def _search_page(
    request: PanelRequest, search: str, searched: Search, order: ZoneOrder
) -> tuple[queries.ZonePage, str]:
    """Return the requested page of the list, and an error message if the search is too general."""
    try:
        with searching_for(search):
            refuse_too_general(searched)
            after = request.GET.get("after", "")
            return queries.zone_page(user=request.user, search=search, order=order, after=after), ""
    except SearchTooGeneral as exc:
        return queries.ZonePage((), ""), str(exc)


def with_sync(rows: Sequence[queries.ZoneRow], statuses: Sequence[NodeStatus]) -> list[ListedZone]:
    """Return the zones with their state on the nodes.

    The state is computed once per sequence, except for unserved zones and zones with unanswered ALIAS or LUA records.
    """
    syncs = {sequence: sync_of(sequence, statuses) for sequence in {row.sequence for row in rows}}
    special = {zone for status in statuses for zone, *_ in status.node.unanswered}
    special |= {row.name for row in rows if not row.is_served}
    return [
        ListedZone(row, sync_of_zone(row, statuses) if row.name in special else syncs[row.sequence]) for row in rows
    ]


@require_http_methods(["GET", "HEAD", "POST"])
def zone_new(request: PanelRequest) -> HttpResponse:
    """Show the form for new zones. htmx gets a preview, or the fields of a template. A POST creates the zones.

    A POST that chooses a reverse zone or a template only shows the form again.
    """
    if not access.may_create_zones(request.user):
        raise access.Forbidden(Permission.EDIT)
    if request.method != "POST":
        if request.htmx:
            return _new_zone_preview(request)
        of_query = {"names": request.GET.get("names", "")[:LONGEST_NAME], "template": request.GET.get("template", "")}
        initial = NewZoneForm.defaults() | of_query | {"delegate": "delegate" in request.GET}
        return _new_zone_page(request, _new_zone_form(request, initial=initial))
    form = _new_zone_form(request, request.POST)
    if chosen := request.POST.get("reverse", "").strip():
        return _new_zone_page(request, _as_typed(request, form, names=form.names_with(chosen)))
    if "choose" in request.POST:
        return _new_zone_page(request, _as_typed(request, form))
    begins = _begins(request, form)
    publication = _create(form, begins, request) if form.is_valid() else None
    if publication is None:
        refuse_names(form, request)
        return _new_zone_page(request, form, begins, status=422)
    return go_to_new_zones(request, form, publication)


def _new_zone_form(request: PanelRequest, *args: Any, **kwargs: Any) -> NewZoneForm:
    templates, sets = templates_to_choose_from(request.user)
    return NewZoneForm(*args, author=request.user, templates=templates, sets=sets, **kwargs)


def _as_typed(request: PanelRequest, form: NewZoneForm, **changed: str) -> NewZoneForm:
    """Return a new, unvalidated form with the typed values. `changed` replaces some of them."""
    typed = {name: form.data.get(name, "") for name in form.fields}
    return _new_zone_form(request, initial=typed | changed)


def _begins(request: PanelRequest, form: NewZoneForm) -> Beginning:
    if form.is_bound:
        return beginning(request.user, form.data.get("template"), form.data, is_sent=True)
    return beginning(request.user, form.initial.get("template"), request.POST, is_sent=False)


def _create(form: NewZoneForm, begins: Beginning, request: PanelRequest) -> Publication | None:
    """Create the zones. If this is rejected, add the errors to the form or the template's form, and return None."""
    using = using_of(begins)
    zones = form.cleaned_data["zones"] if using is None else with_records(using, begins, form)
    if form.errors or (begins.variables is not None and begins.variables.errors):
        return None
    terms: dict[str, Any] = {
        "zones": zones,
        "acting": Acting(request.user, Channel.WEB, timezone.now(), form.cleaned_data["reason"], form.id),
        "team": form.cleaned_data.get("team"),
        "server_set": form.cleaned_data["server_set"],
    }

    def create() -> Publication:
        if using is None:
            return edit.create_zones(**terms)
        return use.create_zones_from(use=using, keep=form.cleaned_data["keep"], **terms)

    with form.catching(errors.RuleViolations, at="template"):
        return created_or_refused(form, create)
    return None


def go_to_new_zones(request: PanelRequest, form: NewZoneForm, publication: Publication) -> HttpResponse:
    """Draft the delegations of the new zones if selected. Redirect to the zone, or to the publication if several."""
    created = form.cleaned_data["names"]
    if form.cleaned_data["delegate"]:
        _delegate(request, created)
    if len(created) > 1:
        say_done(request, gettext("{created:,} zones created."), created=len(created))
        return redirect("publication", publication.sequence)
    say_done(request, gettext("{created} created. The nodes are being updated."), created=created[0])
    return redirect("zone-detail", created[0])


def created_or_refused(form: NewZoneForm, create: Callable[[], Publication]) -> Publication | None:
    """Call `create` and return the publication. If it is refused, add the errors to the form and return None."""
    try:
        return create()
    except (errors.NameRefused, errors.QuotaExceeded, errors.KeptBack, errors.Locked, errors.HookRefused) as exc:
        form.refuse("names", str(exc))
    except errors.NamesRefused as exc:
        for refusal in list(exc.refusals.values())[:MOST_REFUSALS]:
            form.refuse("names", str(refusal))
    return None


def refuse_names(form: NewZoneForm, request: PanelRequest) -> None:
    """Add the errors of all rejected names to the form, not only the first. At most MOST_REFUSALS errors are shown."""
    told = list(form.errors.get("names", []))
    found = [str(refusal) for refusal in refusals_of(form.readable_names, request.user).values()]
    for message in [each for each in found if each not in told][: max(0, MOST_REFUSALS - len(told))]:
        form.refuse("names", message)


def _delegate(request: PanelRequest, zone_names: Sequence[str]) -> None:
    """Draft the new zones' delegations. Add a message that names the parent zones, or explains why there are none."""
    drafted = delegation.draft_delegations(zone_names=zone_names, author=request.user, now=timezone.now())
    if drafted:
        where = ", ".join(zone.name for zone in drafted[:3]) + (", …" if len(drafted) > 3 else "")
        say_done(
            request, gettext("The delegation in {where} was added to your draft. Review and publish it."), where=where
        )
    else:
        messages.info(
            request,
            gettext(
                "No delegation was added because you can’t edit a parent zone in this panel, or the delegation "
                "already exists."
            ),
        )


def _new_zone_page(
    request: PanelRequest, form: NewZoneForm, begins: Beginning | None = None, status: int = 200
) -> HttpResponse:
    begins = _begins(request, form) if begins is None else begins
    preview = _preview(_new_zone_form(request, form.data or form.initial), begins)
    if form.is_bound:
        del preview["refusals"]  # the form shows them at the field
    context = {
        "form": form,
        "variables": begins.variables,
        "near_quotas": near_quotas(request.user, Kind.ZONES),
        "may_transfer": allowed_servers.may_read_servers(request.user),
        **preview,
    }
    return render(request, "zones/new.html", context, status=status)


def _new_zone_preview(request: PanelRequest) -> HttpResponse:
    """Render a preview of the new zones, or the fields for the variables of a newly chosen template."""
    form = _new_zone_form(request, request.GET)
    begins = _begins(request, form)
    if request.htmx.target == "new-variables":
        unsent = beginning(request.user, request.GET.get("template"), request.GET, is_sent=False)
        return render(request, "zones/_new_variables.html", {"variables": unsent.variables, "form": form})
    return render(request, "zones/_new_preview.html", _preview(form, begins))


def _preview(form: NewZoneForm, begins: Beginning) -> dict[str, object]:
    first = _first_zone(form, begins)
    refusals = [str(refusal) for refusal in refusals_of(form.readable_names, form.author).values()]
    return {
        "first": first,
        "days": TRASH_DAYS,
        "offers": form.reverse_offers()[:MOST_OFFERS],
        "refusals": refusals[:MOST_REFUSALS],
        "more_refusals": max(0, len(refusals) - MOST_REFUSALS),
    }


def _first_zone(form: NewZoneForm, begins: Beginning) -> FirstZone | None:
    """Return a preview of the first new zone, or None without a valid name. A template with errors is ignored."""
    form.is_valid()
    zones = form.cleaned_data["zones"]
    if not zones:
        return None
    zone, using = zones[0], None if begins.variables is None else using_of(_copy_of(begins))
    rrsets = tuple(zone.rrsets or ())
    if using is not None:
        with_template, faults = use.with_template(using, zone)
        rrsets = rrsets if faults else tuple(with_template.rrsets or ())
    return FirstZone(zone.name, rrsets, len(zones) - 1)


def _copy_of(begins: Beginning) -> Beginning:
    """Return a copy with a new form, so that a preview can validate the form without showing its errors."""
    assert begins.variables is not None
    typed = begins.variables.data or begins.variables.initial
    return Beginning(begins.template, VariablesForm(typed, variables=begins.variables.variables))
