"""API resources for a person's two-factor authentication, sessions and password links.

Changes need the permission `people`, and a token with at least the rights of the person.
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
from dnspanel.accounts.models import User
from dnspanel.accounts.sessions import sessions
from dnspanel.accounts.sign_in import second_factor
from dnspanel.accounts.sign_in.password_links import make_password_link
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.view import V2View, api_operation, no_content
from dnspanel.api.v2.resources.users import user_for
from dnspanel.api.v2.schema.fields import Shape, stamp
from dnspanel.zones.rights import access


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
