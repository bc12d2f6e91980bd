"""API resources for a person's two-factor authentication, sessions and password links.

Changes need the permission `people`, and a token with at least the rights of the person. Also for the rules that
require two-factor authentication for roles and teams, which need the permission `people`.
"""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import OwnRole, Role, Team, User
from dnspanel.accounts.rights.own_roles import MOST_ROLES
from dnspanel.accounts.sessions import sessions
from dnspanel.accounts.sign_in import second_factor
from dnspanel.accounts.sign_in import second_factor_rules as verbs
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.fault_texts import quote_text
from dnspanel.api.v2.http.problems import bad_value
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.resources.users import user_for
from dnspanel.api.v2.schema.fields import Integer, Shape, Text, read, stamp
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.rights import access

_MOST_TEAMS = 1_000


class SecondFactorSerializer(serializers.Serializer):
    """The two-factor methods of a person."""

    app = serializers.BooleanField(help_text="Whether an authenticator app is set up.")
    passkeys = serializers.IntegerField(help_text="Number of passkeys.")
    recovery_codes_left = serializers.IntegerField(help_text="Number of recovery codes that are not used.")


class SessionSerializer(serializers.Serializer):
    """A session of a person."""

    id = serializers.CharField(help_text="Id, as `session` in the audit log. It doesn't give access to the session.")
    address = serializers.CharField(allow_null=True, help_text="Address at the last use.")
    browser = serializers.CharField(help_text="Browser, as it identifies itself.")
    began_at = serializers.DateTimeField(allow_null=True, help_text="Time of the sign-in.")
    seen_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last use, to the minute.")


class SessionsSerializer(serializers.Serializer):
    """The sessions of a person, most recent first."""

    data = SessionSerializer(many=True)


class PasswordLinkSerializer(Shape):
    """A link that lets a person set a password once."""

    link = serializers.URLField(
        read_only=True, allow_null=True, help_text="Shown once: null in the response to a retry."
    )
    expires_at = serializers.DateTimeField(read_only=True)


class SecondFactor(V2View):
    @api_operation("getSecondFactor", SecondFactorSerializer)
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """Read the two-factor authentication of a person.

        Returns the methods that the person has set up. Without the permission `people`, a token can read only the
        methods of its owner.
        """
        return answer_with_tag(_second_factor_json(user_for(self.actor, user_id)))

    @api_operation("resetSecondFactor", {204: None})
    def delete(self, request: Request, user_id: int) -> HttpResponse:
        """Reset the two-factor authentication of a person.

        Deletes the person's authenticator app, passkeys and recovery codes, and ends the person's sessions. After that,
        the person signs in with only a password until they set up two-factor authentication again. Needs the permission
        `people`.
        """
        user = user_for(self.actor, user_id)
        access.require(self.actor, Permission.PEOPLE)
        with conditional_write(request, f"second-factor/{user_id}", lambda: _second_factor_json(user)):
            second_factor.reset_second_factor(user=user, by=self.actor, now=timezone.now())
        return no_content()


class Sessions(V2View):
    @api_operation("listSessions", SessionsSerializer)
    def get(self, request: Request, user_id: int) -> HttpResponse:
        """List the sessions of a person.

        Lists the browsers in which the person is signed in now. Without the permission `people`, a token can read only
        the sessions of its owner.
        """
        return answer_with_tag(_sessions_json(user_for(self.actor, user_id)))

    @api_operation("endSessions", {204: None})
    def delete(self, request: Request, user_id: int) -> HttpResponse:
        """End the sessions of a person.

        Signs the person out everywhere. The person can sign in again, and the person's tokens stay valid. Needs the
        permission `people`.
        """
        user = user_for(self.actor, user_id)
        access.require(self.actor, Permission.PEOPLE)
        with conditional_write(request, f"sessions/{user_id}", lambda: _sessions_json(user)):
            sessions.end_all_sessions(user=user, by=self.actor, now=timezone.now())
        return no_content()


class PasswordLink(V2View):
    @api_operation("createPasswordLink", {201: PasswordLinkSerializer}, request=None)
    def post(self, request: Request, user_id: int) -> HttpResponse:
        """Create a password link for a person.

        Returns a link to set a new password. The link works once, within a day, and only until the person signs in.
        Two-factor authentication does not change. Needs the permission `people`.
        """
        user = user_for(self.actor, user_id)
        access.require(self.actor, Permission.PEOPLE)
        now = timezone.now()
        link = settings.PANEL_URL + reverse(
            "password-link", args=[make_password_link(user=user, by=self.actor, now=now)]
        )
        expires_at = now + timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
        return once({"link": link, "expires_at": stamp(expires_at)}, secret="link")


def _second_factor_json(user: User) -> dict[str, Any]:
    found = second_factor.second_factors_of(user)
    return {"app": bool(found.app), "passkeys": len(found.passkeys), "recovery_codes_left": found.codes_left}


def _sessions_json(user: User) -> dict[str, Any]:
    return {
        "data": [
            {
                "id": each.public_id,
                "address": each.address,
                "browser": each.browser,
                "began_at": stamp(each.began_at),
                "seen_at": stamp(each.seen_at),
            }
            for each in sessions.sessions_of(user, timezone.now())
        ]
    }


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
