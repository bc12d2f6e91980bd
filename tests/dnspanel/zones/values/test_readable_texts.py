"""The display of UTF-8 text in record values."""

import pytest

from dnspanel.zones.values.readable_texts import readable_text


@pytest.mark.parametrize(
    ("stored", "displayed"),
    [
        (r'"Gr\195\188\195\159e" "f\195\188r"', '"Grüße" "für"'),
        (r'0 issue "\227\129\130\227\129\132"', '0 issue "あい"'),
        (r'"a\\\195\188 \"\195\188\""', r'"a\\ü \"ü\""'),
        (r'"\240\159\152\128\226\128\141"', r'"😀\226\128\141"'),
    ],
    ids=["words", "a quoted part", "beside other escapes", "a picture and a joiner"],
)
def test_letters_are_displayed_instead_of_their_escapes(stored: str, displayed: str) -> None:
    assert readable_text(stored) == displayed


@pytest.mark.parametrize(
    "stored",
    [
        r'"a\\195\188"',
        r'"\010\127\194\133"',
        r'"\226\128\174abc\226\129\166"',
        r'"\239\187\191\194\160"',
        r'"\195 \188\195"',
        r'"\237\160\128\192\175\245\128\128\128"',
        r'"\195" "\188"',
        r"B\195\188ro._ipp._tcp.example.test.",
    ],
    ids=["escaped backslash", "control", "direction", "invisible", "half", "invalid", "split", "name"],
)
def test_other_bytes_stay_escaped(stored: str) -> None:
    assert readable_text(stored) == stored
