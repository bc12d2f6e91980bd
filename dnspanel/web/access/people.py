"""Views of people, for administrators: accounts, roles and invitations."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts import invite as invitations
from dnspanel.accounts import people as verbs
from dnspanel.accounts.errors import LastAdministrator
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.roles import PERMISSIONS, Permission
from dnspanel.web.confirm import Question, ask
from dnspanel.web.forms import InviteForm, RoleForm
from dnspanel.web.layout import PanelRequest
from dnspanel.web.one_time_page import show_once
from dnspanel.zones import access


@require_safe
def people_list(request: PanelRequest) -> HttpResponse:
    """List people and show the form that invites one."""
    access.require(request.user, Permission.PEOPLE)
    people = User.objects.order_by("-is_active", "username").prefetch_related("memberships__team")
    return render(request, "access/people.html", {"people": people, "roles": Role.choices, "form": InviteForm()})


@require_POST
def invite(request: PanelRequest) -> HttpResponse:
    """Make an invitation and show its link, this once; one of an administrator wants the password."""
    access.require(request.user, Permission.PEOPLE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return redirect("people")
    role = Role(form.cleaned_data["role"])
    if role == Role.ADMINISTRATOR and (question := ask(request, _ADMINISTRATOR_INVITED)) is not None:
        return question
    secret = invitations.make_invitation(role=role, by=request.user, now=timezone.now())
    context = {
        "link": settings.PANEL_URL + reverse("welcome", args=[secret]),
        "role": role.label.lower(),
        "hours": int(invitations.LIFETIME.total_seconds() // 3600),
    }
    return show_once(request, render(request, "access/invitation.html", context), after=reverse("people"))


_ADMINISTRATOR_INVITED = Question(
    title="Invite an administrator",
    effects=("Whoever opens the link first may do everything here, and take everybody else’s role.",),
    button="Make the link",
    back="/people/",
    needs_password=True,
    only_password=True,
)


@require_POST
def change_role(request: PanelRequest, person_id: int) -> HttpResponse:
    """Give the person another role, after a yes to what that means."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _answer(request, refusal="Choose a role.")
    role = Role(form.cleaned_data["role"])
    if role == person.role:
        return _answer(request, done=f"{person.username} is {person.get_role_display().lower()} already.")
    if (question := ask(request, _about_role(person, role))) is not None:
        return question
    try:
        verbs.change_role(user=person, role=role, by=request.user, now=timezone.now())
    except LastAdministrator as exc:
        return _answer(request, refusal=str(exc))
    return _answer(request, done=f"{person.username} is now {person.get_role_display().lower()}.")


@require_POST
def change_active(request: PanelRequest, person_id: int) -> HttpResponse:
    """Close the person's account, after a yes to what that means, or open it again (`active` is yes or no)."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    if request.POST.get("active") == "yes":
        verbs.reactivate(user=person, by=request.user, now=timezone.now())
        return _answer(request, done=f"{person.username} may sign in again. Sessions and tokens of before stay ended.")
    if (question := ask(request, _about_closing(person))) is not None:
        return question
    try:
        verbs.deactivate(user=person, by=request.user, now=timezone.now())
    except LastAdministrator as exc:
        return _answer(request, refusal=str(exc))
    return _answer(request, done=f"{person.username} can no longer sign in.")


def _about_role(person: User, role: Role) -> Question:
    before, after = PERMISSIONS[person.role], PERMISSIONS[role]
    effects = [f"{person.username} is {person.get_role_display().lower()} now."]
    for words, permissions in (("May then also", after - before), ("May no longer", before - after)):
        if permissions:
            effects.append(f"{words}: {'; '.join(each for each in Permission if each in permissions)}.")
    if before - after:
        effects.append("Their tokens may no more than they themselves, from the same moment on.")
    return Question(
        title=f"Make {person.username} {role.label.lower()}",
        effects=tuple(effects),
        button=f"Make {person.username} {role.label.lower()}",
        back=reverse("people"),
        needs_password=role == Role.ADMINISTRATOR,
    )


def _about_closing(person: User) -> Question:
    tokens = person.tokens.filter(revoked_at=None).count()
    return Question(
        title=f"Close the account of {person.username}",
        effects=(
            f"{person.username} is signed out everywhere and cannot sign in again.",
            f"Their tokens and keys ({tokens}) and open invitations end for good, also if the account is opened again.",
            "What they published stays, with their name.",
        ),
        button="Close the account",
        back=reverse("people"),
    )


def _answer(request: PanelRequest, *, done: str = "", refusal: str = "") -> HttpResponse:
    """Return to the list with a message."""
    if done:
        messages.success(request, done)
    else:
        messages.error(request, refusal)
    return redirect("people")
