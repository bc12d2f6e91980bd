"""Views of quotas: a user's own quotas, and the quotas that administrators set for users and teams."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Membership, Team, User
from dnspanel.accounts.people import teams
from dnspanel.accounts.quotas.quota_amounts import UNLIMITED, Kind, format_amount, noun_of, parse_amount, round_amount
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.quotas.quotas import Usage, holder_of, limits_by_settings, quotas_from_json
from dnspanel.texts import gettext
from dnspanel.transfer.import_quotas import MOST_COUNTED, usage_of
from dnspanel.web.frame.forms import PanelForm
from dnspanel.web.frame.layout import PanelRequest, say_done
from dnspanel.zones.rights import access


@dataclass(frozen=True, slots=True)
class DisplayUsage:
    """A quota and its usage, as shown on a page."""

    usage: Usage
    title: str
    used: str
    limit: str


class QuotasForm(PanelForm):
    """A form with a field for each kind of quota. An empty field means the limit from the settings."""

    def __init__(self, *args: Any, of: User | Team, **kwargs: Any) -> None:
        given = quotas_from_json(of.quotas)
        kwargs["initial"] = {str(kind): format_amount(kind, amount) for kind, amount in given.items()}
        super().__init__(*args, **kwargs)
        for kind, limit in limits_by_settings(of).items():
            attrs = {"class": "input", "autocomplete": "off", "placeholder": format_amount(kind, limit)}
            widget = forms.TextInput(attrs=attrs)
            self.fields[kind] = forms.CharField(label=_title(kind), required=False, max_length=30, widget=widget)

    @property
    def quotas(self) -> dict[Kind, int | None]:
        """The quotas from a valid form, keyed by kind. None means unlimited. A missing kind has the settings' limit."""
        return {Kind(kind): amount for kind, amount in self.cleaned_data.items()}

    def clean(self) -> dict[str, int | None]:
        typed: dict[str, int | None] = {}
        for kind in Kind:
            if text := self.cleaned_data.get(kind, "").strip():
                try:
                    typed[kind] = parse_amount(kind, text)
                except ValueError as exc:
                    self.add_error(kind, str(exc))
        return typed


@require_safe
def own_quotas(request: PanelRequest) -> HttpResponse:
    """Show the usage and limits of the signed-in user and of the user's teams."""
    memberships = Membership.objects.filter(user=request.user).select_related("team").order_by("team__name")
    context = {
        "quotas": display_usage(request.user),
        "teams": [(each.team, display_usage(each.team)) for each in memberships],
    }
    return render(request, "access/quotas.html", context)


@require_POST
def person_quotas(request: PanelRequest, person_id: int) -> HttpResponse:
    """Set a person's quotas, which override the limits from the settings."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    return _set(request, person, person.username) or redirect("person-detail", person.pk)


@require_POST
def team_quotas(request: PanelRequest, team_id: int) -> HttpResponse:
    """Set a team's quotas, which override the limits from the settings."""
    access.require(request.user, Permission.PEOPLE)
    team = teams.team_by_id(team_id)
    return _set(request, team, team.name) or redirect("team-detail", team.pk)


def _set(request: PanelRequest, of: User | Team, name: str) -> HttpResponse | None:
    """Set the quotas from the form and return None. If the form is invalid, return the page with its errors."""
    form = QuotasForm(request.POST, of=of)
    if not form.is_valid():
        return render(
            request, "access/quotas_edit.html", quotas_context(of, form) | {"of": of, "name": name}, status=422
        )
    set_quotas(of=of, quotas=form.quotas, by=request.user, now=timezone.now())
    say_done(request, gettext("Quotas for {name} saved."), name=name)
    return None


def quotas_context(of: User | Team, form: QuotasForm | None = None) -> dict[str, Any]:
    """Return the template context of the quotas card: usage, and the form that sets the quotas."""
    return {"quotas": display_usage(of), "quotas_form": form or QuotasForm(of=of)}


def display_usage(of: User | Team) -> list[DisplayUsage]:
    """Return the usage and the limit of each kind of quota for a person or a team."""
    return [
        DisplayUsage(
            usage,
            _title(usage.kind),
            _usage_text(usage),
            UNLIMITED if usage.limit is None else round_amount(usage.kind, usage.limit),
        )
        for usage in usage_of(holder_of(of), timezone.now())
    ]


def _usage_text(usage: Usage) -> str:
    if usage.used is None:
        return ""
    uncounted = usage.limit is None and usage.kind is not Kind.BYTES and usage.used >= MOST_COUNTED
    amount = round_amount(usage.kind, usage.used)
    return gettext("at least {amount}").format(amount=amount) if uncounted else amount


def _title(kind: Kind) -> str:
    noun = noun_of(kind)
    return noun[0].upper() + noun[1:]
