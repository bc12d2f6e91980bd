"""Tests of audit log entries for sign-in and sign-out."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.sign_in.sign_ins import UNKNOWN, tries_key
from tests.people import NOW, PASSWORD


def sign_in(client: Client, login: str, password: str, address: str = "192.0.2.7") -> Any:
    return client.post("/sign-in/", {"login": login, "password": password}, REMOTE_ADDR=address)


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


def test_a_strangers_wrong_passwords_do_not_keep_the_owner_out(client: Client, bob: User) -> None:
    """Regression test: five wrong passwords every few minutes by a stranger locked the owner out."""
    for address in ("192.0.2.7", "2001:db8:1:2::7"):
        assert sign_in(Client(), "bob", PASSWORD, address).status_code == 302
    for number in range(12):  # by name and by mail address, from many places
        sign_in(Client(), ("bob", "bob@people.test")[number % 2], "wrong password", f"203.0.113.{number}")
    actions = [action for action, *_ in entries()[2:]]
    assert actions == ["sign-in.failed"] * 5 + ["sign-in.locked"] * 7
    refused = sign_in(Client(), "bob", PASSWORD, "203.0.113.99")
    assert "Wait a few minutes" in refused.content.decode()
    for address in ("192.0.2.7", "2001:db8:1:2:3:4:5:6"):  # the host has changed its address
        assert sign_in(Client(), "bob", PASSWORD, address).status_code == 302
    assert sign_in(Client(), "bob", PASSWORD, "2001:db8:1:3::7").status_code == 200
    for _ in range(5):
        sign_in(Client(), "bob", "wrong password")
    assert sign_in(Client(), "bob", PASSWORD).status_code == 200, "nor has a known place all the tries there are"


def test_a_place_is_forgotten_and_is_known_to_its_own_account_only(bob: User, alice: User) -> None:
    for user, days in ((bob, 91), (alice, 1)):
        at = NOW - timedelta(days=days)
        AuditEntry.objects.create(at=at, user=user, address="192.0.2.7", action="sign-in", target=user.username)
    keys = [tries_key({"username": name}, "192.0.2.7", NOW) for name in ("bob", "ALICE", "nobody")]
    assert keys == [f"account:{bob.pk}", f"account:{alice.pk}:192.0.2.7/32", "typed:nobody"]
    assert tries_key({"email": "alice@people.test"}, "", NOW) == f"account:{alice.pk}"


def test_a_new_password_is_written_down(client: Client, bob: User) -> None:
    client.force_login(bob, backend="django.contrib.auth.backends.ModelBackend")
    new = "another long passphrase"
    answer = client.post("/account/password/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert answer.status_code == 302
    assert ("person.password", "bob", "bob") in [entry[:3] for entry in entries()]


@pytest.mark.parametrize("login", ["\0bob", "", "x" * 5000])
def test_strange_names_break_nothing(client: Client, bob: User, login: str) -> None:
    assert sign_in(client, login, "x").status_code == 200
