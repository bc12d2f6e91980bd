"""Accounts and teams."""

from typing import Any

from django.utils import timezone

from dnspanel.accounts.people import invite
from dnspanel.accounts.people.teams import create_team


def make_person(username: str, role: str, password: str) -> None:
    """Create an account through an invitation."""
    now = timezone.now()
    secret = invite.make_invitation(role=role, by=None, now=now)
    invite.accept_invitation(
        secret=secret, username=username, email=f"{username}@people.test", password=password, now=now
    )


def make_team() -> Any:
    """Create a team, and return its id."""
    return create_team(name="Customers", by=None, now=timezone.now()).pk
