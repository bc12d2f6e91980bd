"""Views of templates: the list, one template, its text with live validation, its versions, and its zones."""

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates import access, edit_template, queries
from dnspanel.transfer.zone_templates.template_content import Made, variables_stored, version_of
from dnspanel.transfer.zone_templates.try_text import try_text
from dnspanel.web.frame.layout import PanelRequest, is_fragment, say_done
from dnspanel.web.zone_templates.forms import HeadForm, NewTemplateForm, TextForm
from dnspanel.web.zone_templates.newer_version import publish_newer_version
from dnspanel.zones.errors import Forbidden, TemplateRefused, TemplateUnknown
from dnspanel.zones.models import TemplateKind, TemplateVersion, ZoneTemplate
from dnspanel.zones.rights.access import require
from dnspanel.zones.settings.template_text import KIND_LABELS, Variable
from replication.dns import names, rdata
from replication.dns.rrset import RRset

MOST_DISPLAYED = 60  # records of a preview
MOST_LISTED = 50  # versions

_BEGINS_WITH = {
    TemplateKind.ZONE: "$TTL 3600\n@    A    {{ ip }}\nwww  CNAME  @\n",
    TemplateKind.SNIPPET: "$TTL 3600\n{{ host }}  CNAME  {{ target }}\n",
}


@dataclass(frozen=True, slots=True)
class DisplayVariable:
    variable: Variable

    @property
    def kind(self) -> str:
        return gettext(KIND_LABELS[self.variable.kind])


@dataclass(frozen=True, slots=True)
class DisplayRecords:
    """The first records that a template creates, as lines, and the number of remaining records."""

    lines: list[str]
    more: int


def display_records(rrsets: tuple[RRset, ...], zone: str) -> DisplayRecords:
    """Return the first MOST_DISPLAYED records as preview lines, and the number of remaining records."""
    lines = [
        f"{names.owner_text(each.name, zone)} {each.ttl} {rdata.type_to_text(each.type)} {text}"
        for each in rrsets
        for text in each.rdata
    ]
    return DisplayRecords(lines[:MOST_DISPLAYED], max(0, len(lines) - MOST_DISPLAYED))


@require_safe
def template_list(request: PanelRequest) -> HttpResponse:
    """List the templates that the user is allowed to see, except name server sets."""
    require(request.user, Permission.READ)
    context = {
        "templates": access.templates_visible_to(request.user).exclude(kind=TemplateKind.SERVERS),
        "may_make": access.may_make_templates(request.user),
    }
    return render(request, "zone_templates/list.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def template_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new template. A POST creates the template. A POST from htmx only validates the text."""
    if not access.may_make_templates(request.user):
        raise Forbidden(
            Permission.EDIT, gettext("You don’t have permission to create templates for the whole panel or for a team.")
        )
    if request.method != "POST":
        kind = request.GET.get("kind", "")
        kind = kind if kind in _BEGINS_WITH else TemplateKind.ZONE
        head = NewTemplateForm(author=request.user, initial={"kind": kind})
        text = TextForm(initial={"text": _BEGINS_WITH[TemplateKind(kind)]})
        return _new_page(request, head, text)
    head, text = NewTemplateForm(request.POST, author=request.user), TextForm(request.POST)
    if is_fragment(request):
        return _check(request, text)
    if head.is_valid() & text.is_valid():
        try:
            template = edit_template.create_template(
                head=head.head,
                kind=head.cleaned_data["kind"],
                content=text.content,
                by=request.user,
                now=timezone.now(),
            )
        except TemplateRefused as exc:
            _refuse(head, text, exc)
        else:
            say_done(request, gettext("Template {name} created. No zones were changed."), name=template.name)
            return redirect("template-detail", template.pk)
    elif text.is_valid():
        _check_text(text)
    return _new_page(request, head, text, status=422)


def _check_text(text: TextForm) -> None:
    """Add the text's errors to the form, even if the form already has other errors."""
    with text.catching(TemplateRefused):
        edit_template.check_text(text.content)


def _refuse(head: HeadForm, text: TextForm, refusal: TemplateRefused) -> None:
    of_head = {name: found for name, found in refusal.fields.items() if name in ("name", "description", "kind")}
    head.refuse_all(of_head)
    text.refuse_all({name: found for name, found in refusal.fields.items() if name not in of_head})


def _new_page(request: PanelRequest, head: HeadForm, text: TextForm, status: int = 200) -> HttpResponse:
    context = {"head": head, "text": text, **_preview(text)}
    return render(request, "zone_templates/new.html", context, status=status)


@require_safe
def template_detail(request: PanelRequest, template_id: int) -> HttpResponse:
    """Show a template's current text, variables and newest versions."""
    require(request.user, Permission.READ)
    template = access.template_for(request.user, template_id)
    version = version_of(template)
    older = TemplateVersion.objects.filter(template=template).select_related("author").order_by("-number")
    context = {
        **_version_context(version),
        "versions": older.defer("text", "variables")[:MOST_LISTED],
        "is_partial": template.version > MOST_LISTED,
    }
    return _template_page(request, template, "zone_templates/detail.html", context)


def _version_context(version: TemplateVersion) -> dict[str, object]:
    return {"version": version, "variables": [DisplayVariable(each) for each in variables_stored(version)]}


def _template_page(
    request: PanelRequest, template: ZoneTemplate, page: str, context: dict[str, object], status: int = 200
) -> HttpResponse:
    """Render a page of a template. Add `may_change` to the context: whether the user can change the template."""
    own = {"template": template, "may_change": access.may_change_in(request.user, template.team_id)}
    return render(request, page, own | context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
def template_edit(request: PanelRequest, template_id: int) -> HttpResponse:
    """Show the newest version's text. A POST publishes a new version. A POST from htmx only validates the text.

    For a name server set, redirect to the set's own page.
    """
    template = _changeable(request, template_id)
    if template.kind == TemplateKind.SERVERS:
        return redirect("server-set-edit", template.pk)
    version = version_of(template)
    declared = variables_stored(version)
    if request.method != "POST":
        form = TextForm(declared=declared, initial={"text": version.text, "seen": version.number})
        return _edit_page(request, template, form)
    form = TextForm(request.POST, declared=declared)
    if is_fragment(request):
        return _check(request, form)
    if form.is_valid() and (done := publish_newer_version(request, template, form, version.number)):
        return done
    return _edit_page(request, template, form, status=422)


def _edit_page(request: PanelRequest, template: ZoneTemplate, form: TextForm, status: int = 200) -> HttpResponse:
    return _template_page(request, template, "zone_templates/edit.html", {"text": form, **_preview(form)}, status)


def _changeable(request: PanelRequest, template_id: int) -> ZoneTemplate:
    """Return the template. Raise Forbidden if the user isn't allowed to change it."""
    template = access.template_for(request.user, template_id)
    access.require_change_in(request.user, template.team)
    return template


def _check(request: PanelRequest, form: TextForm) -> HttpResponse:
    return render(request, "zone_templates/_check.html", {"text": form, **_preview(form)})


def _preview(form: TextForm) -> dict[str, object]:
    """Return the text's first records (with sample values) and errors. Both are empty if the form is invalid."""
    if not form.is_bound:
        made = try_text(str(form.initial.get("text", "")), form.declared)
    elif form.is_valid():
        made = try_text(form.content.text.replace("\r\n", "\n"), form.content.variables)
    else:
        made = Made(())
    faults = [fault for fault in made.faults if fault.line or not fault.variable]
    return {
        "faults": faults[:MOST_DISPLAYED],
        "made": display_records(made.rrsets, "example.com.") if made.rrsets else None,
    }


@require_http_methods(["GET", "HEAD", "POST"])
def template_head(request: PanelRequest, template_id: int) -> HttpResponse:
    """Show the template's name, team and description. A POST changes them."""
    template = _changeable(request, template_id)
    form = HeadForm(request.POST or None, author=request.user, initial=HeadForm.initial_of(template))
    if form.is_valid():
        with form.catching(TemplateRefused):
            edit_template.change_template(template=template, head=form.head, by=request.user, now=timezone.now())
            say_done(request, gettext("Template updated. No versions were changed."))
            return redirect("template-detail", template.pk)
    status = 422 if form.is_bound else 200
    return _template_page(request, template, "zone_templates/head.html", {"form": form}, status)


@require_safe
def template_version(request: PanelRequest, template_id: int, number: int) -> HttpResponse:
    """Show a version of a template, and its changes from the previous version."""
    require(request.user, Permission.READ)
    template = access.template_for(request.user, template_id)
    found = {
        version.number: version
        for version in TemplateVersion.objects.select_related("author").filter(
            template=template, number__in=(number - 1, number)
        )
    }
    if number not in found:
        raise TemplateUnknown
    before = found.get(number - 1)
    context = {
        **_version_context(found[number]),
        "before": before,
        "diff": queries.text_diff(before, found[number]) if before else [],
    }
    return _template_page(request, template, "zone_templates/version.html", context)


@require_safe
def template_zones(request: PanelRequest, template_id: int) -> HttpResponse:
    """List the zones linked to a template. htmx gets only the next rows."""
    require(request.user, Permission.READ)
    template = access.template_for(request.user, template_id)
    page = queries.linked_page(template=template, user=request.user, after=request.GET.get("after", ""))
    context: dict[str, object] = {"page": page}
    if is_fragment(request):
        return _template_page(request, template, "zone_templates/_zone_rows.html", context)
    return _template_page(request, template, "zone_templates/zones.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def template_delete(request: PanelRequest, template_id: int) -> HttpResponse:
    """Show how the deletion affects zones that use the template. A POST deletes the template."""
    template = _changeable(request, template_id)
    if request.method == "POST":
        edit_template.delete_template(template=template, by=request.user, now=timezone.now())
        is_set = template.kind == TemplateKind.SERVERS
        if is_set:
            say_done(request, gettext("Name server set {name} deleted. No zones were changed."), name=template.name)
        else:
            say_done(request, gettext("Template {name} deleted. No zones were changed."), name=template.name)
        return redirect("server-set-list" if is_set else "template-list")
    context: dict[str, object] = {"linked": queries.linked_count(template)}
    return _template_page(request, template, "zone_templates/delete.html", context)
