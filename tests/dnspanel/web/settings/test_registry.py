"""The page lists all environment variables that the settings read, with their values except secrets."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from dnspanel.web.settings.registry import SECTIONS, value_text

ENTRIES = [setting for section in SECTIONS for setting in section.settings]


def test_every_variable_of_the_settings_is_there() -> None:
    source = (Path(__file__).parents[4] / "dnspanel/settings.py").read_text()
    read = set(re.findall(r"env\w+\(\s*\"(PANEL_\w+)\"", source))
    assert {setting.variable for setting in ENTRIES} == read
    assert len(ENTRIES) == len(read)


def test_every_variable_has_its_own_text() -> None:
    texts = [str(each.text) for section in SECTIONS for each in section.settings if each.text != "S3 credentials"]
    assert [text for text in set(texts) if texts.count(text) > 1] == []


def test_what_is_read_by_envsecret_is_never_told() -> None:
    source = (Path(__file__).parents[4] / "dnspanel/settings.py").read_text()
    secrets = set(re.findall(r"envsecret\(\s*\"(PANEL_\w+)\"", source))
    assert {setting.variable for setting in ENTRIES if setting.is_secret} == secrets
    assert not any(setting.attribute for setting in ENTRIES if setting.is_secret)


def test_every_attribute_exists() -> None:
    assert [each.attribute for each in ENTRIES if each.attribute and not hasattr(settings, each.attribute)] == []


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (False, "no"),
        ("", "none"),
        (None, "none"),
        ([], "none"),
        (["a", "b"], "a, b"),
        ({"read": 30.0, "zones": None}, "read=30, zones=none"),
        (0, "0"),
        (Path("/srv"), "/srv"),
    ],
)
def test_values_are_said_in_words(value: object, text: str) -> None:
    assert value_text(value) == text
