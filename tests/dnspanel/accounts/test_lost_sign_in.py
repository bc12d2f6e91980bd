"""Tests of the runbook for a lost sign-in: its commands let the only administrator sign in again."""

import io
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError, call_command
from django.test import Client

from dnspanel.accounts.models import AuditEntry, User
from tests.docs.runbooks import command_lines_of
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)


def run(command: str) -> str:
    out = io.StringIO()
    call_command(*command.split()[1:], stdout=out, stderr=io.StringIO())
    return out.getvalue().strip()


def test_its_commands_let_the_only_administrator_in_again(alice: User, settings: Any) -> None:
    Authenticator.objects.create(user=alice, type=Authenticator.Type.TOTP, data={})
    factor, password, invitation = command_lines_of("lost-sign-in")
    assert "signs in with only the password" in run(factor)
    assert not Authenticator.objects.filter(user=alice).exists()
    link = run(password).removeprefix(settings.PANEL_URL)
    client = Client()
    assert client.get(link).status_code == 200
    chosen = {"password": "a new long password", "new_password1": "a new long password"}
    answer = client.post(link, chosen | {"new_password2": "a new long password"})
    assert answer.status_code == 302, answer.content.decode()
    alice.refresh_from_db()
    assert alice.check_password("a new long password")
    assert client.get(run(invitation).removeprefix(settings.PANEL_URL)).status_code == 200
    actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
    assert {"second-factor.reset", "person.password-link"} <= set(actions)


def test_a_link_for_nobody_or_for_a_closed_account_is_refused(alice: User) -> None:
    with pytest.raises(CommandError, match="no account nobody"):
        run("manage.py reset_password nobody")
    alice.is_active = False
    alice.save()
    with pytest.raises(CommandError, match="is closed"):
        run(f"manage.py reset_password {alice.username}")
