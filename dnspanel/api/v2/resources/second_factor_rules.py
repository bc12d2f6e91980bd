"""API resource for the rules that require two-factor authentication for roles and teams.

Callers need the permission `people`.
"""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import OwnRole, Role, Team
from dnspanel.accounts.rights.own_roles import MOST_ROLES
from dnspanel.accounts.sign_in import second_factor_rules as verbs
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.fault_texts import quote_text
from dnspanel.api.v2.http.problems import bad_value
from dnspanel.api.v2.http.view import V2View, api_operation
from dnspanel.api.v2.schema.fields import Integer, Shape, Text, read, stamp
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.rights import access

_MOST_TEAMS = 1_000


class SecondFactorRuleSerializer(serializers.Serializer):
    """A rule that requires two-factor authentication for a role or a team."""

    role = serializers.CharField(allow_null=True, help_text="Role as in `roles`; null: the rule is about a team.")
    team = serializers.IntegerField(allow_null=True)
    since = serializers.DateTimeField(help_text="Start of the grace period, unless the account is newer.")
    grace_days = serializers.IntegerField(help_text="Days for the setup.")


class SecondFactorRulesSerializer(Shape):
    """The roles and teams whose members must have two-factor authentication."""

    roles = serializers.ListField(
        child=Text(max_length=24),
        default=list,
        max_length=MOST_ROLES + len(Role),
        help_text="Built-in roles by name; custom roles as `own:` and the id.",
    )
    teams = serializers.ListField(child=Integer(), default=list, max_length=_MOST_TEAMS, help_text="Ids of teams.")
    grace_days = Integer(
        min_value=0, max_value=verbs.MOST_GRACE, default=14, help_text="Days for the setup; 0: at once."
    )
    rules = SecondFactorRuleSerializer(many=True, read_only=True)


class SecondFactorRules(V2View):
    @api_operation("getSecondFactorRules", SecondFactorRulesSerializer)
    def get(self, request: Request) -> HttpResponse:
        """Read the rules for two-factor authentication.

        Returns the roles and teams that require two-factor authentication, the start of each rule, and the number of
        days that people have for the setup. Needs the permission `people`.
        """
        access.require(self.actor, Permission.PEOPLE)
        return answer_with_tag(_json())

    @api_operation("setSecondFactorRules", SecondFactorRulesSerializer, request=SecondFactorRulesSerializer)
    def put(self, request: Request) -> HttpResponse:
        """Set the rules for two-factor authentication.

        Replaces all rules. A rule that already exists keeps its start. Needs an administrator's token without limits.
        """
        access.require(self.actor, Permission.PEOPLE)
        values = read(SecondFactorRulesSerializer, request.data)
        known = {*Role.values, *(f"own:{pk}" for pk in OwnRole.objects.values_list("pk", flat=True))}
        for place, role in enumerate(values["roles"]):
            if role not in known:
                raise bad_value(
                    f"/roles/{place}", f"There is no role {quote_text(role)}. `GET /roles` lists roles.", NOT_FOUND
                )
        teams = Team.objects.in_bulk(values["teams"])
        for place, team_id in enumerate(values["teams"]):
            if team_id not in teams:
                raise bad_value(f"/teams/{place}", f"There is no team {team_id}. `GET /teams` lists teams.", NOT_FOUND)
        with conditional_write(request, "second-factor-rules", _json):
            verbs.set_rules(
                roles=list(dict.fromkeys(values["roles"])),
                teams=list(teams.values()),
                grace=values["grace_days"],
                by=self.actor,
                now=timezone.now(),
            )
        return answer_with_tag(_json())


def _json() -> dict[str, Any]:
    found = verbs.rules()
    return {
        "roles": [rule.role for rule in found if rule.role],
        "teams": [rule.team_id for rule in found if rule.team_id],
        "grace_days": max((rule.grace_days for rule in found), default=14),
        "rules": [
            {"role": rule.role, "team": rule.team_id, "since": stamp(rule.since), "grace_days": rule.grace_days}
            for rule in found
        ],
    }
