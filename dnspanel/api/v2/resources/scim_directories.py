"""API resources for SCIM directories, which manage accounts here. Callers need the permission `people`.

Changes need an administrator's token without limits, because a directory can assign any role.
"""

from contextlib import AbstractContextManager
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.accounts.models import ScimDirectory
from dnspanel.accounts.people.teams import MEMBER_ROLES
from dnspanel.accounts.providers.provider_identity import MOST_RULES, Rule
from dnspanel.accounts.scim import directories as verbs
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, actor_in, api_operation, no_content
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, Integer, Shape, Text, page_of, read, stamp
from dnspanel.api.v2.schema.provider_serializers import SignInRuleSerializer
from dnspanel.zones.rights import access

MOST_TEAMS = 1_000
_TERMS = tuple(verbs.DirectoryTerms.__dataclass_fields__)


class ScimDirectorySerializer(Shape):
    """A directory that manages accounts here over SCIM."""

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=verbs.LONGEST_NAME)
    rules = SignInRuleSerializer(many=True, default=list, max_length=MOST_RULES)
    team_role = Choice(
        choices=[("", "nothing"), *((str(role), role.label) for role in MEMBER_ROLES)],
        default="",
        help_text="Role in the team of the same name for members of a group without a rule; empty: no team.",
    )
    teams = serializers.ListField(
        child=Integer(),
        default=list,
        max_length=MOST_TEAMS,
        help_text="Ids of existing teams that the directory's groups of the same name can take over.",
    )
    takes_over = Flag(default=False, help_text="Allow takeover of existing accounts, except administrators' accounts.")
    account = serializers.CharField(read_only=True, help_text="Service account of the directory.")
    url = serializers.CharField(read_only=True, help_text="URL of the SCIM API.")
    created_at = serializers.DateTimeField(read_only=True)


class NewScimDirectorySerializer(ScimDirectorySerializer):
    """A new directory with its secret.

    The secret is shown only once.
    """

    secret = serializers.CharField(read_only=True, allow_null=True)


class ScimSecretSerializer(serializers.Serializer):
    """The new secret of a directory.

    The old secret no longer works.
    """

    secret = serializers.CharField(allow_null=True, help_text="Shown only once.")


class ScimDirectories(V2View):
    @api_operation("listScimDirectories", page_of(ScimDirectorySerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List SCIM directories.

        Lists directories that create and change accounts here over SCIM, without their secrets. Needs the permission
        `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        found = ScimDirectory.objects.select_related("account")
        return page_by_id(request, found, each_as(directory_json))

    @api_operation("createScimDirectory", {201: NewScimDirectorySerializer}, request=ScimDirectorySerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a SCIM directory.

        Returns the directory's secret, which is shown only once and works only for SCIM. Needs an administrator's token
        without limits.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(ScimDirectorySerializer, request.data)
        directory, new = verbs.create_directory(terms=_terms(values), by=self.actor, now=timezone.now())
        value = directory_json(directory) | {"secret": new.secret}
        return once(value, secret="secret", Location=f"{request.path}/{directory.pk}")


class OneScimDirectory(V2View):
    @api_operation("getScimDirectory", ScimDirectorySerializer)
    def get(self, request: Request, directory_id: int) -> HttpResponse:
        """Read a SCIM directory.

        Returns the directory's settings and rules, without the secret. Needs the permission `people`.
        """
        return answer_with_tag(directory_json(_directory_to_change(request, directory_id)[1]))

    @api_operation("changeScimDirectory", ScimDirectorySerializer, request=ScimDirectorySerializer)
    def patch(self, request: Request, directory_id: int) -> HttpResponse:
        """Change a SCIM directory.

        Fields that the request body omits stay unchanged. The panel immediately recalculates the rights from the rules.
        Needs an administrator's token without limits.
        """
        actor, _ = _directory_to_change(request, directory_id)
        values = read(ScimDirectorySerializer, request.data, partial=True)
        with _guard_write(request, directory_id):
            directory = verbs.directory_by_id(directory_id)
            terms = _terms({name: getattr(directory, name) for name in _TERMS} | values)
            verbs.change_directory(directory=directory, terms=terms, by=actor, now=timezone.now())
        return answer_with_tag(directory_json(verbs.directory_by_id(directory_id)))

    @api_operation("deleteScimDirectory", {204: None})
    def delete(self, request: Request, directory_id: int) -> HttpResponse:
        """Delete a SCIM directory.

        Deletes the directory, and ends its secret and the rights from its rules. Its service account is closed. Other
        accounts stay. Needs an administrator's token without limits.
        """
        actor, directory = _directory_to_change(request, directory_id)
        with _guard_write(request, directory_id):
            verbs.delete_directory(directory=directory, by=actor, now=timezone.now())
        return no_content()


class ScimDirectoryRotation(V2View):
    conditional = True

    @api_operation("rotateScimDirectorySecret", {201: ScimSecretSerializer}, request=None)
    def post(self, request: Request, directory_id: int) -> HttpResponse:
        """Replace the secret of a SCIM directory.

        Returns the new secret, which is shown only once. The old secret no longer works. Needs an administrator's token
        without limits.
        """
        actor, directory = _directory_to_change(request, directory_id)
        with _guard_write(request, directory_id):
            new = verbs.renew_secret(directory=directory, by=actor, now=timezone.now())
        return once({"secret": new.secret}, secret="secret")


def directory_json(directory: ScimDirectory) -> dict[str, Any]:
    """Return the JSON form of a SCIM directory, without its secret."""
    return {
        "id": directory.pk,
        **{name: getattr(directory, name) for name in _TERMS},
        "account": directory.account.username,
        "url": f"{settings.PANEL_URL}/scim/v2",
        "created_at": stamp(directory.created_at),
    }


def _terms(values: dict[str, Any]) -> verbs.DirectoryTerms:
    terms = {name: values[name] for name in _TERMS}
    rules = tuple(map(Rule.from_json, terms["rules"]))
    return verbs.DirectoryTerms(**terms | {"rules": rules, "teams": tuple(terms["teams"])})


def _guard_write(request: Request, directory_id: int) -> AbstractContextManager[None]:
    return conditional_write(
        request, f"scim-directory/{directory_id}", lambda: directory_json(verbs.directory_by_id(directory_id))
    )


def _directory_to_change(request: Request, directory_id: int) -> tuple[Actor, ScimDirectory]:
    """Return the caller and the directory. Raise DirectoryUnknown, or Forbidden if the caller lacks `people`."""
    actor = actor_in(request)
    access.require(actor, Permission.PEOPLE)
    return actor, verbs.directory_by_id(directory_id)
