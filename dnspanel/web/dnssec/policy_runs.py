"""Views of DNSSEC policy runs: start a dry run, show its findings and progress, apply it, cancel it."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.dnssec.policy_forms import RunForm
from dnspanel.web.frame.forms import PublishingForm
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.run_display import LISTED, DisplayRun, Labels, count_findings
from dnspanel.zones.dnssec.policy import Act
from dnspanel.zones.errors import RunRefused
from dnspanel.zones.models import PolicyRun, PolicyRunZone
from dnspanel.zones.runs import policy_runs as verbs

_LABELS: Labels = {
    Act.SIGN: ("ok", gettext_lazy("to be signed"), gettext_lazy("now signed")),
    Act.DENIAL: (
        "info",
        gettext_lazy("with denial of existence to be changed"),
        gettext_lazy("with changed denial of existence"),
    ),
    Act.CDS: (
        "info",
        gettext_lazy("with CDS or CDNSKEY records to be changed"),
        gettext_lazy("with changed CDS or CDNSKEY records"),
    ),
    Act.ROLLOVER: ("warn", gettext_lazy("that need a key rollover"), gettext_lazy("that need a key rollover")),
    Act.FIRST_DS: (
        "info",
        gettext_lazy("with the first DS to be added automatically"),
        gettext_lazy("with the first DS being added automatically"),
    ),
    Act.REFUSED: ("bad", gettext_lazy("to be refused"), gettext_lazy("refused")),
    Act.NO_POLICY: ("quiet", gettext_lazy("without a policy"), gettext_lazy("without a policy")),
    Act.SAME: (
        "quiet",
        gettext_lazy("already matching the policy"),
        gettext_lazy("unchanged, already matching the policy"),
    ),
}


@dataclass(frozen=True, slots=True)
class DisplayPolicyRun(DisplayRun[PolicyRun]):
    """A policy run, as shown in a list or on its page. It counts findings; a zone can have more than one."""

    page = "zone-policy-run"
    changing = (Act.SIGN, Act.DENIAL, Act.CDS)
    others_url = reverse_lazy("zone-policy-runs")

    @property
    def title(self) -> str:
        zones = (
            gettext("zones with policy {name}").format(name=self.run.policy.name)
            if self.run.policy
            else gettext("all zones")
        )
        return (
            gettext("{zones} matching “{search}”").format(zones=zones, search=self.run.search)
            if self.run.search
            else zones
        )


@require_http_methods(["GET", "HEAD", "POST"])
def run_list(request: PanelRequest) -> HttpResponse:
    """Show the form for a new run and the recent runs. A POST starts a dry run."""
    verbs.require_signer(request.user)
    initial = {"policy": request.GET.get("policy"), "q": request.GET.get("q", "")}
    form = RunForm(request.POST or None, person=request.user, initial=initial)
    if form.is_valid():
        with form.catching(RunRefused):
            run = verbs.create_run(
                by=request.user,
                now=timezone.now(),
                policy=form.cleaned_data["policy"],
                search=form.cleaned_data["q"].strip(),
                form_id=form.id,
            )
            return redirect("zone-policy-run", run.pk)
    runs = [DisplayPolicyRun(run) for run in verbs.runs_visible_to(request.user)[:LISTED]]
    return render(request, "dnssec/runs.html", {"form": form, "runs": runs}, status=422 if form.is_bound else 200)


@require_safe
def run_detail(request: PanelRequest, run_id: int) -> HttpResponse:
    """Show a run's progress and findings. htmx gets only the part that changes, or 204 if nothing changed."""
    verbs.require_signer(request.user)
    display = DisplayPolicyRun(verbs.run_for(request.user, run_id))
    if is_fragment(request) and request.GET.get("seen") == display.page_version:
        return HttpResponse(status=204)
    rows = PolicyRunZone.objects.filter(run=display.run).order_by("pk")
    found = count_findings(display.run, _LABELS, ((row.act, row) for row in rows.iterator()))
    context = {"display": display, "run": display.run, "counted": found}
    return render(request, "dnssec/_run.html" if is_fragment(request) else "dnssec/run.html", context)


@require_POST
def run_apply(request: PanelRequest, run_id: int) -> HttpResponse:
    """Start a run that applies a dry run's changes."""
    verbs.require_signer(request.user)
    dry_run = verbs.run_for(request.user, run_id)
    form = PublishingForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("The form is invalid. Nothing was changed."))
        return redirect("zone-policy-run", dry_run.pk)
    with reporting(request, RunRefused, text=NOTHING_CHANGED):
        run = verbs.start_run(dry_run=dry_run, by=request.user, now=timezone.now(), form_id=form.id)
        return redirect("zone-policy-run", run.pk)
    return redirect("zone-policy-run", dry_run.pk)


@require_POST
def run_cancel(request: PanelRequest, run_id: int) -> HttpResponse:
    """Cancel a run. Changes that were already published stay."""
    verbs.require_signer(request.user)
    run = verbs.run_for(request.user, run_id)
    with reporting(request, RunRefused):
        verbs.cancel_run(run=run, by=request.user, now=timezone.now())
        say_done(request, gettext("Run cancelled. Changes that it has already published remain."))
    return redirect("zone-policy-run", run.pk)
