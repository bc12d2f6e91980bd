"""The list of texts in scripts is complete, so that they can be translated."""

import re
from pathlib import Path

from django.utils import translation

from dnspanel.web.script_texts import SCRIPT_TEXTS, script_texts

SCRIPTS = Path(__file__).parents[3] / "static" / "js"


def test_every_text_of_a_script_is_listed_and_no_other() -> None:
    sources = [path.read_text() for path in sorted(SCRIPTS.glob("*.js"))]
    called = {text for source in sources for text in re.findall(r'translated\(\s*"([^"]+)"', source)}
    named = {text for text in SCRIPT_TEXTS if any(f'"{text}"' in source for source in sources)}
    assert called <= set(SCRIPT_TEXTS)
    assert named == set(SCRIPT_TEXTS)


def test_english_pages_carry_no_texts_for_scripts() -> None:
    with translation.override("en"):
        assert script_texts() == {}
    with translation.override("de"):
        assert script_texts().keys() == set(SCRIPT_TEXTS)
