"""Views that compare an old server with the panel's nodes, and show each zone's delegation checklist."""

import csv
import io
from dataclasses import dataclass
from ipaddress import ip_address
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from django import forms
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.database.field_copies import copy_fields
from dnspanel.database.first_rows import first_or
from dnspanel.downloads import file_response
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import job_rights, models
from dnspanel.transfer.cutover import delegation_checklist
from dnspanel.transfer.cutover import server_comparison as cutover_check
from dnspanel.transfer.errors import ServerRefused, WrongState
from dnspanel.transfer.exports.csv_export import safe_comment
from dnspanel.transfer.exports.exported_zones import Selection
from dnspanel.transfer.imports import queries
from dnspanel.web.exports.pages import MOST_IN_MEMORY, TONES
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, mono_field, number_field, text_field
from dnspanel.web.frame.layout import PanelRequest, is_fragment, reporting, say_done
from dnspanel.zones.models import UNFINISHED_STATES, RunState
from dnspanel.zones.rights import access
from replication.dns import names, rdata

LISTED = 30
ROWS_PER_PAGE = 100


class CutoverForm(AllOrSomeForm):
    """The form for the old server, the zones to compare, and the resolver that finds the parents' name servers."""

    all_or_some = (AllOrSome(("q",), default=ALL),)

    job = forms.IntegerField(required=False, widget=forms.HiddenInput)
    q = text_field(
        gettext_lazy("Search"),
        LONGEST_SEARCH,
        gettext_lazy("Enter part of a zone name, or has:192.0.2.7 to search values."),
    )
    server = mono_field(
        gettext_lazy("Old server"),
        100,
        gettext_lazy("IPv4 or IPv6 address of the old server."),
        required=True,
        placeholder="192.0.2.53",
    )
    port = number_field(gettext_lazy("Port"), 1, 65535, required=True, initial=53)
    resolver = mono_field(
        gettext_lazy("Resolver"),
        100,
        gettext_lazy("Finds the parent servers for the delegation checklist. Leave empty to use the panel’s resolver."),
    )
    resolver_port = number_field(gettext_lazy("Resolver port"), 1, 65535, required=True, initial=53)

    def clean_server(self) -> str:
        return _address(self.cleaned_data["server"])

    def clean_resolver(self) -> str:
        return _address(self.cleaned_data["resolver"]) if self.cleaned_data["resolver"] else ""


def _address(text: str) -> str:
    try:
        return str(ip_address(text.strip()))
    except ValueError:
        raise forms.ValidationError(gettext("Enter a valid IP address.")) from None


# Tone and icon of a checklist item.
_VERDICT_MARKS = {
    delegation_checklist.Verdict.FINE: ("ok", "check"),
    delegation_checklist.Verdict.TO_DO: ("warn", "alert"),
    delegation_checklist.Verdict.UNKNOWN: ("quiet", "minus"),
}


@dataclass(frozen=True, slots=True)
class DisplayCheck:
    """A comparison, as shown in a list or on its page."""

    check: models.CutoverCheck
    title: str
    tone: str
    icon: str
    is_unfinished: bool
    percent: int

    @property
    def page_version(self) -> str:
        """A string that changes whenever the page changes."""
        return f"{self.check.state}-{self.check.zones}"


@dataclass(frozen=True, slots=True)
class DisplayPoint:
    """An item in the delegation checklist."""

    verdict: delegation_checklist.Verdict
    message: str
    lines: tuple[str, ...]

    @property
    def tone(self) -> str:
        return _VERDICT_MARKS[self.verdict][0]

    @property
    def icon(self) -> str:
        return _VERDICT_MARKS[self.verdict][1]


@dataclass(frozen=True, slots=True)
class DisplayDifference:
    """A difference between the servers, as a table row."""

    zone: str
    owner: str
    type: str
    kind: str
    is_expected: bool
    node: str
    old: str
    new: str

    @property
    def tone(self) -> str:
        return "quiet" if self.is_expected else "warn"

    @property
    def icon(self) -> str:
        return "info" if self.is_expected else "alert"


@require_http_methods(["GET", "HEAD", "POST"])
def cutover_list(request: PanelRequest) -> HttpResponse:
    """Show the form for a new comparison and the person's recent comparisons. A POST starts a comparison."""
    access.require(request.user, Permission.EDIT)
    if request.method != "POST":
        return _list_page(request, CutoverForm(initial=_initial(request), counted_for=request.user))
    form = CutoverForm(request.POST, counted_for=request.user)
    if form.is_valid() and (check := _create(request, form)) is not None:
        return redirect("import-cutover", check.pk)
    return _list_page(request, form, status=422)


def _initial(request: PanelRequest) -> dict[str, Any]:
    """Return the form's initial values from the URL. For an import by zone transfer, include the server's address."""
    initial: dict[str, Any] = {"port": 53, "resolver_port": 53, "q": request.GET.get("q", "")}
    job_id = request.GET.get("job", "")
    if job_id.isdecimal() and len(job_id) < 10:
        job = queries.job_for(request.user, int(job_id))
        initial["job"] = job.pk
        if job.source == models.SourceKind.AXFR:
            initial |= {"server": job.parameters.get("server", ""), "port": job.parameters.get("port", 53)}
    return initial


def _import_of(request: PanelRequest, form: CutoverForm) -> models.ImportJob | None:
    job_id = str(form["job"].value() or "")
    return queries.job_for(request.user, int(job_id)) if job_id.isdecimal() and len(job_id) < 10 else None


def _create(request: PanelRequest, form: CutoverForm) -> models.CutoverCheck | None:
    """Create the comparison. If it is refused, add the error to the form and return None."""
    cleaned = form.cleaned_data
    selection = Selection(search=cleaned["q"].strip())
    job = _import_of(request, form)
    if job is None and not selection.among(access.zones_visible_to(request.user)).exists():
        form.refuse("q", gettext("No zones match."))
        return None
    with form.catching(ServerRefused, WrongState):
        return cutover_check.create_check(
            server=cleaned["server"],
            port=cleaned["port"],
            author=request.user,
            now=timezone.now(),
            job=job,
            selection=selection,
            resolver=cleaned["resolver"],
            resolver_port=cleaned["resolver_port"],
        )
    return None


def _list_page(request: PanelRequest, form: CutoverForm, status: int = 200) -> HttpResponse:
    checks = job_rights.checks_visible_to(request.user).filter(author=request.user).order_by("-pk")[:LISTED]
    context = {"form": form, "checks": [_display(check) for check in checks], "job": _import_of(request, form)}
    return render(request, "exports/cutover_list.html", context, status=status)


def _display(check: models.CutoverCheck) -> DisplayCheck:
    tone, icon = TONES[RunState(check.state)]
    title = (
        gettext("zones from “{title}”").format(title=check.job.title)
        if check.job
        else Selection.from_json(check.selection).title
    )
    percent = 100 * check.zones // check.zones_total if check.zones_total else 0
    return DisplayCheck(check, title, tone, icon, check.state in UNFINISHED_STATES, percent)


@require_safe
def cutover_detail(request: PanelRequest, check_id: int) -> HttpResponse:
    """Show a comparison's progress and findings. htmx fetches the progress, the table, or its next rows."""
    check = cutover_check.check_for(request.user, check_id)
    display = _display(check)
    target = request.htmx.target if request.htmx else None
    if is_fragment(request) and target == "cutover-progress":
        if request.GET.get("seen") == display.page_version:
            return HttpResponse(status=204)
        return render(request, "exports/_cutover_progress.html", {"display": display})
    context = {"display": display} | _differences(request, check) | _zones(check)
    if is_fragment(request) and target == "cutover-more":
        return render(request, "exports/_cutover_rows.html", context)
    if is_fragment(request) and target == "cutover-differences":
        return render(request, "exports/_cutover_differences.html", context)
    return render(request, "exports/cutover.html", context)


def _differences(request: PanelRequest, check: models.CutoverCheck) -> dict[str, Any]:
    kind, search = request.GET.get("kind", ""), request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    found = models.CutoverDifference.objects.filter(check_run=check).order_by("pk")
    if kind in models.DifferenceKind.values:
        found = found.filter(kind=kind)
    elif kind != "all":
        found = found.exclude(kind__in=models.EXPECTED_KINDS)
    for word in search.replace("\0", " ").lower().split():
        found = found.filter(name__icontains=word)
    after = request.GET.get("after", "")
    if after.isdecimal() and len(after) < 19:
        found = found.filter(pk__gt=int(after))
    rows = list(found[: ROWS_PER_PAGE + 1])
    return {
        "differences": [_display_difference(row) for row in rows[:ROWS_PER_PAGE]],
        "next_after": rows[ROWS_PER_PAGE - 1].pk if len(rows) > ROWS_PER_PAGE else "",
        "kind": kind,
        "kinds": models.DifferenceKind.choices,
        "difference_search": search,
    }


def _display_difference(row: models.CutoverDifference) -> DisplayDifference:
    return copy_fields(
        DisplayDifference,
        row,
        owner=names.owner_text(row.name, row.zone),
        type=rdata.type_to_text(row.type),
        kind=row.get_kind_display(),
        is_expected=row.kind in models.EXPECTED_KINDS,
    )


def _zones(check: models.CutoverCheck) -> dict[str, Any]:
    """Return the compared zones: those with the most differences first, then by number of open checklist items."""
    zones = models.CutoverZone.objects.filter(check_run=check).defer("checklist")
    return {"zones": zones.order_by("-differences", "-open_points", "name")[:ROWS_PER_PAGE]}


@require_safe
def cutover_zone(request: PanelRequest, check_id: int, zone_name: str) -> HttpResponse:
    """Show one zone's delegation checklist, also as text for copying, and its first differences."""
    check = cutover_check.check_for(request.user, check_id)
    zone = first_or(
        models.CutoverZone.objects.filter(check_run=check, name=zone_name), lambda: access.Unknown(zone_name)
    )
    points = [delegation_checklist.Point.from_json(stored) for stored in zone.checklist]
    found = models.CutoverDifference.objects.filter(check_run=check, zone=zone.name).order_by("pk")[:ROWS_PER_PAGE]
    context = {
        "display": _display(check),
        "zone": zone,
        "points": [DisplayPoint(point.verdict, point.message, point.lines) for point in points],
        "text": delegation_checklist.text_of(zone.name, points),
        "differences": [_display_difference(row) for row in found],
    }
    return render(request, "exports/cutover_zone.html", context)


@require_POST
def cutover_cancel(request: PanelRequest, check_id: int) -> HttpResponse:
    """Cancel the comparison. Its findings so far stay."""
    check = cutover_check.check_for(request.user, check_id)
    with reporting(request, WrongState):
        cutover_check.cancel_check(check=check, by=request.user, now=timezone.now())
        say_done(request, gettext("Comparison cancelled. The results so far are shown below."))
    return redirect("import-cutover", check.pk)


@require_safe
def cutover_csv(request: PanelRequest, check_id: int) -> HttpResponseBase:
    """Download all stored differences as CSV, including expected ones."""
    check = cutover_check.check_for(request.user, check_id)
    file = cast(BinaryIO, SpooledTemporaryFile(MOST_IN_MEMORY))  # noqa: SIM115
    file.write(_csv_line("zone", "name", "type", "difference", "node", "old server", "node says"))
    for row in models.CutoverDifference.objects.filter(check_run=check).order_by("pk").iterator(2000):
        mnemonic = rdata.type_to_text(row.type)
        file.write(_csv_line(row.zone, row.name, mnemonic, row.get_kind_display(), row.node, row.old, row.new))
    name = f"comparison-{check.pk}.csv"
    return file_response(request, file, size=file.tell(), name=name, content_type="text/csv; charset=utf-8")


def _csv_line(*cells: str) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out).writerow([safe_comment(cell) if cell else "" for cell in cells])
    return out.getvalue().encode()
