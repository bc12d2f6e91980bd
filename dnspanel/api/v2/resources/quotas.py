"""API resources for quotas: the usage and the limits of a person or a team.

The API can set only the limits of teams. Limits of people are set on the panel's pages.
"""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.quotas.quota_amounts import MOST, Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.quotas.quotas import Holder, holder_of
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.fault_texts import unknown_member
from dnspanel.api.v2.http.view import V2View, api_operation
from dnspanel.api.v2.resources.teams import team_for
from dnspanel.api.v2.schema.fields import Integer, Members, Shape, read
from dnspanel.transfer.import_quotas import usage_of
from dnspanel.zones.rights import access


class QuotaSerializer(serializers.Serializer):
    """The usage and the limit of one quota."""

    kind = serializers.ChoiceField(choices=[(str(kind), str(kind)) for kind in Kind], help_text="Counted objects.")
    used = serializers.IntegerField(
        allow_null=True,
        help_text="Usage; null if the limit is for each zone or draft. Without a limit counted up to 100,000.",
    )
    limit = serializers.IntegerField(allow_null=True, help_text="Null: no limit.")
    near = serializers.BooleanField(help_text="True if at least 80 % is used.")


class QuotasSerializer(serializers.Serializer):
    """All quotas of a person or a team."""

    quotas = QuotaSerializer(many=True)


class LimitsSerializer(Shape):
    """The team's own limits, which override the limits in the panel's settings."""

    limits = Members(
        most=len(Kind),
        child=Integer(min_value=0, max_value=MOST, allow_null=True),
        help_text="Limit of each kind; null: no limit. Omitted kinds have the limit in the settings.",
    )

    def validate_limits(self, value: dict[str, int | None]) -> dict[Kind, int | None]:
        if unknown := [name for name in value if name not in list(Kind)]:
            raise serializers.ValidationError([unknown_member(unknown[0], Kind)], "unknown")
        return {Kind(name): amount for name, amount in value.items()}


class OwnQuotas(V2View):
    @api_operation("getMyQuotas", QuotasSerializer)
    def get(self, request: Request) -> HttpResponse:
        """Read the owner's quotas.

        Returns the owner's usage and limit for each quota. Every token can use this operation.
        """
        return answer_with_tag(_quotas_json(holder_of(self.actor.user)))


class TeamQuotas(V2View):
    @api_operation("getTeamQuotas", QuotasSerializer)
    def get(self, request: Request, team_id: int) -> HttpResponse:
        """Read the quotas of a team.

        Returns the team's usage and limit for each quota. The usage counts the team's zones, and the saved drafts,
        tokens and imports of its members. Members who are editors or administrators are not counted. Without the
        permission `people`, a token can read only the quotas of its owner's teams.
        """
        return answer_with_tag(_quotas_json(holder_of(team_for(self.actor, team_id))))

    @api_operation("setTeamQuotas", QuotasSerializer, request=LimitsSerializer)
    def put(self, request: Request, team_id: int) -> HttpResponse:
        """Set the quotas of a team.

        Replaces the team's own limits. Existing objects stay, even if they exceed a limit. Needs the permission
        `people`.
        """
        team = team_for(self.actor, team_id)
        access.require(self.actor, Permission.PEOPLE)
        limits = read(LimitsSerializer, request.data)["limits"]

        def as_it_is() -> dict[str, Any]:
            return _quotas_json(holder_of(team_for(self.actor, team_id)))

        with conditional_write(request, f"team/{team_id}/quotas", as_it_is):
            set_quotas(of=team, quotas=limits, by=self.actor, now=timezone.now())
        return answer_with_tag(as_it_is())


def _quotas_json(holder: Holder) -> dict[str, Any]:
    usages = usage_of(holder, timezone.now())
    return {
        "quotas": [
            {"kind": str(usage.kind), "used": usage.used, "limit": usage.limit, "near": usage.is_near}
            for usage in usages
        ]
    }
