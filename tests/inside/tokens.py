"""API tokens."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import TokenTerms, create_token


def make_token(username: str) -> Any:
    """Create a token with all rights in all zones, and return its secret."""
    owner = User.objects.get(username=username)
    terms = TokenTerms("flow", (Grant(EVERY_RIGHT, everywhere=True),))
    return create_token(owner=owner, terms=terms, by=owner, now=timezone.now()).secret


def make_token_for_metrics() -> Any:
    """Create a token that can read metrics, and return its secret."""
    owner = User.objects.get(username="scraper")
    terms = TokenTerms("prometheus", permissions=frozenset({Permission.FLEET}))
    return create_token(owner=owner, terms=terms, by=owner, now=timezone.now()).secret


def make_token_for_runbooks() -> Any:
    """Create an operator's token for the runbooks, and return its secret."""
    ada = User.objects.get(username="ada")
    permissions = frozenset({Permission.READ, Permission.FLEET, Permission.NODES})
    terms = TokenTerms(purpose="runbooks", scope=(Grant(EVERY_RIGHT, everywhere=True),), permissions=permissions)
    return create_token(owner=ada, terms=terms, by=ada, now=timezone.now()).secret


def make_bound_tokens() -> Any:
    """Create a token bound to this machine's address and one bound to another address. Return their secrets."""
    owner = User.objects.get(username="bound")
    secrets = []
    for network in ("127.0.0.1", "192.0.2.1"):
        terms = TokenTerms(f"from {network}", networks=(network,), permissions=frozenset({Permission.FLEET}))
        secrets.append(create_token(owner=owner, terms=terms, by=owner, now=timezone.now()).secret)
    return secrets
