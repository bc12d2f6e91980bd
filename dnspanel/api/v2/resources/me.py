"""API resource for the caller's own token. Clients can use it to check that their token works."""

from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.models import Role
from dnspanel.accounts.tokens.token_terms import requests_per_minute
from dnspanel.api.v2.http.etag import answer_with_tag
from dnspanel.api.v2.http.view import V2View, api_operation
from dnspanel.api.v2.schema.permissions import CHOICES, permission_names
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.scopes import ScopeSerializer, scopes_json
from replication import __version__


class OwnTokenSerializer(serializers.Serializer):
    """The token of the request."""

    id = serializers.IntegerField()
    purpose = serializers.CharField()
    prefix = serializers.CharField(help_text="Visible beginning of the token's secret.")
    expires_at = serializers.DateTimeField(allow_null=True)
    unused_days = serializers.IntegerField(allow_null=True, help_text="Days without use until the token expires.")
    networks = serializers.ListField(
        child=serializers.CharField(), help_text="Networks from which the token works; empty: all."
    )
    needs_if_match = serializers.BooleanField(help_text="Whether each write needs `If-Match` or `If-None-Match`.")
    requests_per_minute = serializers.IntegerField()


class MeSerializer(serializers.Serializer):
    """The owner of the token, and the token's own permissions.

    A token never has more permissions than its owner has or its scope allows.
    """

    user = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    permissions = serializers.ListField(child=serializers.ChoiceField(choices=CHOICES))
    scope = ScopeSerializer(many=True)
    token = OwnTokenSerializer()
    panel_version = serializers.CharField(help_text="Version of the panel. Agents' versions are in the nodes' `agent`.")


class Me(V2View):
    @api_operation("getMe", MeSerializer)
    def get(self, request: Request) -> HttpResponse:
        """Read the token.

        Returns the token's owner, rights, limits and expiry time, and the version of the panel. Every token can use
        this operation.
        """
        token = self.actor.token
        assert token is not None  # HasToken
        token_body = row_json(OwnTokenSerializer, token, requests_per_minute=requests_per_minute(token))
        return answer_with_tag(
            {
                "user": self.actor.user.username,
                "role": self.actor.user.role,
                "permissions": permission_names(self.actor.permissions),
                "scope": scopes_json(self.actor, self.actor.scope or ()),
                "token": token_body,
                "panel_version": __version__,
            }
        )
