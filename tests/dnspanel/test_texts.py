"""Tests of translated texts: a text is translated when it is made, or when it is displayed."""

from typing import Any

from django.utils import translation

from dnspanel.accounts.models import User
from dnspanel.accounts.people.own_language import mail_language
from dnspanel.texts import (
    Text,
    format_lazy,
    gettext,
    gettext_lazy,
    gettext_noop,
    in_english,
    join_list,
    ngettext,
    one_language,
    speaking,
)


def test_a_text_speaks_the_language_of_the_moment() -> None:
    later = gettext_lazy("Zones")
    with translation.override("fr"):
        assert (gettext("Close"), str(later)) == ("Fermer", "Zones")
        assert ngettext("{number} day", "{number} days", 0).format(number=0) == "0 jour"
    with translation.override("ja"):
        assert (gettext("Close"), str(later)) == ("閉じる", "ゾーン")
        assert ngettext("{number} day", "{number} days", 1).format(number=1) == "1 日"
    assert (gettext("Close"), str(later)) == ("Close", "Zones")


def test_what_is_only_collected_stays_english() -> None:
    with translation.override("de"):
        assert gettext_noop("Close") == "Close"


def test_a_lazy_text_is_one_when_it_is_made() -> None:
    later = format_lazy(gettext_lazy("Node {name} not found."), name="<b>")
    with speaking("de"):
        said = str(later)
    assert isinstance(said, Text)
    assert said != "Node <b> not found."
    assert in_english(said) == "Node <b> not found."


def test_in_a_block_of_one_language_it_is_that_of_its_begin() -> None:
    with translation.override("fr"):
        with one_language():
            assert gettext("Close") == "Fermer"
            assert in_english(gettext("Close")) == "Close"
        assert gettext("Close") == "Fermer"
    with one_language(), translation.override("fr"):
        assert gettext("Close") == "Close"
    assert gettext("Close") == "Close"


def test_things_are_listed_as_each_language_does() -> None:
    assert join_list(["a"]) == "a"
    assert join_list(["a", "b", "c"]) == "a, b and c"
    with speaking("de"):
        assert join_list(["a", "b"]) == "a und b"


def test_a_person_without_a_choice_is_written_to_in_the_language_of_the_panel(settings: Any) -> None:
    person = User(username="mia")
    assert mail_language(person) == "en"
    settings.DEFAULT_LANGUAGE = "fr"
    assert mail_language(person) == "fr"
    person.language = "ja"
    assert mail_language(person) == "ja"
