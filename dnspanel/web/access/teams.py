"""Views of teams, of grants to users and teams, and of one user's rights and the reasons for them."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Grant, Permission, Right, permissions_by_role
from dnspanel.accounts.actors.explain_rights import reasons_of
from dnspanel.accounts.audit.audit_log import entries_about_person
from dnspanel.accounts.errors import GrantRefused, TeamRefused
from dnspanel.accounts.models import GrantRow, Membership, Team, User
from dnspanel.accounts.people import teams as verbs
from dnspanel.accounts.people.same_person import accounts_of
from dnspanel.accounts.providers.links import decides_role, links_of
from dnspanel.accounts.rights import grant_edit
from dnspanel.accounts.sessions.sessions import sessions_of
from dnspanel.accounts.sign_in.second_factor import second_factors_of
from dnspanel.accounts.sign_in.second_factor_rules import second_factor_due
from dnspanel.texts import gettext, ngettext
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS, GrantDescription, describer_for
from dnspanel.web.access.grant_form import GrantForm
from dnspanel.web.access.hand_over import receivers_for
from dnspanel.web.access.quotas import quotas_context
from dnspanel.web.access.rights_form import ExplainRightsForm
from dnspanel.web.access.team_policies import policies_of_team
from dnspanel.web.frame.confirm import Question, ask
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, reporting, say_done
from dnspanel.webhooks.hand_over import belongings_of
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access


@dataclass(frozen=True, slots=True)
class DisplayGrant:
    """A grant with its description, for display in a list."""

    row: GrantRow
    description: GrantDescription


@require_safe
def team_list(request: PanelRequest) -> HttpResponse:
    """List every team with its members and its number of zones."""
    access.require(request.user, Permission.PEOPLE)
    return _teams_page(request)


def _teams_page(request: PanelRequest, *, typed: str = "", refusal: str = "") -> HttpResponse:
    teams = Team.objects.order_by("name").prefetch_related("memberships__user")
    # A separate query: in a join with the members, each zone would count once for each member.
    zones = Zone.objects.filter(deleted_at=None, team__isnull=False)
    counts = dict(zones.values_list("team").annotate(Count("pk")).order_by())
    context = {"teams": [(team, counts.get(team.pk, 0)) for team in teams], "typed": typed, "refusal": refusal}
    return render(request, "access/teams.html", context, status=422 if refusal else 200)


@require_POST
def team_new(request: PanelRequest) -> HttpResponse:
    """Create a team."""
    access.require(request.user, Permission.PEOPLE)
    name = request.POST.get("name", "")
    try:
        team = verbs.create_team(name=name, by=request.user, now=timezone.now())
    except TeamRefused as exc:
        return _teams_page(request, typed=name[:200], refusal=str(exc))
    return redirect("team-detail", team.pk)


@require_safe
def team_detail(request: PanelRequest, team_id: int) -> HttpResponse:
    """Show a team: its members, number of zones, grants, policies and quotas."""
    access.require(request.user, Permission.PEOPLE)
    return _team_page(request, verbs.team_by_id(team_id), GrantForm(person=request.user))


def _team_page(request: PanelRequest, team: Team, form: GrantForm) -> HttpResponse:
    members = Membership.objects.filter(team=team).select_related("user").order_by("user__username")
    context = {
        "team": team,
        "members": members,
        "others": User.objects.filter(is_active=True).exclude(memberships__team=team).order_by("username"),
        "zone_count": Zone.objects.filter(team=team, deleted_at=None).count(),
        "grants": display_grants(request, GrantRow.objects.filter(team=team)),
        "form": form,
        "policies": policies_of_team(team, request.user, timezone.now()),
    } | quotas_context(team)
    return render(request, "access/team.html", context, status=422 if form.is_bound else 200)


@require_POST
def team_rename(request: PanelRequest, team_id: int) -> HttpResponse:
    """Rename the team."""
    access.require(request.user, Permission.PEOPLE)
    team = verbs.team_by_id(team_id)
    with reporting(request, TeamRefused, text=NOTHING_CHANGED):
        verbs.rename_team(team=team, name=request.POST.get("name", ""), by=request.user, now=timezone.now())
        say_done(request, gettext("Team renamed to {name}."), name=team.name)
    return redirect("team-detail", team.pk)


@require_POST
def team_delete(request: PanelRequest, team_id: int) -> HttpResponse:
    """Delete the team and its grants if its name was typed as a confirmation. The team's zones aren't deleted."""
    access.require(request.user, Permission.PEOPLE)
    team = verbs.team_by_id(team_id)
    if request.POST.get("typed", "").strip() != team.name:
        messages.error(
            request, gettext("Nothing was changed. To delete the team, enter {name}.").format(name=team.name)
        )
        return redirect("team-detail", team.pk)
    verbs.delete_team(team=team, by=request.user, now=timezone.now())
    say_done(request, gettext("Team {name} deleted. Its zones remain, but without a team."), name=team.name)
    return redirect("team-list")


@require_POST
def team_member(request: PanelRequest, team_id: int) -> HttpResponse:
    """Add a person to the team. After a confirmation, change a member's role, or remove the member (empty `role`)."""
    access.require(request.user, Permission.PEOPLE)
    team = verbs.team_by_id(team_id)
    person = _person(request.POST.get("person", ""))
    role, now = request.POST.get("role", ""), timezone.now()
    _confirm_member(request, team, person, role)
    with reporting(request, TeamRefused, GrantRefused, text=NOTHING_CHANGED):
        if role:
            verbs.set_member(team=team, user=person, role=role, by=request.user, now=now)
            say_done(
                request,
                gettext("{username} now has the role {role} in {name}."),
                username=person.username,
                role=role,
                name=team.name,
            )
        else:
            verbs.remove_member(team=team, user=person, by=request.user, now=now)
            say_done(request, gettext("{username} removed from {name}."), username=person.username, name=team.name)
    return redirect("team-detail", team.pk)


def _confirm_member(request: PanelRequest, team: Team, person: User, role: str) -> None:
    """Ask for confirmation if an existing member gets a new role or is removed."""
    if role not in {"", *_IN_TEAM} or not Membership.objects.filter(team=team, user=person).exists():
        return
    zones = Zone.objects.filter(team=team, deleted_at=None).count()
    question = Question(
        gettext("Change {username}’s role in {name} to {role}").format(
            username=person.username, role=role, name=team.name
        )
        if role
        else gettext("Remove {username} from {name}").format(username=person.username, name=team.name),
        _effect(role, zones).format(username=person.username, zones=zones),
        gettext("The rights of this person’s tokens also change immediately."),
        button=gettext("Change to {role}").format(role=role) if role else gettext("Remove"),
        back=reverse("team-detail", args=[team.pk]),
        is_dangerous=role != "editor",
    )
    ask(request, question)


_IN_TEAM = frozenset(("editor", "reader"))


def _effect(role: str, zones: int) -> str:
    """Describe the effect of a new role or of a removal, with placeholders for the username and the zone count."""
    if role == "editor":
        return ngettext(
            "{username} will be able to change the team’s {zones:,} zone.",
            "{username} will be able to change the team’s {zones:,} zones.",
            zones,
        )
    if role == "reader":
        return ngettext(
            "{username} will only be able to see the team’s {zones:,} zone.",
            "{username} will only be able to see the team’s {zones:,} zones.",
            zones,
        )
    return ngettext(
        "{username} will lose access to the team’s {zones:,} zone and grants.",
        "{username} will lose access to the team’s {zones:,} zones and grants.",
        zones,
    )


@require_POST
def team_grant(request: PanelRequest, team_id: int) -> HttpResponse:
    """Give a grant to the team, and so to each of its members."""
    access.require(request.user, Permission.PEOPLE)
    team = verbs.team_by_id(team_id)
    form = GrantForm(request.POST, person=request.user)
    if _gave(request, form, team):
        return redirect("team-detail", team.pk)
    return _team_page(request, team, form)


@require_safe
def person_detail(request: PanelRequest, person_id: int) -> HttpResponse:
    """Show a person: teams, grants, rights with their reasons, tokens, sessions, quotas, and recent audit entries."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    return _person_page(request, person, GrantForm(person=request.user))


def _person_page(request: PanelRequest, person: User, form: GrantForm) -> HttpResponse:
    reasons = reasons_of(person)
    describer = describer_for(request.user, (reason.grant for reason in reasons))
    explain_form = ExplainRightsForm(request.GET if "zone" in request.GET else None, reader=request.user)
    context: dict[str, Any] = {
        "person": person,
        "permissions": [each for each in Permission if each in permissions_by_role(person)],
        "right_descriptions": RIGHT_DESCRIPTIONS.values(),
        "matrix": [
            (reason, describer.of(reason.grant), [right in reason.grant.rights for right in Right])
            for reason in reasons
        ],
        "explain_form": explain_form,
        "verdicts": explain_form.verdicts(person) if explain_form.is_bound and explain_form.is_valid() else (),
        "memberships": Membership.objects.filter(user=person).select_related("team").order_by("team__name"),
        "grants": display_grants(request, GrantRow.objects.filter(user=person)),
        "tokens": person.tokens.filter(revoked_at=None).order_by("-pk")[:20],
        "links": [(link, decides_role(link.provider)) for link in links_of(person)],
        "belongings": belongings_of(person),
        "receivers": receivers_for(person),
        "second_factors": second_factors_of(person),
        "due": second_factor_due(person),
        "sessions": sessions_of(person, timezone.now()),
        "same_person": accounts_of(person),
        "entries": entries_about_person(person.username, person.pk),
        "form": form,
    } | quotas_context(person)
    return render(request, "access/person.html", context, status=422 if form.is_bound else 200)


@require_POST
def person_grant(request: PanelRequest, person_id: int) -> HttpResponse:
    """Give a grant to the person."""
    access.require(request.user, Permission.PEOPLE)
    person = get_object_or_404(User, pk=person_id)
    form = GrantForm(request.POST, person=request.user)
    if _gave(request, form, person):
        return redirect("person-detail", person.pk)
    return _person_page(request, person, form)


@require_POST
def grant_take(request: PanelRequest, grant_id: int) -> HttpResponse:
    """Revoke a grant, after a confirmation."""
    access.require(request.user, Permission.PEOPLE)
    row = grant_edit.grant_by_id(grant_id)
    ask(request, _about_taking(request, row))
    grant_edit.take_grant(row=row, by=request.user, now=timezone.now())
    say_done(request, gettext("Grant for {receiver} revoked."), receiver=grant_edit.receiver(row))
    if row.team_id is not None:
        return redirect("team-detail", row.team_id)
    return redirect("person-detail", row.user_id)


def _about_taking(request: PanelRequest, row: GrantRow) -> Question:
    grant = Grant.from_json(row.grant)
    words = describer_for(request.user, [grant]).of(grant)
    receiver = grant_edit.receiver(row)
    page = reverse("team-detail", args=[row.team_id]) if row.team_id else reverse("person-detail", args=[row.user_id])
    return Question(
        gettext("Revoke a grant for {receiver}").format(receiver=receiver),
        gettext("The grant no longer allows: {what} in {where}.").format(what=words.what, where=words.where),
        gettext("Tokens lose these rights immediately."),
        button=gettext("Revoke grant"),
        back=page,
    )


def _gave(request: PanelRequest, form: GrantForm, to: User | Team) -> bool:
    """Give the grant and return True. If it is refused, add the errors to the form and return False."""
    if not form.is_valid():
        return False
    with form.catching(GrantRefused):
        grant_edit.give_grant(grant=form.cleaned_data["grant"], to=to, by=request.user, now=timezone.now())
        say_done(request, gettext("Access granted to {name}."), name=to.name if isinstance(to, Team) else to.username)
        return True
    return False


def display_grants(request: PanelRequest, rows: Any) -> list[DisplayGrant]:
    """Return the grants with their descriptions, oldest first."""
    listed = list(rows.select_related("created_by").order_by("pk"))
    describer = describer_for(request.user, (Grant.from_json(row.grant) for row in listed))
    return [DisplayGrant(row, describer.of(Grant.from_json(row.grant))) for row in listed]


def _person(text: str) -> User:
    """Return the person with this id. Raise Http404 if the id is invalid or unknown."""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Http404
    return get_object_or_404(User, pk=int(text))
