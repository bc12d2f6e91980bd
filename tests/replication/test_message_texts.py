"""Texts that are stored without a language and rendered in any language."""

import copy
import pickle
from datetime import UTC, datetime

import pytest

from replication import message_texts
from replication.errors import Diverged
from replication.message_texts import (
    Text,
    format_text,
    gettext,
    in_english,
    joined,
    ngettext,
    parse_text,
    shortened,
    spoken,
)

GERMAN = {
    "{name} is gone.": "{name} ist weg.",
    "it is empty": "er ist leer",
    "“{text}” is no name: {reason}": "„{text}“ ist kein Name: {reason}",
    "{count} zone": "{count} Zone",
    "{count} zones": "{count} Zonen",
}


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    def translate(english: str, plural: str, number: int) -> str:
        said = plural if plural and number != 1 else english
        return GERMAN.get(said, said)

    monkeypatch.setattr(message_texts, "_of_this_moment", lambda: translate)


@pytest.fixture
def english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_texts, "_of_this_moment", lambda: message_texts.english_form)


def test_what_was_made_in_english_is_read_in_the_language_of_the_reader(
    english: None, request: pytest.FixtureRequest
) -> None:
    reason = gettext("“{text}” is no name: {reason}").format(text="<b>x</b> {y}", reason=gettext("it is empty"))
    assert reason == "“<b>x</b> {y}” is no name: it is empty"
    stored = format_text(reason)
    request.getfixturevalue("german")
    assert parse_text(stored) == "„<b>x</b> {y}“ ist kein Name: er ist leer"
    assert spoken(reason) == parse_text(stored)
    assert in_english(parse_text(stored)) == reason
    assert format_text(parse_text(stored)) == stored


def test_a_number_chooses_the_form(german: None) -> None:
    for count, said in ((1, "1 Zone"), (2, "2 Zonen"), (0, "0 Zonen")):
        text = ngettext("{count} zone", "{count} zones", count).format(count=count)
        assert text == said
        assert parse_text(format_text(text)) == said
    assert in_english(text) == "0 zones"


def test_several_texts_are_one(german: None) -> None:
    text = joined("; ", [gettext("it is empty"), "{x}", gettext("{name} is gone.").format(name="ns1")])
    assert text == "er ist leer; {x}; ns1 ist weg."
    assert parse_text(format_text(text)) == text
    assert in_english(text) == "it is empty; {x}; ns1 is gone."
    assert parse_text(format_text(joined("{}", ["a", "b"]))) == "a{}b"


def test_an_error_keeps_its_text_on_its_way(german: None) -> None:
    with pytest.raises(ValueError, match="weg") as caught:
        raise ValueError(gettext("{name} is gone.").format(name="ns1"))
    said = str(caught.value)
    assert isinstance(said, Text)
    assert in_english(gettext("{error}").format(error=caught.value)) == "ns1 is gone."
    error = pickle.loads(pickle.dumps(Diverged(expected=b"\1", found=b"\2")))
    assert in_english(str(error)) == "the database has digest 02, but 01 was expected"
    for made in (pickle.loads(pickle.dumps(said)), copy.deepcopy(said)):
        assert format_text(made) == format_text(said)


def test_numbers_and_times_keep_their_form() -> None:
    at = datetime(2026, 11, 26, 9, 30, tzinfo=UTC)
    text = gettext("{count:,} at {at:%Y-%m-%d %H:%M}, {share:.1%}").format(count=12345, at=at, share=0.25)
    assert text == "12,345 at 2026-11-26 09:30, 25.0%"
    assert parse_text(format_text(text)) == text


def test_what_is_no_text_stays_as_it_is() -> None:
    for plain in ("", "its own words", "{name}", "a\nb"):
        assert format_text(plain) == plain
        assert parse_text(plain) == plain


@pytest.mark.parametrize(
    "words",
    [
        '{"text":"it is empty"}',
        '{"text":"{x}","values":{"x":{"text":"it is empty"}}}',
        '{"text":',
    ],
)
def test_words_of_others_are_never_taken_for_a_message(german: None, words: str) -> None:
    assert parse_text(format_text(words)) == words


@pytest.mark.parametrize(
    "stored",
    [
        '{"text":',
        '{"text":3}',
        '{"text":["a"]}',
        '{"text":"{x}","values":3}',
        '{"text":"{x.__class__}","values":{"x":1}}',
        '{"text":"{x[0]}","values":{"x":"ab"}}',
        '{"text":"{x:>9999999}","values":{"x":1}}',
        '{"text":"{}","values":{}}',
        '{"text":"{x}","values":{}}',
        '{"text":"a","values":{"x":{"time":"never"}}}',
        '{"text":"{x}","values":{"x":' * 40 + "1" + "}}" * 40,
        '{"text":"{x}","values":{"x":' * 20_000,
    ],
)
def test_what_cannot_be_a_stored_text_is_shown_as_it_is(stored: str) -> None:
    assert parse_text(stored) == stored


def test_a_translation_that_does_not_fit_gives_way_to_the_english(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = format_text(gettext("{name} is gone.").format(name="ns1"))
    monkeypatch.setattr(message_texts, "_of_this_moment", lambda: lambda english, plural, number: "{other} ist weg.")
    assert parse_text(stored) == "ns1 is gone."


def test_with_values_by_their_place_it_is_a_plain_string() -> None:
    message = gettext("{} is gone.").format("ns1")
    assert (message, type(message)) == ("ns1 is gone.", str)


def test_only_a_text_that_is_too_long_is_cut() -> None:
    text = gettext("{name} is gone.").format(name="ns1")
    assert isinstance(shortened(text, 12), Text)
    assert shortened(text, 3) == "ns1"
