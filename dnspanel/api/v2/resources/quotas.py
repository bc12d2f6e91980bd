"""Quotas: what a person or a team has, and what they may have. Administrators set them on the pages of both."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.quota_amounts import Kind
from dnspanel.accounts.quotas import Holder, holder_of
from dnspanel.api.v2.http.answers import actor_in
from dnspanel.api.v2.http.conditional_write import tagged
from dnspanel.api.v2.http.view import V2View
from dnspanel.api.v2.resources.teams import team_for
from dnspanel.transfer.quotas import usage_of


class QuotaSerializer(serializers.Serializer):
    """How much there is of one kind, and how much there may be."""

    kind = serializers.ChoiceField(choices=[(str(kind), str(kind)) for kind in Kind])
    used = serializers.IntegerField(
        allow_null=True,
        help_text="Null where each zone or draft has the limit for itself. Without a limit counted up to 100,000.",
    )
    limit = serializers.IntegerField(allow_null=True, help_text="Null: any number.")
    near = serializers.BooleanField(help_text="Whether 80 % of it or more are used.")


class QuotasSerializer(serializers.Serializer):
    """All quotas of a person or a team."""

    quotas = QuotaSerializer(many=True)


class OwnQuotas(V2View):
    """What the owner of the token has."""

    @extend_schema(operation_id="getMyQuotas", responses=QuotasSerializer)
    def get(self, request: Request) -> HttpResponse:
        """What the owner of the token has, and may have."""
        return tagged(_quotas_json(holder_of(actor_in(request).user)))


class TeamQuotas(V2View):
    """What a team has."""

    @extend_schema(operation_id="getTeamQuotas", responses=QuotasSerializer)
    def get(self, request: Request, team_id: int) -> HttpResponse:
        """What a team has, and may have: its zones, and the tokens and imports of its members."""
        return tagged(_quotas_json(holder_of(team_for(actor_in(request), team_id))))


def _quotas_json(holder: Holder) -> dict[str, Any]:
    usages = usage_of(holder, timezone.now())
    return {
        "quotas": [
            {"kind": str(usage.kind), "used": usage.used, "limit": usage.limit, "near": usage.is_near}
            for usage in usages
        ]
    }
