"""Tests of the languages of pages and of their message catalogs."""

from pathlib import Path

from django.conf import settings
from django.utils.translation import get_language_info

from dnspanel.languages import LANGUAGE_CODES, LANGUAGES

LOCALE = Path(__file__).parents[2] / "locale"


def test_every_language_but_english_has_a_catalog_and_no_other_has() -> None:
    assert {path.parent.parent.name for path in LOCALE.glob("*/LC_MESSAGES/django.po")} == LANGUAGE_CODES - {"en"}
    assert LANGUAGES == settings.LANGUAGES


def test_each_language_is_named_by_itself() -> None:
    assert [name.lower() for _, name in LANGUAGES] == [
        get_language_info(code)["name_local"].lower() for code, _ in LANGUAGES
    ]
