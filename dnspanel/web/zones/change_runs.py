"""Views of runs that change many zones: show dry-run findings and progress, apply, undo or cancel a run."""

from dataclasses import dataclass

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PublishingForm
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.run_display import LISTED, DisplayRun, Labels, count_findings
from dnspanel.zones.errors import RunRefused
from dnspanel.zones.models import TRASH_DAYS, ChangeRun, ChangeRunZone, ZoneAct
from dnspanel.zones.rights.access import Forbidden
from dnspanel.zones.runs import change_run_queries
from dnspanel.zones.runs import change_runs as verbs
from dnspanel.zones.runs.change_run_queries import Outcome

LISTED_ZONES = 200  # of each outcome

_LABELS: Labels = {
    Outcome.CHANGE: ("ok", gettext_lazy("to be changed"), gettext_lazy("changed")),
    Outcome.REFUSED: ("bad", gettext_lazy("to be refused"), gettext_lazy("refused")),
    Outcome.SAME: ("quiet", gettext_lazy("no change needed"), gettext_lazy("no change needed")),
}
_OF_DELETION: Labels = {
    **_LABELS,
    Outcome.CHANGE: ("warn", gettext_lazy("to be moved to the trash"), gettext_lazy("moved to the trash")),
}
_OF_RESTORE: Labels = {
    **_LABELS,
    Outcome.CHANGE: ("ok", gettext_lazy("to be restored"), gettext_lazy("restored from the trash")),
    Outcome.SAME: ("quiet", gettext_lazy("already restored"), gettext_lazy("already restored")),
}
_OF_UNDO: Labels = {
    Outcome.CHANGE: ("ok", gettext_lazy("to be reverted"), gettext_lazy("reverted")),
    Outcome.REFUSED: ("bad", gettext_lazy("to be refused"), gettext_lazy("refused")),
    Outcome.SAME: ("quiet", gettext_lazy("not changed"), gettext_lazy("not changed")),
}


class CarryOutForm(PublishingForm):
    """The form that applies a run. If the run deletes zones, the user types the number of zones to confirm."""

    typed_count = forms.IntegerField(required=False)


@dataclass(frozen=True, slots=True)
class DisplayChangeRun(DisplayRun[ChangeRun]):
    page = "zone-change-run"
    changing = (Outcome.CHANGE,)
    others_url = reverse_lazy("zone-change-runs")
    days = TRASH_DAYS

    @property
    def title(self) -> str:
        run = self.run
        where = gettext("zones with “{search}”").format(search=run.search) if run.search else gettext("all zones")
        if run.names:
            where = run.names[0] if len(run.names) == 1 else gettext("{names:,} zones").format(names=len(run.names))
        return f"{self._act}, {where}"

    @property
    def _act(self) -> str:
        run = self.run
        match run.act:
            case ZoneAct.ADD_TAGS | ZoneAct.REMOVE_TAGS:
                said = f"{ZoneAct(run.act).label} {' '.join(run.tags)}"
            case ZoneAct.TEAM:
                said = (
                    gettext("assign to team {name}").format(name=run.team.name)
                    if run.team
                    else gettext("remove from their team")
                )
            case ZoneAct.POLICY:
                said = (
                    gettext("DNSSEC policy {name}").format(name=run.policy.name)
                    if run.policy
                    else gettext("remove DNSSEC policies set on zones")
                )
            case _:
                said = ZoneAct(run.act).label
        return gettext("undo: {said}").format(said=said) if run.undo_of_id else said

    @property
    def labels(self) -> Labels:
        if self.run.undo_of_id:
            return _OF_UNDO
        if self.run.act == ZoneAct.RESTORE:
            return _OF_RESTORE
        return _OF_DELETION if self.deletes else _LABELS

    @property
    def deletes(self) -> bool:
        return bool(self.run.act == ZoneAct.DELETE)

    @property
    def apply_class(self) -> str:
        return "btn-danger" if self.deletes else "btn-primary"

    @property
    def may_be_undone(self) -> bool:
        return change_run_queries.may_be_undone(self.run)

    @property
    def undo_url(self) -> str:
        return reverse("zone-change-run-undo", args=[self.run.pk])

    @property
    def policies_url(self) -> str:
        """The URL of policy runs if this run has assigned DNSSEC policies to zones, otherwise ""."""
        is_done = self.run.act == ZoneAct.POLICY and not self.run.dry_run and not self.is_unfinished
        return reverse("zone-policy-runs") if is_done else ""


@require_safe
def change_run_list(request: PanelRequest) -> HttpResponse:
    """List recent runs of changes."""
    _require(request)
    runs = [DisplayChangeRun(run) for run in change_run_queries.runs_visible_to(request.user)[:LISTED]]
    return render(request, "zones/change_runs.html", {"runs": runs})


@require_safe
def change_run(request: PanelRequest, change_run_id: int) -> HttpResponse:
    """Show a run's progress and findings. htmx gets only the part that changes, or 204 if nothing changed."""
    _require(request)
    display = DisplayChangeRun(change_run_queries.run_for(request.user, change_run_id))
    if is_fragment(request) and request.GET.get("seen") == display.page_version:
        return HttpResponse(status=204)
    rows = ChangeRunZone.objects.filter(run=display.run).order_by("pk")
    listed = (
        (row.outcome, row)
        for outcome in display.labels
        if display.run.counts.get(outcome)
        for row in rows.filter(outcome=outcome)[:LISTED_ZONES]
    )
    context = {"display": display, "run": display.run, "counted": count_findings(display.run, display.labels, listed)}
    return render(request, "zones/_change_run.html" if is_fragment(request) else "zones/change_run.html", context)


@require_POST
def change_run_apply(request: PanelRequest, change_run_id: int) -> HttpResponse:
    """Start a run that applies the changes from a dry run."""
    _require(request)
    dry_run = change_run_queries.run_for(request.user, change_run_id)
    display, form = DisplayChangeRun(dry_run), CarryOutForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("The form is invalid. Nothing was changed."))
        return redirect(display.url)
    if display.deletes and form.cleaned_data["typed_count"] != display.to_change:
        messages.error(
            request, gettext("Nothing was changed. Enter {to_change} to confirm.").format(to_change=display.to_change)
        )
        return redirect(display.url)
    with reporting(request, RunRefused, text=NOTHING_CHANGED):
        run = verbs.start_run(
            dry_run=dry_run, by=request.user, now=timezone.now(), confirmed=display.deletes, form_id=form.id
        )
        return redirect("zone-change-run", run.pk)
    return redirect(display.url)


@require_POST
def change_run_undo(request: PanelRequest, change_run_id: int) -> HttpResponse:
    """Start a run that undoes this run's changes but keeps later changes."""
    _require(request)
    run = change_run_queries.run_for(request.user, change_run_id)
    form = PublishingForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("The form is invalid. Nothing was changed."))
        return redirect("zone-change-run", run.pk)
    with reporting(request, RunRefused, text=NOTHING_CHANGED):
        undo = verbs.undo_run(run=run, by=request.user, now=timezone.now(), form_id=form.id)
        return redirect("zone-change-run", undo.pk)
    return redirect("zone-change-run", run.pk)


@require_POST
def change_run_cancel(request: PanelRequest, change_run_id: int) -> HttpResponse:
    """Cancel a run. Changes that it already made stay."""
    _require(request)
    run = change_run_queries.run_for(request.user, change_run_id)
    with reporting(request, RunRefused):
        verbs.cancel_run(run=run, by=request.user, now=timezone.now())
        say_done(request, gettext("Run cancelled. Changes already made stay, but you can undo them."))
    return redirect("zone-change-run", run.pk)


def _require(request: PanelRequest) -> None:
    if not change_run_queries.may_begin_runs(request.user):
        raise Forbidden(Permission.EDIT)
