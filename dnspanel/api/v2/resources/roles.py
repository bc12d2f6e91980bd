"""API resources for custom roles, in addition to the built-in roles. All operations need the permission `people`."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission, Right
from dnspanel.accounts.models import OwnRole
from dnspanel.accounts.rights import own_roles
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.schema.fields import PAGED, Choice, Shape, Text, page_of, read
from dnspanel.api.v2.schema.permissions import permission_names, permissions_of
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.rights import access

GIVEABLE = permission_names(own_roles.GIVEABLE)
RIGHTS = [(str(right), str(right)) for right in Right]


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
