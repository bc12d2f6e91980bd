"""Tests of account errors, whose messages state the facts."""

from dnspanel.accounts import errors
from tests.people import NOW


def test_every_error_is_in_the_tree_drawn_at_the_top() -> None:
    named = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert errors.__doc__ is not None
    assert [name for name in named if name not in errors.__doc__] == []


def test_messages_say_what_to_do() -> None:
    assert "expired on 2026-11-21 12:00 UTC. Ask for a new one." in str(errors.InvitationExpired(NOW))
    assert "alice is the last administrator" in str(errors.LastAdministrator("alice"))
    refused = errors.AccountRefused({"email": ["Enter a valid email address."], "password": ["Too short."]})
    assert str(refused) == "Enter a valid email address. Too short."
