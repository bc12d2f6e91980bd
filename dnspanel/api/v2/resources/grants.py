"""API resources for grants to people and teams, and for custom roles in addition to the built-in roles.

Without the permission `people`, people see only their own grants and those of their teams, and tokens see no grants.
All operations on roles need the permission `people`.
"""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Grant, Permission, Right, person_form
from dnspanel.accounts.errors import GrantUnknown
from dnspanel.accounts.models import GrantRow, OwnRole
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.rights import grant_edit, own_roles
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, api_operation, no_content, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import LARGEST_ID, PAGED, Choice, Id, Shape, Text, id_parameter, page_of, read, stamp
from dnspanel.api.v2.schema.permissions import permission_names, permissions_of
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.scopes import ScopeSerializer, grant_of, scopes_json
from dnspanel.database.first_rows import first_or
from dnspanel.zones.rights import access

_ID = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}
GIVEABLE = permission_names(own_roles.GIVEABLE)
RIGHTS = [(str(right), str(right)) for right in Right]


class GrantSerializer(ScopeSerializer):
    """Rights over zones, given to one person or to all members of one team."""

    id = serializers.IntegerField(read_only=True)
    user = Id(default=None, allow_null=True, help_text="Id of the person.")
    team = Id(default=None, allow_null=True, help_text="Id of the team.")
    created_by = ActorSerializer(allow_null=True)
    created_at = serializers.DateTimeField(read_only=True)

    def validate(self, data: dict[str, Any]) -> dict[str, Any]:
        if (data["user"] is None) == (data["team"] is None):
            code = "required" if data["user"] is None else NOT_TOGETHER
            raise serializers.ValidationError({"user": ["Send either `user` or `team`."]}, code)
        return data


class Grants(V2View):
    @api_operation(
        "listGrants",
        page_of(GrantSerializer),
        query_parameter("user", "Only grants to this person (id).", _ID),
        query_parameter("team", "Only grants to this team (id).", _ID),
        *PAGED,
    )
    def get(self, request: Request) -> HttpResponse:
        """List grants.

        Each grant gives a person or a team rights over zones. Needs the permission `people`; without this permission
        the list is empty.
        """
        found = _visible_to(self.actor)
        for name in ("user", "team"):
            if (chosen := id_parameter(request.query_params, name)) is not None:
                found = found.filter(**{name: chosen})
        return page_by_id(request, found, lambda rows: grants_json(self.actor, list(rows)))

    @api_operation("createGrant", {201: GrantSerializer}, request=GrantSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a grant.

        Gives a person or a team rights over zones, effective at once. Needs the permission `people`. You cannot give
        rights that you don't have.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(GrantSerializer, request.data)
        to = people.person_by_id(values["user"]) if values["user"] else teams.team_by_id(values["team"])
        row = grant_edit.give_grant(grant=grant_of(self.actor, values), to=to, by=self.actor, now=timezone.now())
        return answer_with_tag(grants_json(self.actor, [row])[0], 201, Location=f"{request.path}/{row.pk}")


class OneGrant(V2View):
    """View that reads or deletes a grant. A grant can't be changed, only replaced."""

    @api_operation("getGrant", GrantSerializer)
    def get(self, request: Request, grant_id: int) -> HttpResponse:
        """Read a grant.

        Returns the grant's rights, its zones and its person or team. Needs the permission `people`; without it the
        status is 404.
        """
        return answer_with_tag(grants_json(self.actor, [_grant_for(self.actor, grant_id)])[0])

    @api_operation("deleteGrant", {204: None})
    def delete(self, request: Request, grant_id: int) -> HttpResponse:
        """Delete a grant.

        The person or the team loses the grant's rights at once. Needs the permission `people`.
        """
        row = _grant_for(self.actor, grant_id)
        access.require(self.actor, Permission.PEOPLE)
        with conditional_write(
            request, f"grant/{grant_id}", lambda: grants_json(self.actor, [_grant_for(self.actor, grant_id)])[0]
        ):
            grant_edit.take_grant(row=row, by=self.actor, now=timezone.now())
        return no_content()


def grants_json(actor: Actor, rows: list[GrantRow]) -> list[dict[str, Any]]:
    """Return the JSON form of grants."""
    scopes = scopes_json(actor, [Grant.from_json(row.grant) for row in rows])
    return [
        {
            "id": row.pk,
            "user": row.user_id,
            "team": row.team_id,
            **scope,
            "created_by": person_form(row.created_by),
            "created_at": stamp(row.created_at),
        }
        for row, scope in zip(rows, scopes, strict=True)
    ]


def _visible_to(actor: Actor) -> "QuerySet[GrantRow]":
    """Select the grants that the actor is allowed to see.

    An actor with the permission `people` sees all grants. Without the permission, people see their own grants and those
    of their teams, and a token sees none.
    """
    rows = GrantRow.objects.select_related("created_by", "user", "team")
    if Permission.PEOPLE in actor.permissions:
        return rows
    if actor.token is not None:
        return rows.none()
    mine = GrantRow.objects.filter(user=actor.user) | GrantRow.objects.filter(team__memberships__user=actor.user)
    return rows.filter(pk__in=mine.values("pk"))


def _grant_for(actor: Actor, grant_id: int) -> GrantRow:
    return first_or(_visible_to(actor).filter(pk=grant_id), GrantUnknown)


class RoleSerializer(Shape):
    """A custom role: its rights over zones and its permissions."""

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=own_roles.LONGEST_NAME)
    rights = serializers.ListField(child=Choice(choices=RIGHTS), default=list, max_length=len(RIGHTS))
    permissions = serializers.ListField(child=Choice(choices=GIVEABLE), default=list, max_length=len(GIVEABLE))
    created_at = serializers.DateTimeField(read_only=True)

    def validate_permissions(self, names: list[str]) -> frozenset[Permission]:
        return permissions_of(names)


class Roles(V2View):
    @api_operation("listRoles", page_of(RoleSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List roles.

        Lists custom roles. The built-in roles are in the documentation. Needs the permission `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        return page_by_id(request, OwnRole.objects.all(), each_as(role_json))

    @api_operation("createRole", {201: RoleSerializer}, request=RoleSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a role.

        Saves a role with rights and permissions. Use `own_role` of `changeUser` to assign the role to a person. Needs
        the permission `people`. A role cannot have rights or permissions that you don't have.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(RoleSerializer, request.data)
        role = own_roles.create_role(**values, by=self.actor, now=timezone.now())
        return answer_with_tag(role_json(role), 201, Location=f"{request.path}/{role.pk}")


class OneRole(V2View):
    @api_operation("getRole", RoleSerializer)
    def get(self, request: Request, role_id: int) -> HttpResponse:
        """Read a role.

        Returns the role's rights and permissions. Needs the permission `people`.
        """
        return answer_with_tag(role_json(_role_for(self.actor, role_id)))

    @api_operation("changeRole", RoleSerializer, request=RoleSerializer)
    def patch(self, request: Request, role_id: int) -> HttpResponse:
        """Change a role.

        Everyone with the role gets its new rights at once. Fields that the request body omits stay unchanged. Needs the
        permission `people`.
        """
        role = _role_for(self.actor, role_id)
        values = read(RoleSerializer, request.data, partial=True)
        with conditional_write(request, f"role/{role_id}", lambda: role_json(_role_for(self.actor, role_id))):
            terms = {"name": role.name, "rights": role.rights, "permissions": role.permissions} | values
            own_roles.change_role(role=role, **terms, by=self.actor, now=timezone.now())
        return answer_with_tag(role_json(_role_for(self.actor, role_id)))

    @api_operation("deleteRole", {204: None})
    def delete(self, request: Request, role_id: int) -> HttpResponse:
        """Delete a role.

        Returns 409 if anyone still has the role. Needs the permission `people`.
        """
        role = _role_for(self.actor, role_id)
        with conditional_write(request, f"role/{role_id}", lambda: role_json(_role_for(self.actor, role_id))):
            own_roles.delete_role(role=role, by=self.actor, now=timezone.now())
        return no_content()


def role_json(role: OwnRole) -> dict[str, Any]:
    """Return the JSON form of a custom role."""
    return row_json(RoleSerializer, role, permissions=permission_names(map(Permission, role.permissions)))


def _role_for(actor: Actor, role_id: int) -> OwnRole:
    access.require(actor, Permission.PEOPLE)
    return own_roles.role_by_id(role_id)
