"""Views of users, for administrators: the list, invitations, roles, and actions on accounts and their sign-in."""

from functools import partial

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, permissions_by_role, rights_by_role
from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.errors import AccountRefused, LastAdministrator
from dnspanel.accounts.models import OwnRole, Role, User
from dnspanel.accounts.people import invite as invitations
from dnspanel.accounts.people import people as verbs
from dnspanel.accounts.people.same_person import set_same_person
from dnspanel.accounts.sessions.sessions import end_all_sessions
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.accounts.sign_in.second_factor import reset_second_factor as reset
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS
from dnspanel.web.access.hand_over import ServiceAccountForm
from dnspanel.web.frame.confirm import Question, ask, run_confirmed
from dnspanel.web.frame.layout import PanelRequest, reporting, say_done
from dnspanel.web.frame.one_time_page import show_once
from dnspanel.web.frame.people_forms import InviteForm, RoleForm, role_choices
from dnspanel.zones.rights import access


@require_safe
def people_list(request: PanelRequest) -> HttpResponse:
    """List all users and show the invitation form."""
    access.require(request.user, Permission.PEOPLE)
    people = User.objects.order_by("-is_active", "username").prefetch_related("memberships__team", "own_role")
    context = {"people": people, "roles": role_choices(), "form": InviteForm(), "service_form": ServiceAccountForm()}
    return render(request, "access/people.html", context)


@require_POST
def invite(request: PanelRequest) -> HttpResponse:
    """Create an invitation and show its link once. Inviting an administrator requires the inviter's own password."""
    access.require(request.user, Permission.PEOPLE)
    form = InviteForm(request.POST)
    if not form.is_valid():
        return redirect("people")
    role = Role(form.cleaned_data["role"])
    if role == Role.ADMINISTRATOR:
        ask(request, _ADMINISTRATOR_INVITED)
    secret = invitations.make_invitation(role=role, by=request.user, now=timezone.now())
    context = {
        "link": settings.PANEL_URL + reverse("welcome", args=[secret]),
        "role": role.label.lower(),
        "hours": int(invitations.LIFETIME.total_seconds() // 3600),
    }
    return show_once(request, render(request, "access/invitation.html", context), after=reverse("people"))


_ADMINISTRATOR_INVITED = Question(
    gettext_lazy("Invite administrator"),
    gettext_lazy(
        "The first person who opens the link can do everything in the panel, including removing other people’s roles."
    ),
    button=gettext_lazy("Create link"),
    back="/people/",
    needs_password=True,
    only_password=True,
)


@require_POST
def change_role(request: PanelRequest, person_id: int) -> HttpResponse:
    """Change the person's role, after a confirmation that describes the effect."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _answer(request, refusal=gettext("Choose a role."))
    role, own = form.chosen_role()
    if (role, own) == (person.role, person.own_role):
        return _answer(
            request,
            done=gettext("{username} already has the role {person}.").format(
                username=person.username, person=_name_of_role(person)
            ),
        )
    change = partial(verbs.change_role, user=person, role=role, own_role=own, by=request.user, now=timezone.now())
    try:
        run_confirmed(request, _about_role(person, role, own), change)
    except LastAdministrator as exc:
        return _answer(request, refusal=str(exc))
    return _answer(
        request,
        done=gettext("{username}’s role changed to {person}.").format(
            username=person.username, person=_name_of_role(person)
        ),
    )


@require_POST
def change_active(request: PanelRequest, person_id: int) -> HttpResponse:
    """Reopen the person's account if `active` is yes. Otherwise, close the account after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    if request.POST.get("active") == "yes":
        verbs.reactivate(user=person, by=request.user, now=timezone.now())
        return _answer(
            request,
            done=gettext("{username}’s account reopened. Earlier sessions and tokens stay revoked.").format(
                username=person.username
            ),
        )
    close = partial(verbs.deactivate, user=person, by=request.user, now=timezone.now())
    try:
        run_confirmed(request, _about_closing(person), close)
    except LastAdministrator as exc:
        return _answer(request, refusal=str(exc))
    return _answer(request, done=gettext("{username}’s account closed.").format(username=person.username))


@require_POST
def same_person(request: PanelRequest, person_id: int) -> HttpResponse:
    """Link the account to the same person's account with the username `other`. An empty `other` removes the link."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    name = request.POST.get("other", "").strip()
    other = User.objects.filter(has_username(name[:150])).exclude(username="").first()
    if name and other is None:
        messages.error(request, gettext("Account not found."))
        return redirect("person-detail", person.pk)
    with reporting(request, AccountRefused):
        set_same_person(user=person, other=other, by=request.user, now=timezone.now())
        say_done(
            request,
            gettext("{username} and {other} are now linked as the same person’s accounts.").format(
                username=person.username, other=other.username
            )
            if other
            else gettext("{username} unlinked from the same person’s other accounts.").format(username=person.username),
        )
    return redirect("person-detail", person.pk)


@require_POST
def reset_second_factor(request: PanelRequest, person_id: int) -> HttpResponse:
    """Remove the person's second factors, after the administrator confirms with their own password."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    ask(request, _about_second_factor(person))
    reset(user=person, by=request.user, now=timezone.now())
    say_done(
        request,
        gettext(
            "Second factor for {username} reset. This person can now sign in with only their password, and "
            "set up a new second factor."
        ),
        username=person.username,
    )
    return redirect("person-detail", person.pk)


@require_POST
def end_sessions(request: PanelRequest, person_id: int) -> HttpResponse:
    """End all of the person's sessions, after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    question = Question(
        gettext("Revoke {username}’s sessions").format(username=person.username),
        gettext("{username} will be signed out everywhere, but can sign in again.").format(username=person.username),
        gettext("Tokens and drafts remain."),
        button=gettext("Revoke all sessions"),
        back=reverse("person-detail", args=[person.pk]),
    )
    ask(request, question)
    ended = end_all_sessions(user=person, by=request.user, now=timezone.now())
    say_done(request, gettext("{username}’s sessions revoked: {ended}."), ended=ended, username=person.username)
    return redirect("person-detail", person.pk)


@require_POST
def password_link(request: PanelRequest, person_id: int) -> HttpResponse:
    """Show once a link that sets the person's password, after the administrator confirms with their own password."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id, is_active=True, is_service=False)
    back = reverse("person-detail", args=[person.pk])
    question = Question(
        gettext("Create password link for {username}").format(username=person.username),
        gettext(
            "The first person who opens the link can set {username}’s password. The second factor stays the same."
        ).format(username=person.username),
        button=gettext("Create link"),
        back=back,
        needs_password=True,
        only_password=True,
    )
    make = partial(make_password_link, user=person, by=request.user, now=timezone.now())
    try:
        link = run_confirmed(request, question, make)
    except AccountRefused as exc:
        messages.error(request, " ".join(exc.fields["password"]))
        return redirect(back)
    context = {"link": settings.PANEL_URL + reverse("password-link", args=[link]), "person": person}
    return show_once(request, render(request, "access/password_link.html", context), after=back)


def _about_second_factor(person: User) -> Question:
    return Question(
        gettext("Reset second factor for {username}").format(username=person.username),
        gettext("{username}’s app, passkeys and recovery codes will stop working.").format(username=person.username),
        gettext("This person will be signed out everywhere."),
        gettext(
            "Make sure that the request comes from this person. After the reset, anyone with their password "
            "can sign in."
        ),
        button=gettext("Reset second factor"),
        back=reverse("person-detail", args=[person.pk]),
        needs_password=True,
    )


def _about_role(person: User, role: Role, own: OwnRole | None) -> Question:
    then = User(role=role, own_role=own)
    before, after = _powers(person), _powers(then)
    effects = [
        gettext("{username}’s current role: {person}.").format(username=person.username, person=_name_of_role(person))
    ]
    for words, these, those in ((gettext("New rights"), after, before), (gettext("Removed rights"), before, after)):
        if difference := [each for each in these if each not in those]:
            effects.append(f"{words}: {'; '.join(map(str, difference))}.")
    if set(before) - set(after):
        effects.append(gettext("The person’s tokens lose these rights immediately."))
    return Question(
        gettext("Change {username}’s role to {then}").format(username=person.username, then=_name_of_role(then)),
        *effects,
        back=reverse("people"),
        needs_password=role == Role.ADMINISTRATOR,
    )


def _powers(person: User) -> list[str]:
    """Return descriptions of the permissions that the person's role grants and, for a custom role, of its rights."""
    permissions, rights = permissions_by_role(person), rights_by_role(person)
    listed = [gettext(each.value) for each in Permission if each in permissions]
    if person.own_role is not None:  # the permissions of built-in roles already describe their rights over zones
        listed += [words for right, words in RIGHT_DESCRIPTIONS.items() if right in rights]
    return listed


def _name_of_role(person: User) -> str:
    return person.role_name if person.own_role is not None else person.role_name.lower()


def _about_closing(person: User) -> Question:
    tokens = person.tokens.filter(revoked_at=None).count()
    return Question(
        gettext("Close {username}’s account").format(username=person.username),
        gettext("{username} will be signed out everywhere and won’t be able to sign in again.").format(
            username=person.username
        ),
        gettext(
            "All of this person’s tokens and keys ({tokens}) and open invitations will be revoked, and stay "
            "revoked if the account is reopened."
        ).format(tokens=tokens),
        gettext(
            "Before you close the account, use the person’s page to transfer tokens, webhooks and drafts that "
            "others need."
        ),
        gettext("Published changes remain under the person’s name."),
        button=gettext("Close account"),
        back=reverse("people"),
    )


def _answer(request: PanelRequest, *, done: str = "", refusal: str = "") -> HttpResponse:
    """Redirect to the user list with a message."""
    if done:
        say_done(request, done)
    else:
        messages.error(request, refusal)
    return redirect("people")
