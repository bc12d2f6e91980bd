"""API resources for teams and their members. Without the permission `people`, callers see only their own teams."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.accounts.errors import TeamUnknown
from dnspanel.accounts.models import Membership, Team
from dnspanel.accounts.people import people, teams
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, actor_in, api_operation, no_content
from dnspanel.api.v2.schema.fields import PAGED, Choice, Shape, Text, page_of, read, stamp
from dnspanel.database.first_rows import first_or
from dnspanel.zones.rights import access

ROLES = [("reader", "Reader"), ("editor", "Editor")]


class MemberSerializer(serializers.Serializer):
    """A person in a team."""

    user = serializers.IntegerField()
    username = serializers.CharField()
    role = serializers.ChoiceField(choices=ROLES)


class TeamSerializer(Shape):
    """A team: people who manage the same zones."""

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=64)
    members = MemberSerializer(many=True, read_only=True)
    created_at = serializers.DateTimeField(read_only=True)


class MembershipSerializer(Shape):
    """The role of a person in a team."""

    role = Choice(choices=ROLES)


class Teams(V2View):
    @api_operation("listTeams", page_of(TeamSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List teams.

        Lists all teams, or, without the permission `people`, only the teams of the token's owner.
        """
        return page_by_id(request, teams_visible_to(self.actor), each_as(team_json))

    @api_operation("createTeam", {201: TeamSerializer}, request=TeamSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a team.

        The new team has no members and no zones. Needs the permission `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(TeamSerializer, request.data)
        team = teams.create_team(name=values["name"], by=self.actor, now=timezone.now())
        return answer_with_tag(team_json(team), 201, Location=f"{request.path}/{team.pk}")


class OneTeam(V2View):
    @api_operation("getTeam", TeamSerializer)
    def get(self, request: Request, team_id: int) -> HttpResponse:
        """Read a team.

        Returns the team with its members. Without the permission `people`, a token can read only teams of its owner.
        """
        return answer_with_tag(team_json(team_for(self.actor, team_id)))

    @api_operation("changeTeam", TeamSerializer, request=TeamSerializer)
    def patch(self, request: Request, team_id: int) -> HttpResponse:
        """Rename a team.

        Members, zones and grants do not change. Needs the permission `people`.
        """
        actor, team = _to_change(request, team_id)
        values = read(TeamSerializer, request.data, partial=True)
        with conditional_write(request, f"team/{team_id}", lambda: team_json(team_for(actor, team_id))):
            if "name" in values:
                teams.rename_team(team=team, name=values["name"], by=actor, now=timezone.now())
        return answer_with_tag(team_json(team_for(actor, team_id)))

    @api_operation("deleteTeam", {204: None})
    def delete(self, request: Request, team_id: int) -> HttpResponse:
        """Delete a team.

        The team's zones stay, but no longer belong to a team. Members lose the rights that the team gave them. Needs
        the permission `people`.
        """
        actor, team = _to_change(request, team_id)
        with conditional_write(request, f"team/{team_id}", lambda: team_json(team_for(actor, team_id))):
            teams.delete_team(team=team, by=actor, now=timezone.now())
        return no_content()


class TeamMember(V2View):
    @api_operation("setTeamMember", TeamSerializer, request=MembershipSerializer)
    def put(self, request: Request, team_id: int, user_id: int) -> HttpResponse:
        """Add a team member or change their role.

        The person gets the team's rights at once. Returns the team. Needs the permission `people`.
        """
        actor, team = _to_change(request, team_id)
        values = read(MembershipSerializer, request.data)
        person = people.person_by_id(user_id)
        with conditional_write(request, f"team/{team_id}", lambda: team_json(team_for(actor, team_id))):
            teams.set_member(team=team, user=person, role=values["role"], by=actor, now=timezone.now())
        return answer_with_tag(team_json(team_for(actor, team_id)))

    @api_operation("removeTeamMember", {204: None})
    def delete(self, request: Request, team_id: int, user_id: int) -> HttpResponse:
        """Remove a team member.

        The person loses the team's rights at once. Needs the permission `people`.
        """
        actor, team = _to_change(request, team_id)
        person = people.person_by_id(user_id)
        with conditional_write(request, f"team/{team_id}", lambda: team_json(team_for(actor, team_id))):
            teams.remove_member(team=team, user=person, by=actor, now=timezone.now())
        return no_content()


def teams_visible_to(actor: Actor) -> "QuerySet[Team]":
    """Select the teams that the actor is allowed to see.

    An actor with the permission `people` sees all teams. Others see their own teams. A token that doesn't cover all
    zones sees only those of its owner's teams that are in its scope.
    """
    found = Team.objects.prefetch_related("memberships__user")
    if Permission.PEOPLE in actor.permissions:
        return found
    mine = found.filter(pk__in=Membership.objects.filter(user=actor.user).values("team"))
    if actor.scope is None or any(grant.everywhere for grant in actor.scope):
        return mine
    return mine.filter(pk__in={team_id for grant in actor.scope for team_id in grant.teams})


def team_for(actor: Actor, team_id: int) -> Team:
    """Return the team with this id. Raise TeamUnknown if the actor is not allowed to see the team."""
    return first_or(teams_visible_to(actor).filter(pk=team_id), TeamUnknown)


def team_json(team: Team) -> dict[str, Any]:
    """Return the JSON form of a team, with its members."""
    members = sorted(team.memberships.all(), key=lambda member: member.user.username.lower())
    return {
        "id": team.pk,
        "name": team.name,
        "members": [{"user": m.user_id, "username": m.user.username, "role": m.role} for m in members],
        "created_at": stamp(team.created_at),
    }


def _to_change(request: Request, team_id: int) -> tuple[Actor, Team]:
    actor = actor_in(request)
    team = team_for(actor, team_id)
    access.require(actor, Permission.PEOPLE)
    return actor, team
