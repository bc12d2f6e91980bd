"""Authentication backend for passwords that the panel stores. It finds accounts by canonical spelling."""

from typing import Any

from allauth.account.auth_backends import AuthenticationBackend
from django.http import HttpRequest

from dnspanel.accounts.actors.find_people import account_named
from dnspanel.accounts.models import User


class PasswordBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """A backend for user names and email addresses. Unlike allauth, it doesn't turn foreign letters into ASCII."""

    def _authenticate(self, request: HttpRequest | None, **credentials: Any) -> User | None:
        typed = str(credentials.get("username") or credentials.get("email") or "")
        user: User | None = self._check_password(account_named(typed), credentials.get("password") or "")
        return user
