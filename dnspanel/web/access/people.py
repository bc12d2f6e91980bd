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
from dnspanel.accounts.roles import Permission
from dnspanel.web.forms import InviteForm, RoleForm
from dnspanel.web.layout import PanelRequest, no_store, say
from dnspanel.zones import access


@require_safe
def people_list(request: PanelRequest) -> HttpResponse:
    """List people and show the form that invites one."""
    access.require(request.user, Permission.PEOPLE)
    people = User.objects.order_by("-is_active", "username").prefetch_related("memberships__team")
    return render(request, "access/people.html", {"people": people, "roles": Role.choices, "form": InviteForm()})


@no_store
@require_POST
def invite(request: PanelRequest) -> HttpResponse:
    """Make an invitation and show its link, this once."""
    access.require(request.user, Permission.PEOPLE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return redirect("people")
    role = Role(form.cleaned_data["role"])
    secret = invitations.make_invitation(role=role, by=request.user, now=timezone.now())
    context = {
        "link": settings.PANEL_URL + reverse("welcome", args=[secret]),
        "role": role.label.lower(),
        "hours": int(invitations.LIFETIME.total_seconds() // 3600),
    }
    return render(request, "access/_invitation.html" if request.htmx else "access/invitation.html", context)


@require_POST
def change_role(request: PanelRequest, person_id: int) -> HttpResponse:
    """Give the person another role."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _answer(request, person, refusal="Choose a role.")
    try:
        verbs.change_role(user=person, role=form.cleaned_data["role"], by=request.user, now=timezone.now())
    except LastAdministrator as exc:
        return _answer(request, person, refusal=str(exc))
    return _answer(request, person, done=f"{person.username} is now {person.get_role_display().lower()}.")


@require_POST
def change_active(request: PanelRequest, person_id: int) -> HttpResponse:
    """Close the person's account, or open it again (`active` is yes or no)."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    if request.POST.get("active") == "yes":
        verbs.reactivate(user=person, by=request.user, now=timezone.now())
        return _answer(request, person, done=f"{person.username} may sign in again.")
    try:
        verbs.deactivate(user=person, by=request.user, now=timezone.now())
    except LastAdministrator as exc:
        return _answer(request, person, refusal=str(exc))
    return _answer(request, person, done=f"{person.username} can no longer sign in.")


def _answer(request: PanelRequest, person: User, *, done: str = "", refusal: str = "") -> HttpResponse:
    """Return the person's row with a message for htmx, else redirect to the page with the same message."""
    if not request.htmx:
        if done:
            messages.success(request, done)
        else:
            messages.error(request, refusal)
        return redirect("people")
    person.refresh_from_db()
    row = render(
        request,
        "access/_person_row.html",
        {"person": person, "roles": Role.choices},
        status=409 if refusal else 200,
    )
    return say(row, toast=done or refusal, kind="bad" if refusal else "ok")
