"""Views of service accounts, and of the handover of tokens, webhooks, drafts and publish hooks when someone leaves."""

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.errors import AccountRefused, GrantRefused, TokenRefused
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.frame.forms import PanelForm, id_in, text_field
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.webhooks.hand_over import hand_over
from dnspanel.zones.errors import DraftRefused
from dnspanel.zones.rights import access

MOST_RECEIVERS = 1000


class ServiceAccountForm(PanelForm):
    """The form for a service account: its name and its role. Teams and grants can be added later."""

    username = text_field(gettext_lazy("Name"), 150, required=True, autocomplete="off", placeholder="terraform")
    service_role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices, initial=Role.MEMBER)


@require_POST
def service_account(request: PanelRequest) -> HttpResponse:
    """Create a service account and redirect to its page."""
    access.require(request.user, Permission.PEOPLE)
    form = ServiceAccountForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(text) for faults in form.errors.values() for text in faults))
        return redirect("people")
    name, role = form.cleaned_data["username"], form.cleaned_data["service_role"]
    try:
        made = create_service_account(name=name, role=role, by=request.user, now=timezone.now())
    except (AccountRefused, GrantRefused) as exc:
        messages.error(request, f"{name[:150]}: {exc}")
        return redirect("people")
    say_done(
        request,
        gettext("Service account {username} created. Add it to teams or add grants, then create tokens."),
        username=made.username,
    )
    return redirect("person-detail", made.pk)


@require_POST
def person_hand_over(request: PanelRequest, person_id: int) -> HttpResponse:
    """Hand over a person's selected tokens, webhooks, drafts and publish hooks to another account."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    to_id = id_in(request.POST.get("to", ""))
    to = None if to_id is None else User.objects.filter(pk=to_id).first()
    if to is None:
        messages.error(request, gettext("Choose a new owner."))
        return redirect("person-detail", person.pk)
    with reporting(request, AccountRefused, TokenRefused, DraftRefused, text=gettext("{exc} Nothing was transferred.")):
        count = hand_over(
            person=person,
            to=to,
            token_ids=_ticked_ids(request, "token"),
            webhook_ids=_ticked_ids(request, "webhook"),
            draft_ids=_ticked_ids(request, "draft"),
            hook_ids=_ticked_ids(request, "hook"),
            by=request.user,
            now=timezone.now(),
        )
        what = ngettext("{count} item owned by {username}", "{count} items owned by {username}", count).format(
            count=count, username=person.username
        )
        say_done(
            request,
            gettext("Transferred to {username}: {what}.").format(username=to.username, what=what)
            if count
            else gettext("No items selected."),
        )
    return redirect("person-detail", person.pk)


def receivers_for(person: User) -> list[User]:
    """Return at most MOST_RECEIVERS active accounts that can receive a handover, service accounts first."""
    others = User.objects.filter(is_active=True).exclude(pk=person.pk)
    return list(others.order_by("-is_service", "username")[:MOST_RECEIVERS])


def _ticked_ids(request: PanelRequest, name: str) -> list[int]:
    return [pk for text in request.POST.getlist(name) if (pk := id_in(text)) is not None]
