"""Tests of password sign-in, which finds the account by its exact name or address."""

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from tests.people import PASSWORD, make_person


def is_let_in(login: str) -> bool:
    answer = Client().post("/sign-in/", {"login": login, "password": PASSWORD}, REMOTE_ADDR="192.0.2.7")
    return answer.status_code == 302


@pytest.mark.parametrize("login", ["kims", "KIMS", "kims@people.test", "Kims@People.Test"])
def test_by_name_or_address_in_small_or_capital_letters(db: None, login: str) -> None:
    make_person("kims", "reader")
    assert is_let_in(login)


@pytest.mark.parametrize(
    "login", ["\u212aims", "kim\u017f", "k\u0131ms", "\u212aims@people.test", "k\u0131ms@people.test"]
)
def test_not_by_letters_that_are_folded_elsewhere(db: None, login: str) -> None:
    """A password must not be tried for an account whose name differs only by such a letter."""
    make_person("kims", "reader")
    assert not is_let_in(login)


def test_a_closed_account_stays_closed(db: None) -> None:
    person = make_person("kims", "reader")
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert not Client().login(username="kims", password=PASSWORD)
