"""Signing in and out stands in the audit log."""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.sign_ins import UNKNOWN
from tests.people import PASSWORD


def sign_in(client: Client, login: str, password: str) -> Any:
    return client.post("/sign-in/", {"login": login, "password": password}, REMOTE_ADDR="192.0.2.7")


def entries() -> list[tuple[str, str, str | None, str | None]]:
    found = AuditEntry.objects.order_by("pk")
    return list(found.values_list("action", "target", "user__username", "address"))


def test_a_sign_in_and_a_sign_out_are_written_down(client: Client, bob: User) -> None:
    assert sign_in(client, "bob", PASSWORD).status_code == 302
    client.post("/sign-out/", REMOTE_ADDR="192.0.2.8")
    assert entries() == [("sign-in", "bob", "bob", "192.0.2.7"), ("sign-out", "bob", "bob", "192.0.2.8")]


def test_a_wrong_password_is_written_down_with_the_account(client: Client, bob: User) -> None:
    for login in ("BOB", "bob@people.test"):
        sign_in(client, login, "wrong password")
    assert entries() == [("sign-in.failed", "bob", None, "192.0.2.7")] * 2


def test_what_may_be_a_password_in_the_wrong_field_is_not_written_down(client: Client, bob: User) -> None:
    sign_in(client, PASSWORD, "bob")
    assert entries() == [("sign-in.failed", UNKNOWN, None, "192.0.2.7")]
    assert PASSWORD not in str(list(AuditEntry.objects.values()))


def test_who_guesses_too_often_is_written_down_as_locked_out(client: Client, bob: User) -> None:
    for _ in range(15):
        sign_in(client, "bob", "wrong password")
    actions = [action for action, *_ in entries()]
    assert actions[0] == "sign-in.failed"
    assert actions[-1] == "sign-in.locked"


def test_a_new_password_is_written_down(client: Client, bob: User) -> None:
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    new = "another long passphrase"
    answer = client.post("/account/password/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert answer.status_code == 302
    assert ("person.password", "bob", "bob") in [entry[:3] for entry in entries()]


@pytest.mark.parametrize("login", ["\0bob", "", "x" * 5000])
def test_strange_names_break_nothing(client: Client, bob: User, login: str) -> None:
    assert sign_in(client, login, "x").status_code == 200
