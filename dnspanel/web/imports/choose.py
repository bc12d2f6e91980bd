"""Views of the step between scan and dry run: show the scan's findings, and choose an action for each zone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.transfer.documents import Options
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import CHANGING_ACTIONS, ENDED_STATES, Action, ImportJob, ImportZone, State
from dnspanel.web.frame.forms import LONGEST_SEARCH
from dnspanel.web.frame.layout import PanelRequest, reporting, say, say_done
from dnspanel.web.imports.fault_kinds import fault_kinds_for_display
from dnspanel.web.imports.option_forms import OptionsForm
from dnspanel.web.imports.steps import badge_of, steps_of
from dnspanel.zones.rights import access

MOST_TICKED = 1000

_CHOICES_NEW = (("", gettext_lazy("use import options")), ("create", "create"), ("skip", "skip"))
_CHOICES_EXISTING = (
    ("", gettext_lazy("use import options")),
    ("union", "merge"),
    ("rrsets", gettext_lazy("replace RRsets")),
    ("replace", gettext_lazy("replace zone")),
    ("skip", "skip"),
)
_CHOICES_ALL = (*_CHOICES_EXISTING[:1], ("create", "create"), *_CHOICES_EXISTING[1:])

# The table's filters before and after the dry run: key, text, arguments of `queries.zones_page`.
_BEFORE: dict[str, tuple[str, dict[str, Any]]] = {
    "": (gettext_lazy("All"), {}),
    "new": (gettext_lazy("New"), {"existing": False}),
    "existing": (gettext_lazy("Existing"), {"existing": True}),
    "faulty": (gettext_lazy("With issues"), {"faulty": True}),
}
_AFTER: dict[str, tuple[str, dict[str, Any]]] = {
    "": (gettext_lazy("All"), {}),
    "create": (gettext_lazy("Create"), {"action": Action.CREATE}),
    "union": (gettext_lazy("Merge"), {"action": Action.UNION}),
    "rrsets": (gettext_lazy("Replace RRsets"), {"action": Action.RRSETS}),
    "replace": (gettext_lazy("Replace zone"), {"action": Action.REPLACE}),
    "waiting": (gettext_lazy("Waiting"), {"action": Action.WAITING}),
    "failed": (gettext_lazy("Cannot be imported"), {"action": Action.FAILED}),
    "nothing": (gettext_lazy("Unchanged"), {"action": Action.NOTHING}),
    "skip": (gettext_lazy("Skipped"), {"action": Action.SKIP}),
    "duplicate": (gettext_lazy("Duplicates"), {"action": Action.DUPLICATE}),
}
_COUNT_OF = {
    "create": "creates",
    "union": "unions",
    "rrsets": "rrset_replaces",
    "replace": "replaces",
    "waiting": "waiting",
    "failed": "failed",
    "nothing": "unchanged",
    "skip": "skipped",
    "duplicate": "duplicates",
}
_ACTION_TONES = {
    Action.CREATE: ("ok", "plus"),
    Action.UNION: ("warn", "fork"),
    Action.RRSETS: ("warn", "sync"),
    Action.REPLACE: ("warn", "sync"),
    Action.FAILED: ("bad", "error"),
    Action.WAITING: ("warn", "clock"),
}
# Texts after the job is done.
_PAST = {
    Action.CREATE: gettext_lazy("created"),
    Action.UNION: gettext_lazy("merged"),
    Action.RRSETS: gettext_lazy("RRsets replaced"),
    Action.REPLACE: gettext_lazy("replaced"),
    Action.SKIP: gettext_lazy("skipped"),
}
_UNDONE_MARKS = {
    "undone": ("quiet", "undo", gettext_lazy("undone")),
    "kept": ("warn", "shield", gettext_lazy("not fully undone")),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter above the zone table."""

    key: str
    text: str
    count: int | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class ListedZone:
    """A zone of an import, displayed in the table."""

    row: ImportZone
    exists: bool
    choices: tuple[tuple[str, str], ...]
    tone: str
    icon: str
    word: str

    @property
    def may_choose(self) -> bool:
        return self.row.action not in (Action.FAILED, Action.DUPLICATE)

    @property
    def has_diff(self) -> bool:
        return self.row.action in (Action.CREATE, *CHANGING_ACTIONS)


def choose_context(request: PanelRequest, job: ImportJob, form: OptionsForm | None = None) -> dict[str, Any]:
    """Return the template context of the choosing step: the scan's findings, the options, and the first zones."""
    scan = queries.scan_summary(job)
    return {
        "scan": scan,
        "faults": fault_kinds_for_display(scan.faults),
        "form": form or OptionsForm(initial=job.options),
        "replan_needed": job.state == State.PLANNED,
    } | zones_context(request, job, chooses=True)


def zones_context(
    request: PanelRequest, job: ImportJob, *, chooses: bool, plan: queries.PlanSummary | None = None
) -> dict[str, Any]:
    """Return the context of the zone table for the URL's filters. If `chooses` is True, users can choose actions.

    With a `plan`, filters that match no zones are omitted.
    """
    search = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    show = request.GET.get("show", "")
    kinds = _BEFORE if chooses else _AFTER
    show = show if show in kinds else ""
    page = queries.zones_page(job, search=search, after=request.GET.get("after", "")[:1200], **kinds[show][1])
    options = Options.from_json(job.options)
    return {
        "job": job,
        "zones": [_listed_zone(row, options, job.state) for row in page.zones],
        "next_after": page.after,
        "search": search,
        "show": show,
        "filters": [_filter(key, text, show, plan) for key, (text, _) in kinds.items() if _is_listed(key, show, plan)],
        "chooses": chooses,
        "becomes": gettext("Result") if job.state in ENDED_STATES else gettext("Action"),
        "choices": _CHOICES_ALL,
        "narrowed": bool(search or show),
    }


def _filter(key: str, text: str, show: str, plan: queries.PlanSummary | None) -> Filter:
    count = getattr(plan, _COUNT_OF[key]) if plan and key else None
    return Filter(key, text, count, is_current=key == show)


def _is_listed(key: str, show: str, plan: queries.PlanSummary | None) -> bool:
    """Return True if the filter is offered. Except for the current filter, filters that match no zones are omitted."""
    return not plan or not key or key == show or bool(getattr(plan, _COUNT_OF[key]))


def _listed_zone(row: ImportZone, options: Options, state: str) -> ListedZone:
    exists = row.zone_id > 0 and not row.ops_size
    tone, icon, word = _mark(row, options, state, exists=exists)
    return ListedZone(row, exists, _CHOICES_EXISTING if exists else _CHOICES_NEW, tone, icon, word)


def _mark(row: ImportZone, options: Options, state: str, *, exists: bool) -> tuple[str, str, str]:
    """Return the tone, icon and text for the planned or completed action on the zone."""
    if row.undone:
        return _UNDONE_MARKS.get(row.undone, ("quiet", "undo", row.undone))
    action = Action(row.action or row.choice or (options.existing if exists else options.new))
    tone, icon = _ACTION_TONES.get(action, ("quiet", "minus"))
    return tone, icon, _PAST.get(action, str(action.label)) if state == State.DONE else str(action.label)


@require_safe
def import_zones(request: PanelRequest, job_id: int) -> HttpResponse:
    """List the zones of an import: the whole page, only the table, or only its next rows."""
    job = queries.job_for(request.user, job_id)
    chooses = job.state == State.CHOOSING or (job.state == State.PLANNED and request.GET.get("step") == "choose")
    plan = None if chooses else queries.plan_summary(job)
    context = zones_context(request, job, chooses=chooses, plan=plan)
    target = request.htmx.target if request.htmx else None
    if target == "zone-more":
        return render(request, "imports/_zone_rows.html", context)
    if target == "import-zones":
        display = len(context["zones"])
        spoken = (
            gettext("Showing the first {display} zones").format(display=display)
            if context["next_after"]
            else gettext("{display} zones found").format(display=display)
        )
        return say(render(request, "imports/_zones.html", context), speak=spoken)
    return render(request, "imports/zones.html", context)


@require_POST
def import_options(request: PanelRequest, job_id: int) -> HttpResponse:
    """Save the options, and scan again if needed. If `then` is "plan" and the scan has ended, start the dry run."""
    job = queries.job_for(request.user, job_id)
    form = OptionsForm(request.POST)
    if not form.is_valid():
        context = _page_context(request, job, form)
        return render(request, "imports/detail.html", context, status=422)
    with reporting(request, WrongState, level=messages.WARNING):
        if form.options != Options.from_json(job.options):
            import_jobs.set_options(job=job, options=form.options, now=timezone.now())
        if request.POST.get("then") == "plan" and job.state == State.CHOOSING:
            import_jobs.start_plan(job=job, now=timezone.now())
        elif job.state == State.SCANNING:
            messages.info(
                request,
                gettext(
                    "Scanning the source again with the new options. When the scan is complete, start the dry run."
                ),
            )
        else:
            say_done(request, gettext("Options saved."))
    return redirect("import-detail", job.pk)


def _page_context(request: PanelRequest, job: ImportJob, form: OptionsForm) -> dict[str, Any]:
    return {"job": job, "badge": badge_of(job), "steps": steps_of(job, "choose"), "part": "choose"} | choose_context(
        request, job, form
    )


@require_POST
def import_choose(request: PanelRequest, job_id: int) -> HttpResponse:
    """Set the action for one zone (`row`), the selected zones, or all zones that match the search and the filter."""
    job = queries.job_for(request.user, job_id)
    one = request.POST.get("row", "")
    ids = _ids([one] if one else request.POST.getlist("zone")[:MOST_TICKED])
    choice = request.POST.get(f"choice-{one}" if one else "choice", "")
    search, show = request.POST.get("q", "")[:LONGEST_SEARCH], request.POST.get("show", "")
    of_all = request.POST.get("scope") == "all"
    if choice not in import_jobs.CHOICES or not (of_all or ids):
        messages.warning(request, gettext("Select at least one zone. No options were changed."))
        return redirect(_back(job, search, show))
    narrowed = {"search": search, **_BEFORE.get(show, _BEFORE[""])[1]} if of_all else {"ids": ids}
    with reporting(request, WrongState, level=messages.WARNING):
        count = import_jobs.choose(job=job, choice=choice, now=timezone.now(), **narrowed)
        message = ngettext("{count:,} zone: {value}", "{count:,} zones: {value}", count).format(
            count=count, value=choice or gettext("use import options")
        )
        if one and request.htmx:
            return say(_one_row(request, job, ids), speak=message)
        say_done(request, f"{message}.")
        return redirect(_back(job, search, show))
    return redirect("import-detail", job.pk)


def _ids(texts: Sequence[str]) -> list[int]:
    return [int(text) for text in texts if text.isdecimal() and len(text) < 18]


def _one_row(request: PanelRequest, job: ImportJob, ids: list[int]) -> HttpResponse:
    row = first_or(ImportZone.objects.filter(job=job, pk__in=ids), lambda: access.Unknown("this zone of the import"))
    listed = _listed_zone(row, Options.from_json(job.options), job.state)
    return render(
        request, "imports/_zone_row.html", {"job": job, "listed": listed, "chooses": True, "becomes": gettext("Action")}
    )


def _back(job: ImportJob, search: str, show: str) -> str:
    """Return the URL of the import's page with the filtered table."""
    parameters = {name: value for name, value in (("q", search), ("show", show)) if value}
    page = reverse("import-detail", args=[job.pk])
    return f"{page}?{urlencode(parameters)}#import-zones" if parameters else f"{page}#import-zones"
