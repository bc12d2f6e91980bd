"""Views of a zone's templates: list or unlink templates, preview a template's changes, add them to the draft."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2s

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.zone_templates import access as template_access
from dnspanel.transfer.zone_templates import queries, use
from dnspanel.transfer.zone_templates.compare_template import Act, Step
from dnspanel.transfer.zone_templates.template_content import variables_stored, version_of
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import AmbiguousName, read_owner
from dnspanel.web.editor.lines.rrset_form import digest_of
from dnspanel.web.editor.table import violations_of
from dnspanel.web.editor.zone_head import render_zone
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.frame.row_diffs import DisplayDiff
from dnspanel.web.frame.variable_fields import VariablesForm
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.log.history import diff
from dnspanel.zones.models import TemplateKind, TemplateLink, Zone, ZoneTemplate
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Violation
from replication.errors import ReplicationError

MOST_CHECKED = 200  # the preview checks the rules of this many RRsets; the review checks all


@dataclass(frozen=True, slots=True)
class DisplayStep:
    step: Step
    diff: DisplayDiff
    is_ticked: bool

    @property
    def value(self) -> str:
        return tick_of(self.step)

    @property
    def is_conflict(self) -> bool:
        return self.step.act is Act.CONFLICT


@dataclass(frozen=True, slots=True)
class Applying:
    """A template being applied to a zone: the input, the resulting changes, and errors."""

    template: ZoneTemplate
    link: TemplateLink | None
    form: VariablesForm
    name: str = "@"
    name_fault: str = ""
    keep: bool = False
    steps: tuple[DisplayStep, ...] | None = None
    same: int = 0
    seen: str = ""
    violations: tuple[Violation, ...] = ()
    message: str = ""

    @property
    def is_snippet(self) -> bool:
        return self.template.kind == TemplateKind.SNIPPET

    @property
    def conflicts(self) -> int:
        return sum(each.is_conflict for each in self.steps or ())

    @property
    def may_add(self) -> bool:
        """True if there are changes to add to the draft, or a link to create."""
        return self.steps is not None and (bool(self.steps) or (self.keep and self.link is None))


def tick_of(step: Step) -> str:
    """Return the checkbox value of a step."""
    return f"{step.change.type} {step.change.name}"


@require_safe
def zone_templates(request: PanelRequest, zone_name: str) -> HttpResponse:
    """List the templates that can be applied to this zone, and the templates that are linked to it."""
    zone = access.zone_for_editing(request.user, zone_name)
    templates = list(template_access.templates_visible_to(request.user))
    context: dict[str, object] = {
        "links": queries.links_of(zone, request.user),
        "for_zones": [each for each in templates if each.kind == TemplateKind.ZONE],
        "snippets": [each for each in templates if each.kind == TemplateKind.SNIPPET],
        "sets": [each for each in templates if each.kind == TemplateKind.SERVERS],
        "may_make": template_access.may_make_templates(request.user),
    }
    return render_zone(request, zone, "records", "zone_templates/zone.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def zone_template(request: PanelRequest, zone_name: str, template_id: int) -> HttpResponse:
    """Show a template's variables. A POST previews the changes to the zone, or adds the selected ones to the draft."""
    zone = access.zone_for_editing(request.user, zone_name)
    template = template_access.template_for(request.user, template_id)
    link = use.link_of(zone, template)
    variables = variables_stored(version_of(template))
    if request.method != "POST":
        form = VariablesForm.of(variables, link.values if link else {})
        return _show(
            request, zone, Applying(template, link, form, request.GET.get("name", "@")[:1100], keep=bool(link))
        )
    act = request.GET.get("act") or request.POST.get("act", "preview")
    applying = _preview_applying(request, zone, template, link, VariablesForm(request.POST, variables=variables))
    if applying.steps is None:
        return _show(request, zone, applying, status=200 if act == "typed" else 422)
    if act == "add" and applying.may_add and request.POST.get("seen") == applying.seen:
        return _draft(request, zone, applying)
    if act == "add" and request.POST.get("seen"):
        message = gettext("The zone, your draft or the template has changed in the meantime. Review the changes again.")
        applying = _with(applying, message=message)
    return _show(request, zone, applying)


def _preview_applying(
    request: PanelRequest, zone: Zone, template: ZoneTemplate, link: TemplateLink | None, form: VariablesForm
) -> Applying:
    typed = request.POST.get("name", "@")[:1100]
    applying = Applying(template, link, form, typed, keep="keep" in request.POST)
    owner = zone.name
    if applying.is_snippet:
        try:
            owner = read_owner(typed, zone.name)
        except Unreadable as exc:
            return _with(applying, name_fault=exc.message)
        except AmbiguousName as exc:
            fault = gettext("{typed} has no trailing dot. Enter {absolute} or {relative}").format(
                typed=exc.typed, absolute=exc.absolute, relative=exc.relative
            )
            return _with(applying, name_fault=fault)
        except ReplicationError as exc:
            return _with(applying, name_fault=str(exc))
    if not form.is_valid():
        return applying
    try:
        using = use.using(template, form.values)
    except TemplateRefused as exc:
        form.refuse_fields(exc)
        return applying
    proposal = use.propose(use=using, zone=zone, author=request.user, name=owner)
    if proposal.faults:
        form.refuse_at(proposal.faults)
        return applying
    changing = [step for step in proposal.steps if step.changes]
    seen = _digest_of_steps(using, changing)
    ticked = set(request.POST.getlist("step")) if request.POST.get("seen") == seen else None
    displayed = _display(zone, changing, ticked)
    rrsets = [each.step.change.after for each in displayed[:MOST_CHECKED] if each.is_ticked and each.step.change.after]
    return _with(
        applying,
        steps=tuple(displayed),
        same=len(proposal.steps) - len(changing),
        seen=seen,
        violations=violations_of(request, zone, *rrsets) if rrsets else (),
    )


def _with(applying: Applying, **changed: object) -> Applying:
    fields = {name: getattr(applying, name) for name in applying.__slots__}
    return Applying(**(fields | changed))


def _display(zone: Zone, steps: Sequence[Step], ticked: set[str] | None) -> list[DisplayStep]:
    """Return the steps with checkboxes. In a new preview, all steps except conflicts are selected."""
    return [
        DisplayStep(
            step,
            DisplayDiff(zone.name, diff(step.change)),
            step.act is not Act.CONFLICT if ticked is None else tick_of(step) in ticked,
        )
        for step in steps
    ]


def _digest_of_steps(using: use.Using, steps: Sequence[Step]) -> str:
    """Return a digest of the template's version and of the changes. It is used to detect an outdated preview."""
    parts = [digest_of(step.change.before) + digest_of(step.change.after) for step in steps]
    return blake2s(f"{using.version.number} {' '.join(parts)}".encode()).hexdigest()


def _draft(request: PanelRequest, zone: Zone, applying: Applying) -> HttpResponse:
    steps = [each.step for each in applying.steps or () if each.is_ticked]
    using = use.using(applying.template, applying.form.values)
    count = use.draft_steps(
        use=using,
        zone=zone,
        steps=steps,
        author=request.user,
        now=timezone.now(),
        keep=None if applying.is_snippet else applying.keep,
    )
    message = ngettext(
        "Added {count} change from {name} to your draft.", "Added {count} changes from {name} to your draft.", count
    )
    say_done(request, message, name=applying.template.name, count=count)
    if applying.keep and not applying.is_snippet:
        say_done(request, gettext("{name} linked to the template."), name=zone.name)
    return redirect(f"{reverse('zone-detail', args=[zone.name])}{'?in=draft' if count else ''}")


def _show(request: PanelRequest, zone: Zone, applying: Applying, status: int = 200) -> HttpResponse:
    context: dict[str, object] = {"applying": applying}
    if is_fragment(request):
        return render(request, "zone_templates/_apply_preview.html", {"zone": zone, **context}, status=status)
    return render_zone(request, zone, "records", "zone_templates/apply.html", context, status)


@require_POST
def zone_template_unlink(request: PanelRequest, zone_name: str, template_id: int) -> HttpResponse:
    """Unlink the template from the zone. The zone's records don't change."""
    zone = access.zone_for_editing(request.user, zone_name)
    template = template_access.template_for(request.user, template_id)
    use.unlink(zone=zone, template=template, by=request.user, now=timezone.now())
    say_done(
        request, gettext("{name} unlinked from {name2}. No records were changed."), name=zone.name, name2=template.name
    )
    return redirect("zone-templates", zone.name)
