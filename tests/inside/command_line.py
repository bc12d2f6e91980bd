"""The token of the command-line client's tests."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.cli.conftest import EVERYTHING


def make_token(username: str) -> Any:
    """Create the token of the command-line client's tests, and return its secret."""
    owner = User.objects.get(username=username)
    return create_token(owner=owner, terms=EVERYTHING, by=owner, now=timezone.now()).secret
