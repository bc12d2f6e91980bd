"""Views of name server sets: list, create, publish a new version, set the default for new zones."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates import access, edit_template
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.zone_templates.forms import HeadForm, ServersForm
from dnspanel.web.zone_templates.newer_version import publish_newer_version
from dnspanel.zones.errors import Forbidden, TemplateRefused, TemplateUnknown
from dnspanel.zones.models import TemplateKind
from dnspanel.zones.rights.access import require
from dnspanel.zones.settings.server_sets import newest_set, newest_sets


@require_safe
def server_set_list(request: PanelRequest) -> HttpResponse:
    """List the name server sets that the user is allowed to see."""
    require(request.user, Permission.READ)
    sets = newest_sets(access.sets_visible_to(request.user))
    context = {"sets": sets, "may_make": access.may_make_templates(request.user)}
    return render(request, "zone_templates/servers.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def server_set_new(request: PanelRequest) -> HttpResponse:
    """Show the form for a new name server set. A POST creates the set."""
    if not access.may_make_templates(request.user):
        raise Forbidden(
            Permission.EDIT,
            gettext("You don’t have permission to create name server sets for the whole panel or for a team."),
        )
    head = HeadForm(request.POST or None, author=request.user, initial={"team": request.GET.get("team", "")[:9]})
    form = ServersForm(request.POST or None)
    if head.is_valid() and form.is_valid():
        try:
            template = edit_template.create_template(
                head=head.head, kind=TemplateKind.SERVERS, content=form.content, by=request.user, now=timezone.now()
            )
        except TemplateRefused as exc:
            fields = head.fields.keys() | {"name"}
            head.refuse_all({name: found for name, found in exc.fields.items() if name in fields})
            form.refuse_all({name: found for name, found in exc.fields.items() if name not in fields})
        else:
            say_done(request, gettext("Name server set {name} created. No zones were changed."), name=template.name)
            return redirect("template-detail", template.pk)
    context = {"head": head, "form": form}
    return render(request, "zone_templates/servers_new.html", context, status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def server_set_edit(request: PanelRequest, set_id: int) -> HttpResponse:
    """Show the name server set's current contents. A POST publishes a new version."""
    template = access.template_for(request.user, set_id)
    access.require_change_in(request.user, template.team)
    found = newest_set(template)
    if found is None:
        raise TemplateUnknown
    form = ServersForm(request.POST or None, initial=ServersForm.initial_of(found.servers) | {"seen": found.version})
    if form.is_valid() and (done := publish_newer_version(request, template, form, found.version)):
        return done
    status = 422 if form.is_bound else 200
    return render(request, "zone_templates/servers_edit.html", {"template": template, "form": form}, status=status)


@require_POST
def server_set_default(request: PanelRequest, set_id: int) -> HttpResponse:
    """Make the name server set the default for new zones (of its team, if any), or unset it if `default` is empty."""
    template = access.template_for(request.user, set_id)
    is_default = bool(request.POST.get("default"))
    edit_template.set_default(template=template, is_default=is_default, by=request.user, now=timezone.now())
    if template.team:
        message = (
            gettext("{name} is now the default for new zones in the team {team}.")
            if is_default
            else gettext("{name} is no longer the default for new zones in the team {team}.")
        )
    else:
        message = (
            gettext("{name} is now the default for new zones.")
            if is_default
            else gettext("{name} is no longer the default for new zones.")
        )
    say_done(request, message, name=template.name, team=template.team.name if template.team else "")
    return redirect("template-detail", template.pk)
