"""The panel's account adapter for django-allauth."""

import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.stagekit import clear_login
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import User
from dnspanel.accounts.providers.ldap.backend import PATH, message_of
from dnspanel.accounts.providers.ldap.look import look_at_one
from dnspanel.accounts.providers.links import session_hours_of
from dnspanel.accounts.sessions.session_store import end_in_hours
from dnspanel.accounts.sign_in.sign_ins import record_refusal, tries_key
from dnspanel.texts import gettext_lazy


class PanelAccountAdapter(DefaultAccountAdapter):
    """The allauth adapter that requires an invitation for new accounts, and that limits and records wrong passwords."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": gettext_lazy(
            "Too many incorrect passwords. Wait a few minutes, or use a browser you’ve used to sign in before."
        )
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Return the cache key for counting wrong passwords.

        allauth's own key is the typed name, so a stranger could lock out an account's owner with five wrong passwords.
        """
        return tries_key(credentials, self.get_client_ip(request), timezone.now())

    def get_login_stages(self) -> list[str]:
        ours = {"allauth.mfa.stages.AuthenticateStage": "dnspanel.accounts.sign_in.sign_in_stage.SecondFactorStage"}
        return [ours.get(stage, stage) for stage in super().get_login_stages()]

    def authenticate(self, request: HttpRequest, **credentials: Any) -> User | None:
        """Return the user, or None if the credentials are wrong.

        Raise ValidationError if the sign-in failed for another reason, such as an unavailable LDAP server.
        """
        user: User | None = super().authenticate(request, **credentials)
        if user is None and (message := message_of(request)):
            raise ValidationError(message)
        return user

    def pre_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse | None:
        """Return None to continue the sign-in, or a response that rejects it.

        Service accounts are always rejected, even if their row has a password. For a user of an LDAP server, a sign-in
        with a passkey or provider is rejected unless the server lists the user as active.
        """
        if user.is_service:
            clear_login(request)
            answer = self.respond_user_inactive(request, user)
            assert isinstance(answer, HttpResponse)
            return answer
        if user.signs_in_by_ldap and getattr(user, "backend", "") != PATH:
            try:
                look_at_one(user=user, now=timezone.now())
            except SignInRefused as exc:
                messages.error(request, str(exc))
                return redirect("account_login")
        response: HttpResponse | None = super().pre_login(request, user, **kwargs)
        return response

    def login(self, request: HttpRequest, user: User) -> None:
        """Sign the user in. If an LDAP server checks the password, limit the session's length."""
        super().login(request, user)
        if user.signs_in_by_ldap:
            end_in_hours(request, session_hours_of(user), time.time())

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            record_refusal(credentials)
            raise
