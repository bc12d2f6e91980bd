"""Tests of invitations, one-time links that create accounts."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from threading import Barrier
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from dnspanel.accounts.errors import AccountRefused, InvitationExpired, InvitationUnknown, InvitationUsed
from dnspanel.accounts.models import AuditEntry, Invitation, Role, User
from dnspanel.accounts.people.invite import LIFETIME, accept_invitation, make_invitation, open_invitation
from tests.people import NOW, PASSWORD


def accept(secret: str, **how: Any) -> User:
    right = {"username": "eva", "email": "Eva@People.test", "password": PASSWORD, "now": NOW}
    return accept_invitation(secret=secret, **(right | how))


def test_an_invitation_makes_one_account_with_its_role(alice: User) -> None:
    secret = make_invitation(role=Role.EDITOR, by=alice, now=NOW)
    assert open_invitation(secret, NOW).created_by == alice
    eva = accept(secret)
    assert (eva.role, eva.email, eva.is_staff, eva.is_superuser) == (Role.EDITOR, "eva@people.test", False, False)
    assert eva.check_password(PASSWORD)
    invitation = Invitation.objects.get()
    assert (invitation.used_at, invitation.used_by) == (NOW, eva)
    with pytest.raises(InvitationUsed):
        accept(secret, username="ida", email="ida@people.test")
    with pytest.raises(InvitationUsed):
        open_invitation(secret, NOW)


def test_only_the_digest_of_the_secret_is_stored(db: None) -> None:
    secret = make_invitation(role=Role.READER, by=None, now=NOW)
    assert len(secret) >= 43
    assert secret.encode() not in bytes(Invitation.objects.get().secret_sha256)
    assert len(bytes(Invitation.objects.get().secret_sha256)) == 32


def test_an_old_or_unknown_link_says_so(db: None) -> None:
    secret = make_invitation(role=Role.READER, by=None, now=NOW)
    with pytest.raises(InvitationExpired, match="2026-11-23"):
        accept(secret, now=NOW + LIFETIME)
    accept(secret, now=NOW + LIFETIME - timedelta(seconds=1))
    with pytest.raises(InvitationUnknown):
        accept(secret + "x")


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("username", {"username": "ALICE"}),
        ("username", {"username": "a b"}),
        ("username", {"username": ""}),
        ("email", {"email": "alice@people.test"}),
        ("email", {"email": "nowhere"}),
        ("password", {"password": "short"}),
        ("password", {"password": "password1234"}),
        ("password", {"username": "evangeline.k", "password": "evangeline.k"}),
    ],
)
def test_what_is_wrong_is_told_per_field_and_leaves_the_invitation_good(
    alice: User, field: str, wrong: dict[str, str]
) -> None:
    secret = make_invitation(role=Role.READER, by=None, now=NOW)
    with pytest.raises(AccountRefused) as caught:
        accept(secret, **wrong)
    assert set(caught.value.fields) == {field}
    accept(secret)


@pytest.mark.django_db(transaction=True)
def test_accepted_twice_at_once_it_makes_one_account() -> None:
    secret = make_invitation(role=Role.READER, by=None, now=NOW)
    barrier = Barrier(4, timeout=10)

    def run(number: int) -> str:
        try:
            barrier.wait()
            return accept(secret, username=f"eva{number}", email=f"eva{number}@people.test").username
        except InvitationUsed:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        made = [name for name in pool.map(run, range(4)) if name]
    assert [user.username for user in User.objects.all()] == made
    assert len(made) == 1


def test_the_command_prints_the_link_of_an_administrator(db: None, settings: Any) -> None:
    settings.PANEL_URL = "https://panel.test"
    out = StringIO()
    call_command("invite", stdout=out, stderr=StringIO())
    link = out.getvalue().strip()
    assert link.startswith("https://panel.test/welcome/")
    assert link.endswith("/")
    invitation = Invitation.objects.get()
    secret = link.removeprefix("https://panel.test/welcome/").removesuffix("/")
    assert invitation.role == Role.ADMINISTRATOR
    assert open_invitation(secret, invitation.created_at) == invitation


def test_an_invitation_and_its_account_are_in_the_audit_log(alice: User) -> None:
    accept(make_invitation(role=Role.READER, by=alice, now=NOW))
    entries = AuditEntry.objects.order_by("pk").values_list("action", "user__username", "target", "details__role")
    assert list(entries) == [("person.invite", "alice", "", "reader"), ("person.join", "eva", "eva", "reader")]
