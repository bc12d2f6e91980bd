"""Tests of account lookup by canonical spelling: letters of other scripts never match ASCII letters."""

import pytest

from dnspanel.accounts.actors.find_people import (
    account_named,
    free_name,
    has_mail,
    has_username,
    mail_is_taken,
    name_is_taken,
)
from dnspanel.accounts.models import User
from tests.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def kim() -> User:
    return make_person("kims", "reader")


@pytest.mark.parametrize("typed", ["kims", "KIMS", "Kims@people.TEST"])
def test_capitals_of_ascii_are_alike(kim: User, typed: str) -> None:
    assert account_named(typed) == kim


@pytest.mark.parametrize(
    "typed", ["\u212aims", "kim\u017f", "k\u0131ms", "\u212aims@people.test", "kims@people.te\u017ft", "", "kims\0"]
)
def test_letters_that_are_folded_elsewhere_are_not_alike(kim: User, typed: str) -> None:
    assert account_named(typed) is None
    assert not User.objects.filter(has_username(typed)).exists()
    assert not User.objects.filter(has_mail(typed)).exists()


def test_an_account_without_a_canonical_spelling_is_found_by_what_stands_in_it(kim: User) -> None:
    """Another account has the canonical spelling, so the migration gave this account none."""
    User.objects.filter(pk=kim.pk).update(username="Kims", email="Kims@people.test", name_key=None, mail_key=None)
    assert account_named("Kims") == account_named("Kims@people.test") == kim
    assert account_named("kims") is None
    assert account_named("kims@people.test") is None
    # No other account can take either of them, in any spelling.
    assert name_is_taken("kimS")
    assert mail_is_taken("KIMS@people.test")
    assert not name_is_taken("kimS", but=kim.pk)
    assert not mail_is_taken("KIMS@people.test", but=kim.pk)
    kim.refresh_from_db()
    kim.first_name = "Kim"
    kim.save()
    assert (kim.name_key, kim.mail_key) == (None, None)


def test_keys_follow_what_is_saved(kim: User) -> None:
    kim.email = "New@Grüße.de"
    kim.save(update_fields=["email"])
    kim.refresh_from_db()
    assert kim.mail_key == "new@xn--gre-6ka8l.de"


def test_a_free_name_has_a_number(kim: User) -> None:
    assert free_name("kims") == "kims-2"
    make_person("KIMS-2", "reader")
    assert free_name("kims") == "kims-3"
    assert free_name("jo") == "jo"
