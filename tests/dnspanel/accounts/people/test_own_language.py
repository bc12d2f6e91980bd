"""Tests of the language of each person."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.people.own_language import language_of, set_language
from dnspanel.languages import UnknownLanguage
from tests.people import alice as alice


@pytest.mark.django_db
def test_a_language_is_kept_and_what_is_none_changes_nothing(alice: User) -> None:
    set_language(person=alice, code="ja")
    with pytest.raises(UnknownLanguage):
        set_language(person=alice, code="tlh")
    assert language_of(User.objects.get(pk=alice.pk)) == "ja"
    set_language(person=alice, code="")
    assert language_of(User.objects.get(pk=alice.pk)) == ""


def test_a_language_that_pages_no_longer_have_is_the_browser_s() -> None:
    assert language_of(User(language="la")) == ""
