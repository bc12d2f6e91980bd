"""The view of second-factor rules for roles and teams, for users with the permission `people`."""

from django import forms
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Team
from dnspanel.accounts.sign_in.second_factor_rules import MOST_GRACE, MOST_LISTED, people_without, rules, set_rules
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm, number_field
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.web.frame.people_forms import role_choices
from dnspanel.zones.rights import access


class RulesForm(PanelForm):
    """The form for the roles and teams that require a second factor, and for the number of days to set it up."""

    roles = forms.MultipleChoiceField(
        label=gettext_lazy("Required for roles"),
        choices=role_choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    teams = forms.ModelMultipleChoiceField(
        Team.objects.order_by("name"),
        label=gettext_lazy("Required for teams"),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    grace = number_field(
        gettext_lazy("Grace period (days)"),
        0,
        MOST_GRACE,
        gettext_lazy(
            "The period starts when the rule is set or, for newer accounts, when the account is created. "
            "Enter 0 to require a second factor immediately."
        ),
        required=True,
        initial=14,
    )


@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_rules(request: PanelRequest) -> HttpResponse:
    """Show the rules, and the users that lack a required second factor. A POST changes the rules."""
    access.require(request.user, Permission.PEOPLE)
    found, now = rules(), timezone.now()
    initial = {
        "roles": [rule.role for rule in found if rule.role],
        "teams": [rule.team_id for rule in found if rule.team_id],
    }
    if found:
        initial["grace"] = max(rule.grace_days for rule in found)
    form = RulesForm(request.POST or None, initial=initial)
    if form.is_valid():
        set_rules(**form.cleaned_data, by=request.user, now=now)
        say_done(request, gettext("Second factor rules saved."))
        return redirect("people-second-factor")
    context = {"form": form, "rules": found, "late": people_without(found), "limit": MOST_LISTED, "now": now}
    return render(request, "access/second_factor_rules.html", context, status=422 if form.is_bound else 200)
