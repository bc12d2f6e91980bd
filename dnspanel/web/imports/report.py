"""Views of an import's result: the report, the list of errors, and undo."""

from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.downloads import file_response
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import import_limits
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportFault, ImportJob, SourceKind, State
from dnspanel.web.frame.layout import PanelRequest, reporting
from dnspanel.web.imports.choose import zones_context
from dnspanel.web.imports.fault_kinds import SEVERITY_ICONS, SEVERITY_NAMES, SEVERITY_TONES, fault_kinds_for_display
from dnspanel.web.imports.option_forms import TypedForm

FAULTS_PER_PAGE = 100
MOST_FIRST = 5
SEVERITIES = {
    "": gettext_lazy("All"),
    "error": gettext_lazy("Errors"),
    "warning": gettext_lazy("Warnings"),
    "note": gettext_lazy("Notes"),
}
# After an import from a server, the server's answers can be compared with the nodes' answers.
_SERVERS = (SourceKind.AXFR, SourceKind.POWERDNS_API, SourceKind.POWERDNS_SQL)


@dataclass(frozen=True, slots=True)
class DisplayFault:
    fault: ImportFault

    @property
    def tone(self) -> str:
        return SEVERITY_TONES.get(self.fault.severity, "quiet")

    @property
    def icon(self) -> str:
        return SEVERITY_ICONS.get(self.fault.severity, "info")

    @property
    def severity(self) -> str:
        """The localized name of the severity."""
        return SEVERITY_NAMES.get(self.fault.severity, self.fault.severity)

    @property
    def place(self) -> str:
        """The position as `file:line:column`, without unknown parts."""
        numbers = [number for number in (self.fault.line, self.fault.column) if number]
        return ":".join([self.fault.path, *map(str, numbers)])


def first_errors(job: ImportJob) -> list[DisplayFault]:
    """Return the first errors of an import, with their positions in the source."""
    return [DisplayFault(fault) for fault in queries.faults_page(job, severity="error", limit=MOST_FIRST)]


def report_context(request: PanelRequest, job: ImportJob) -> dict[str, Any]:
    """Return the report's template context: counts, errors by kind, seconds per step, zones, and possible actions."""
    report = queries.report(job, now=timezone.now())
    is_arriving = bool(report.published) and report.nodes.total > report.nodes.in_sync
    return {
        "report": report,
        "faults": fault_kinds_for_display(queries.fault_kinds(job)),
        "errors": first_errors(job) if report.plan.failed else (),
        "seconds": [
            (text, seconds)
            for text, seconds in (
                (gettext("Scan"), job.scan_seconds),
                (gettext("Dry run"), job.plan_seconds),
                (gettext("Apply"), job.apply_seconds),
            )
            if seconds
        ],
        "is_arriving": is_arriving,
        "may_undo": job.state in (State.DONE, State.CANCELLED) and report.published > 0,
        "may_fix": report.plan.failed > 0,
        "compare": f"{reverse('import-cutovers')}?job={job.pk}" if report.published else "",
        "compare_first": job.source in _SERVERS,
        "seen": f"{job.state}-{report.nodes.in_sync}-{report.nodes.total}",
    } | zones_context(request, job, chooses=False, plan=report.plan)


@require_safe
def import_faults(request: PanelRequest, job_id: int) -> HttpResponse:
    """List an import's errors, warnings and notes, filtered by severity, kind or zone. htmx gets only the next rows."""
    job = queries.job_for(request.user, job_id)
    filters = {name: request.GET.get(name, "")[:1100] for name in ("severity", "code", "zone")}
    after = request.GET.get("after", "")
    found = queries.faults_page(
        job, **filters, after=int(after) if after.isdecimal() and len(after) < 18 else 0, limit=FAULTS_PER_PAGE
    )
    context = {
        "job": job,
        "faults": [DisplayFault(fault) for fault in found],
        "next_after": found[-1].pk if len(found) == FAULTS_PER_PAGE else None,
        "filters": filters,
        "query": urlencode({name: value for name, value in filters.items() if value}),
        "severities": SEVERITIES.items(),
        "narrowed": any(filters.values()),
    }
    if request.htmx and request.htmx.target == "fault-more":
        return render(request, "imports/_fault_rows.html", context)
    context |= {"kinds": list(queries.fault_kinds(job)), "most_faults": import_limits.MOST_FAULTS}
    return render(request, "imports/faults.html", context)


@require_safe
def import_faults_csv(request: PanelRequest, job_id: int) -> HttpResponseBase:
    """Download the import's errors, warnings and notes as CSV, filtered by severity or kind."""
    job = queries.job_for(request.user, job_id)
    file = cast(BinaryIO, TemporaryFile())  # noqa: SIM115 - the answer closes it
    for line in queries.faults_csv(job, severity=request.GET.get("severity", ""), code=request.GET.get("code", "")):
        file.write(line.encode())
    name = f"import-{job.pk}-faults.csv"
    return file_response(request, file, size=file.tell(), name=name, content_type="text/csv; charset=utf-8")


@require_http_methods(["GET", "HEAD", "POST"])
def import_undo(request: PanelRequest, job_id: int) -> HttpResponse:
    """Ask the user to type `undo` and the number of zones. A POST starts to undo the import's publications."""
    job = queries.job_for(request.user, job_id)
    report = queries.report(job, now=timezone.now())
    if job.state not in (State.DONE, State.CANCELLED) or not report.published:
        messages.warning(request, gettext("This import has no changes to undo."))
        return redirect("import-detail", job.pk)
    confirmation = gettext("undo {published:,}").format(published=report.published)
    form = TypedForm(request.POST or None, confirmation=confirmation)
    if not form.is_valid():
        context = {"job": job, "report": report, "form": form}
        return render(request, "imports/undo.html", context, status=422 if form.is_bound else 200)
    with reporting(request, WrongState, level=messages.WARNING):
        import_jobs.start_undo(job=job, author=request.user, now=timezone.now(), confirmed=True)
    return redirect("import-detail", job.pk)
