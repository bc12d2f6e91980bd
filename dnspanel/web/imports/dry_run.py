"""Views of the dry run: show how the import will change each zone, and publish it."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.texts import gettext
from dnspanel.transfer.errors import TransferError, WrongState
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import ImportJob, ImportZone, State
from dnspanel.web.frame.layout import PanelRequest, reporting
from dnspanel.web.frame.row_diffs import display_diffs
from dnspanel.web.imports.choose import zones_context
from dnspanel.web.imports.option_forms import TypedForm
from dnspanel.web.imports.report import first_errors
from dnspanel.web.imports.steps import badge_of, steps_of
from dnspanel.zones.rights import access

MOST_GUARDED = 5


def plan_context(request: PanelRequest, job: ImportJob, form: TypedForm | None = None) -> dict[str, Any]:
    """Return the template context with the dry run's findings and the zone table."""
    plan = queries.plan_summary(job)
    return {
        "plan": plan,
        "changes": plan.changes,
        "errors": first_errors(job) if plan.failed else (),
        "guarded": queries.guarded_zones(job).order_by("-removed", "name")[:MOST_GUARDED] if plan.guarded else (),
        "form": form or (TypedForm(confirmation=_confirmation(plan)) if plan.guarded else None),
        "fingerprint": fingerprint(plan),
    } | zones_context(request, job, chooses=False, plan=plan)


def fingerprint(plan: queries.PlanSummary) -> str:
    """Return a string that changes with the dry run's results. It is used to detect an outdated page."""
    counts = (
        *(plan.creates, plan.unions, plan.rrset_replaces, plan.replaces),
        *(plan.added, plan.changed, plan.removed, plan.values_removed),
    )
    return "-".join(map(str, counts))


def _confirmation(plan: queries.PlanSummary) -> str:
    return gettext("remove {values_removed:,}").format(values_removed=plan.values_removed)


@require_POST
def import_plan(request: PanelRequest, job_id: int) -> HttpResponse:
    """Start the import's dry run."""
    job = queries.job_for(request.user, job_id)
    with reporting(request, WrongState, level=messages.WARNING):
        import_jobs.start_plan(job=job, now=timezone.now())
    return redirect("import-detail", job.pk)


@require_POST
def import_apply(request: PanelRequest, job_id: int) -> HttpResponse:
    """Start publishing the import, unless the dry run has changed or a required typed confirmation is missing."""
    job = queries.job_for(request.user, job_id)
    if job.state != State.PLANNED:
        messages.warning(
            request,
            gettext("This isn’t possible in the import’s current state: {get_state_display}.").format(
                get_state_display=job.get_state_display()
            ),
        )
        return redirect("import-detail", job.pk)
    plan = queries.plan_summary(job)
    if request.POST.get("seen") != fingerprint(plan):
        messages.warning(request, gettext("The dry run has changed. Review the new dry run, then apply the import."))
        return redirect("import-detail", job.pk)
    form = TypedForm(request.POST, confirmation=_confirmation(plan)) if plan.guarded else None
    if form is not None and not form.is_valid():
        head = {"job": job, "badge": badge_of(job), "steps": steps_of(job), "part": "plan", "may_cancel": True}
        context = head | plan_context(request, job, form)
        return render(request, "imports/detail.html", context, status=422)
    with reporting(request, TransferError, level=messages.WARNING):
        import_jobs.start_apply(job=job, author=request.user, now=timezone.now())
    return redirect("import-detail", job.pk)


@require_POST
def import_replan(request: PanelRequest, job_id: int) -> HttpResponse:
    """Start another dry run for the zones that couldn't be published as planned and are waiting."""
    job = queries.job_for(request.user, job_id)
    with reporting(request, TransferError, level=messages.WARNING):
        import_jobs.replan_waiting(job=job, now=timezone.now())
    return redirect("import-detail", job.pk)


@require_safe
def import_zone(request: PanelRequest, job_id: int, row_id: int) -> HttpResponse:
    """Show how the import changes one zone, as a diff like on the review page."""
    job = queries.job_for(request.user, job_id)
    zone = ImportZone.objects.filter(job=job, pk=row_id).first()
    if zone is None:
        raise access.Unknown(f"this zone of import {job.pk}")
    context: dict[str, Any] = {"job": job, "zone": zone, "faults": queries.faults_page(job, zone=zone.name, limit=50)}
    try:
        diff = queries.zone_diff(job, zone)
    except TransferError as exc:
        context["failure"] = str(exc)
    else:
        context |= {"diffs": display_diffs(zone.name, diff.diffs), "left_out": diff.more}
    context["as_text"] = request.GET.get("as") == "text"
    return render(request, "imports/zone.html", context)
