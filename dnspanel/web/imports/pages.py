"""Views that list imports, show an import at its current step, and pause, resume, cancel or delete it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ACTIVE_STATES, ENDED_STATES, ImportJob, SourceKind, State
from dnspanel.web.frame.layout import PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.imports.choose import choose_context
from dnspanel.web.imports.dry_run import plan_context
from dnspanel.web.imports.fault_kinds import fault_kinds_for_display
from dnspanel.web.imports.report import report_context
from dnspanel.web.imports.steps import Badge, badge_of, step_of, steps_of
from dnspanel.web.imports.upload import upload_context
from dnspanel.web.templatetags.panel import duration

JOBS_PER_PAGE = 50
# Sample files for a first import: their link texts in the empty list, and their static paths.
_SAMPLES = (
    (gettext_lazy("Zone file"), "samples/shop.test.zone"),
    (gettext_lazy("Zone file with errors"), "samples/faulty.test.zone"),
    ("a CSV", "samples/records.csv"),
)

# The actions on a job at any step, with the message after each.
_ACTS = {
    "pause": (import_jobs.pause, gettext_lazy("The import will pause after the current batch.")),
    "resume": (import_jobs.resume, gettext_lazy("Import resumed.")),
    "cancel": (import_jobs.cancel, gettext_lazy("Import cancelled. Published zones stay, but you can undo them.")),
}


@dataclass(frozen=True, slots=True)
class ListedImport:
    """An import in the list. Only a running import has `progress`."""

    row: queries.JobRow
    badge: Badge
    source: str
    progress: queries.Progress | None


@require_safe
def import_list(request: PanelRequest) -> HttpResponse:
    """List imports, newest first: the whole page, only the list, or its next rows."""
    requested = request.GET.get("before", "")
    before = int(requested) if requested.isdecimal() and len(requested) < 10 else None
    found = queries.jobs_page(request.user, before=before, limit=JOBS_PER_PAGE)
    now = timezone.now()
    listed = [_listed_import(row, now) for row in found]
    context = {
        "imports": listed,
        "next_before": found[-1].job.pk if len(found) == JOBS_PER_PAGE else None,
        "at_work": before is None and any(each.progress for each in listed),
        "filtered": before is not None,
        "samples": [{"text": text, "url": static(path)} for text, path in _SAMPLES],
    }
    target = request.htmx.target if request.htmx else None
    if target == "import-more":
        return render(request, "imports/_rows.html", context)
    if target == "import-list":
        return render(request, "imports/_list.html", context)
    return render(request, "imports/list.html", context)


def _listed_import(row: queries.JobRow, now: datetime) -> ListedImport:
    """Return an import for the list. A running import needs one more query, but few run at the same time."""
    job = row.job
    progress = queries.progress(job, now=now) if job.state in ACTIVE_STATES else None
    return ListedImport(row, badge_of(job), str(SourceKind(job.source).label), progress)


@require_safe
def import_detail(request: PanelRequest, job_id: int) -> HttpResponse:
    """Show the import at its current step. htmx gets only the step, or status 204 if `seen` is still current."""
    job = queries.job_for(request.user, job_id)
    display = "choose" if request.GET.get("step") == "choose" and job.state == State.PLANNED else step_of(job)
    context = _head(job, display) | _STEP_CONTEXTS[_part(job, display)](request, job)
    if not is_fragment(request):
        return render(request, "imports/detail.html", context)
    if request.GET.get("seen") == context["seen"]:
        return HttpResponse(status=204)
    return render(request, "imports/_import.html", context)


def _head(job: ImportJob, display: str) -> dict[str, Any]:
    return {
        "job": job,
        "badge": badge_of(job),
        "source": SourceKind(job.source).label,
        "steps": steps_of(job, display),
        "part": _part(job, display),
        "is_active": job.state in ACTIVE_STATES,
        "has_ended": job.state in ENDED_STATES,
        "may_cancel": job.state not in ENDED_STATES and job.state != State.UNDOING,
        "seen": f"{job.state}-{job.paused}",
    }


def _part(job: ImportJob, display: str) -> str:
    """Return the name of the part of the page that shows the step."""
    if job.state in ACTIVE_STATES:
        return "progress"
    if job.state in ENDED_STATES:
        return "report"
    return {"source": "upload", "choose": "choose", "dry-run": "plan"}[display]


def _progress_context(request: PanelRequest, job: ImportJob) -> dict[str, Any]:
    now = timezone.now()
    progress = queries.progress(job, now=now)
    counted = f"{progress.done}-{progress.zones}-{progress.records}-{progress.failure}"
    return {
        "progress": progress,
        "rate": _rate(progress.per_second),
        "left": duration(progress.seconds_left) if progress.seconds_left is not None else "",
        "elapsed": duration(progress.seconds),
        "zones_left": max(0, progress.total - progress.done),
        "seen": f"{job.state}-{job.paused}-{counted}-{int(progress.seconds)}",
        "faults": fault_kinds_for_display(queries.fault_kinds(job)) if job.state == State.SCANNING else [],
    }


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}" if per_second else ""


_STEP_CONTEXTS = {
    "progress": _progress_context,
    "upload": upload_context,
    "choose": choose_context,
    "plan": plan_context,
    "report": report_context,
}


@require_POST
def import_act(request: PanelRequest, job_id: int, act: str) -> HttpResponse:
    """Pause, resume or cancel the import."""
    if act not in _ACTS:
        raise Http404
    job = queries.job_for(request.user, job_id)
    verb, message = _ACTS[act]
    with reporting(request, WrongState, level=messages.WARNING):
        verb(job=job, now=timezone.now())
        say_done(request, message)
    return redirect("import-detail", job.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def import_delete(request: PanelRequest, job_id: int) -> HttpResponse:
    """Ask for confirmation. A POST deletes the import and its files, but not the zones that it published."""
    job = queries.job_for(request.user, job_id)
    if request.method == "POST":
        with reporting(request, WrongState, level=messages.WARNING):
            import_jobs.delete_job(job=job)
            say_done(request, gettext("Import “{title}” deleted. Published zones stay."), title=job.title)
            return redirect("import-list")
        return redirect("import-detail", job.pk)
    return render(request, "imports/delete.html", {"job": job, "report": queries.report(job, now=timezone.now())})
