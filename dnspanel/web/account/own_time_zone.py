"""The page where users choose their time zone."""

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.people.own_time_zone import set_time_zone
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.time_zones import offered_names
from dnspanel.web.frame.forms import PanelForm
from dnspanel.web.frame.layout import PanelRequest, say_done


class TimeZoneForm(PanelForm):
    """The form that chooses a time zone from the system's time zone database."""

    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        choices=lambda: [(name, name.replace("_", " ")) for name in offered_names()],
        help_text=(gettext_lazy("Pages show and accept times in this time zone. Files and APIs use UTC.")),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def own_time_zone(request: PanelRequest) -> HttpResponse:
    """Show the time zone form. A POST saves the time zone for all of the user's sessions."""
    form = TimeZoneForm(request.POST or None, initial={"time_zone": request.user.time_zone})
    if form.is_valid():
        set_time_zone(person=request.user, name=form.cleaned_data["time_zone"])
        say_done(request, gettext("Time zone changed to {time_zone}."), time_zone=request.user.time_zone)
        return redirect("account-time-zone")
    context = {"form": form, "now": timezone.now()}
    return render(request, "account/time_zone.html", context, status=422 if form.is_bound else 200)
