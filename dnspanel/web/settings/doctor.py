"""The page of `dnspanel doctor`: what is wrong with this installation, and what to do."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dnspanel.accounts.actors.roles import Permission
from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.zones.rights import access


@require_safe
def doctor_page(request: PanelRequest) -> HttpResponse:
    """Check the installation and show the report. This takes a few seconds if a part doesn't answer."""
    access.require(request.user, Permission.NODES)
    return render(request, "settings/doctor.html", {"report": diagnose(now=timezone.now()), "tab": "doctor"})
