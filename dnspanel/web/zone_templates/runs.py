"""Views of template runs: start a dry run, show its findings and progress, apply or cancel it."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.transfer.zone_templates import access, queries
from dnspanel.transfer.zone_templates import runs as verbs
from dnspanel.transfer.zone_templates.compare_template import Outcome
from dnspanel.transfer.zone_templates.template_content import variables_stored, version_of
from dnspanel.web.frame.all_or_some import AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, PublishingForm, switch_field, text_field
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.web.frame.run_display import LISTED, DisplayRun, Labels, count_findings
from dnspanel.web.frame.variable_fields import VariablesForm
from dnspanel.zones.errors import RunRefused, TemplateRefused
from dnspanel.zones.models import TemplateKind, TemplateRun, TemplateRunZone, ZoneTemplate
from dnspanel.zones.rights.access import require

_LABELS: Labels = {
    Outcome.CHANGE: ("ok", gettext_lazy("to be changed"), gettext_lazy("changed")),
    Outcome.CONFLICT: ("warn", gettext_lazy("with manual edits"), gettext_lazy("changed, except manual edits")),
    Outcome.REFUSED: ("bad", gettext_lazy("to be refused"), gettext_lazy("refused")),
    Outcome.SAME: ("quiet", gettext_lazy("up to date"), gettext_lazy("already up to date")),
}


class RunForm(AllOrSomeForm, PublishingForm):
    """The form that chooses the zones of a template run."""

    all_or_some = (
        AllOrSome(
            ("q",),
            "scope",
            some=gettext_lazy("Zones that match a search"),
            needs_number=True,
            default="linked",
            more=(("linked", gettext_lazy("Linked zones")),),
        ),
    )

    q = text_field(
        gettext_lazy("Search"),
        LONGEST_SEARCH,
        gettext_lazy("Same syntax as in the zone list, for example: shop tag:eu."),
        autocomplete="off",
        spellcheck="false",
    )
    keep = switch_field(gettext_lazy("Link matching zones to the template"))

    @property
    def is_search(self) -> bool:
        return bool(self.cleaned_data["scope"] != "linked")


class CarryOutForm(PublishingForm):
    """The form that applies a template run. `overwrite` also replaces records that were edited by hand."""

    overwrite = forms.BooleanField(required=False)


@dataclass(frozen=True, slots=True)
class DisplayTemplateRun(DisplayRun[TemplateRun]):
    """A template run, displayed in a list or on its page. Zones with conflicts count as changes."""

    page = "template-run"
    changing = (Outcome.CHANGE, Outcome.CONFLICT)

    @property
    def others_url(self) -> str:
        return reverse("template-runs", args=[self.run.template_id])

    @property
    def title(self) -> str:
        run = self.run
        if run.search is None:
            return gettext("zones linked to {name}, updated to version {version}").format(
                name=run.template.name, version=run.version
            )
        where = gettext("zones with “{search}”").format(search=run.search) if run.search else gettext("all zones")
        if run.names:
            where = ngettext("{names:,} zone", "{names:,} zones", len(run.names)).format(names=len(run.names))
        return gettext("{name} version {version} for {where}").format(
            name=run.template.name, version=run.version, where=where
        )

    @property
    def conflicts(self) -> int:
        return int(self.run.counts.get(Outcome.CONFLICT, 0))


@require_http_methods(["GET", "HEAD", "POST"])
def template_runs(request: PanelRequest, template_id: int) -> HttpResponse:
    """Show the form for a new template run, and recent runs. A POST starts a dry run."""
    require(request.user, Permission.EDIT)
    template = access.template_for(request.user, template_id)
    variables = variables_stored(version_of(template))
    form = RunForm(request.POST or None, counted_for=request.user)
    fields = VariablesForm(request.POST or None, variables=variables)
    if form.is_valid() and (not form.is_search or fields.is_valid()):
        try:
            run = verbs.create_run(
                template=template, by=request.user, now=timezone.now(), form_id=form.id, **_terms(form, fields)
            )
        except RunRefused as exc:
            form.refuse(None, str(exc))
        except TemplateRefused as exc:
            fields.refuse_fields(exc)
        else:
            return redirect("template-run", run.pk)
    status = 422 if form.is_bound else 200
    return _runs_page(request, template, form, fields, status)


def _terms(form: RunForm, fields: VariablesForm) -> dict[str, Any]:
    if not form.is_search:
        return {}
    return {"search": form.cleaned_data["q"], "values": fields.values, "keep": form.cleaned_data["keep"]}


def _runs_page(
    request: PanelRequest, template: ZoneTemplate, form: RunForm, fields: VariablesForm, status: int
) -> HttpResponse:
    if form.is_bound and form.is_valid() and not form.is_search:  # the zones have their own values for the variables
        fields = VariablesForm(variables=fields.variables)
    runs = verbs.runs_visible_to(request.user).filter(template=template)[:LISTED]
    context = {
        "template": template,
        "is_snippet": template.kind == TemplateKind.SNIPPET,
        "form": form,
        "fields": fields,
        "linked": queries.linked_count(template),
        "runs": [DisplayTemplateRun(run) for run in runs],
    }
    return render(request, "zone_templates/runs.html", context, status=status)


@require_safe
def template_run(request: PanelRequest, template_run_id: int) -> HttpResponse:
    """Show a template run's progress and findings. htmx gets only the part that changes, or 204 if nothing changed."""
    require(request.user, Permission.EDIT)
    display = DisplayTemplateRun(verbs.run_for(request.user, template_run_id))
    if is_fragment(request) and request.GET.get("seen") == display.page_version:
        return HttpResponse(status=204)
    rows = TemplateRunZone.objects.filter(run=display.run).order_by("pk")
    found = count_findings(display.run, _LABELS, ((row.outcome, row) for row in rows.iterator()))
    context = {"display": display, "run": display.run, "counted": found}
    page = "zone_templates/_run.html" if is_fragment(request) else "zone_templates/run.html"
    return render(request, page, context)


@require_POST
def template_run_apply(request: PanelRequest, template_run_id: int) -> HttpResponse:
    """Start a run that applies the changes from a dry run."""
    require(request.user, Permission.EDIT)
    dry_run = verbs.run_for(request.user, template_run_id)
    form = CarryOutForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext("The form is invalid. Nothing was changed."))
        return redirect("template-run", dry_run.pk)
    with reporting(request, RunRefused, text=NOTHING_CHANGED):
        run = verbs.start_run(
            dry_run=dry_run,
            by=request.user,
            now=timezone.now(),
            overwrite=form.cleaned_data["overwrite"],
            form_id=form.id,
        )
        return redirect("template-run", run.pk)
    return redirect("template-run", dry_run.pk)


@require_POST
def template_run_cancel(request: PanelRequest, template_run_id: int) -> HttpResponse:
    """Cancel a run. Changes that it already published stay."""
    require(request.user, Permission.EDIT)
    run = verbs.run_for(request.user, template_run_id)
    with reporting(request, RunRefused):
        verbs.cancel_run(run=run, by=request.user, now=timezone.now())
        say_done(request, gettext("Run cancelled. Changes that it has already published remain."))
    return redirect("template-run", run.pk)
