"""Tests of canonical spellings of accounts: the accounts that get them, and the report about the others."""

import pytest
from django.core.management import call_command

from dnspanel.accounts.models import User
from dnspanel.accounts.people.account_keys import fill_keys
from tests.people import make_person

pytestmark = pytest.mark.django_db


def keyless(name: str, username: str, email: str, active: bool = True) -> User:
    """Create an account without canonical spellings, as older releases created accounts."""
    person = make_person(name, "reader")
    User.objects.filter(pk=person.pk).update(
        username=username, email=email, is_active=active, name_key=None, mail_key=None
    )
    return person


def keys_of(person: User) -> tuple[str | None, str | None]:
    person.refresh_from_db()
    return person.name_key, person.mail_key


def test_accounts_that_collide_or_cannot_be_canonical_are_named_and_keep_working() -> None:
    ada, double = keyless("a", "ada", "ada@x.test"), keyless("b", "ADA", "ada@X.test")
    kim, eve = keyless("c", "\u212aim", "kım@x.test"), keyless("d", "Eve", "Eve@x.test")
    said = fill_keys(User.objects.all())
    assert keys_of(ada) == keys_of(double) == keys_of(kim) == (None, None)
    assert keys_of(eve) == ("eve", "eve@x.test")
    assert len(said) == 6
    for person in (ada, double, kim):
        assert sum(f"Account {person.pk} " in line for line in said) == 2
    assert sum("has no canonical spelling" in line for line in said) == 2
    assert sum("another account has the same" in line for line in said) == 4
    assert all("works only with the exact" in line for line in said)


def test_the_only_open_account_has_the_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    ada, double = keyless("a", "ada", "ada@x.test"), keyless("b", "ADA", "ada@X.test")
    call_command("check_accounts")
    assert keys_of(ada) == (None, None)
    User.objects.filter(pk=double.pk).update(is_active=False)
    call_command("check_accounts")
    assert keys_of(ada) == ("ada", "ada@x.test")
    assert keys_of(double) == (None, None)
    assert f"Account {double.pk} " in capsys.readouterr().out
    User.objects.filter(pk=double.pk).update(is_active=True)  # a spelling that another account has by now stays there
    call_command("check_accounts")
    assert keys_of(double) == (None, None)
