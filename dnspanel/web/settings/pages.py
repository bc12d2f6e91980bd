"""Views of the settings: environment settings, defaults for new zones, and the check of the installation."""

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.texts import gettext
from dnspanel.web.frame.layout import PanelRequest
from dnspanel.web.frame.new_zone_forms import ZoneDefaultsForm
from dnspanel.web.settings.registry import SECTIONS, EnvironmentSetting, Section, value_text
from dnspanel.zones.errors import DefaultsFixed, DefaultsMoved
from dnspanel.zones.rights import access
from dnspanel.zones.settings.zone_defaults import change_zone_defaults, zone_defaults


@dataclass(frozen=True, slots=True)
class DisplaySetting:
    """A setting and its displayed value. For secrets and some other settings, the value only says whether it is set."""

    setting: EnvironmentSetting
    value: str
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class DisplaySection:
    title: str
    settings: list[DisplaySetting]


@require_safe
def settings_page(request: PanelRequest) -> HttpResponse:
    """Show every environment setting with its displayed value, and links to settings on other pages."""
    access.require(request.user, Permission.NODES)
    context = {"sections": [_display(section) for section in SECTIONS], "tab": "environment"}
    return render(request, "settings/environment.html", context)


def _display(section: Section) -> DisplaySection:
    return DisplaySection(section.title, [_with_value(setting) for setting in section.settings])


def _with_value(setting: EnvironmentSetting) -> DisplaySetting:
    is_fixed = setting.variable in settings.FIXED_BY_ENVIRONMENT
    if setting.is_secret:
        return DisplaySetting(setting, gettext("set (hidden)") if is_fixed else gettext("not set"), is_fixed)
    if not setting.attribute:
        return DisplaySetting(setting, "set" if is_fixed else gettext("not set"), is_fixed)
    return DisplaySetting(setting, value_text(getattr(settings, setting.attribute, None)), is_fixed)


@require_safe
def doctor_page(request: PanelRequest) -> HttpResponse:
    """Check the installation and show the report. This takes a few seconds if a part doesn't answer."""
    access.require(request.user, Permission.NODES)
    return render(request, "settings/doctor.html", {"report": diagnose(now=timezone.now()), "tab": "doctor"})


@require_http_methods(["GET", "HEAD", "POST"])
def settings_zones(request: PanelRequest) -> HttpResponse:
    """Show the defaults for new zones. A POST changes the defaults."""
    access.require(request.user, Permission.NODES)
    defaults = zone_defaults()
    form = ZoneDefaultsForm(request.POST or None, defaults=defaults)
    if form.is_valid():
        try:
            change_zone_defaults(**form.cleaned_data, by=request.user, now=timezone.now())
        except (DefaultsFixed, DefaultsMoved) as exc:
            form.refuse(None, str(exc))
        else:
            messages.success(request, gettext("Defaults for new zones saved."))
            return redirect("settings-zones")
    context = {"form": form, "defaults": defaults, "tab": "zones"}
    return render(request, "settings/zones.html", context, status=422 if form.is_bound else 200)
