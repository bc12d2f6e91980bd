"""Publish a form's contents as the next version of a template or of a name server set."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates import edit_template
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.zone_templates.forms import ServersForm, TextForm
from dnspanel.zones.errors import TemplateMoved, TemplateRefused
from dnspanel.zones.models import ZoneTemplate


def publish_newer_version(
    request: PanelRequest, template: ZoneTemplate, form: TextForm | ServersForm, newest: int
) -> HttpResponse | None:
    """Publish a valid form's contents, if new, and redirect to the template. Add errors and return None if rejected."""
    with form.catching(TemplateRefused, TemplateMoved):
        published = edit_template.publish_version(
            template=template,
            content=form.content,
            seen=form.cleaned_data["seen"] or 0,
            by=request.user,
            now=timezone.now(),
        )
        if published.number == newest:
            messages.info(request, gettext("No changes to publish. The latest version has the same content."))
        else:
            message = gettext("Published version {number} of {name}.")
            say_done(request, message, number=published.number, name=template.name)
        return redirect("template-detail", template.pk)
    return None
