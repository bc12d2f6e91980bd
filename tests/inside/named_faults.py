"""The credentials of the operator in tests of named faults."""

from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import TokenTerms, create_token


def sign_in() -> Any:
    """Return a token for Prometheus, and the name and value of the operator's session cookie."""
    operator = User.objects.get(username="operator")
    client = Client()
    client.force_login(operator, backend=settings.AUTHENTICATION_BACKENDS[0])
    terms = TokenTerms("prometheus", permissions=frozenset({Permission.FLEET}))
    token = create_token(owner=operator, terms=terms, by=operator, now=timezone.now()).secret
    return [token, settings.SESSION_COOKIE_NAME, client.cookies[settings.SESSION_COOKIE_NAME].value]
