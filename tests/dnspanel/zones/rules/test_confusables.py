"""Scripts of international labels, and characters that look like Latin letters. Examples are from UTS 39 and UAX 24."""

import re

import idna
import pytest

from dnspanel.zones.rules.confusables import TABLE, looks_like, mixed_scripts, scripts_of


@pytest.mark.parametrize(
    "label",
    [
        "münchen", "ελλάδα", "пример1", "кто-нибудь", "ไทย", "العربية", "हिन्दी", "日本語", "ひらがなカタカナ漢字ー",
        "abc日本ひら", "한국어漢字abc", "中文ㄅㄆ", "abc中文ㄅ", "abc-123", "123", "ł",
    ],
)  # fmt: skip
def test_what_one_language_writes_together_passes(label: str) -> None:
    assert mixed_scripts(label) == ()


@pytest.mark.parametrize(
    ("label", "scripts"),
    [
        ("pаypal", ("Cyrillic", "Latin")),
        ("βeta", ("Greek", "Latin")),
        ("한글ひら", ("Hangul", "Hiragana")),
        ("ひらㄅ", ("Bopomofo", "Hiragana")),
        ("abcไทย", ("Latin", "Thai")),
        ("аβ", ("Cyrillic", "Greek")),
        ("日本а", ("Cyrillic", "Han")),
        ("abcひら한글", ("Hangul", "Hiragana", "Latin")),
    ],
)
def test_what_no_language_writes_together_is_named(label: str, scripts: tuple[str, ...]) -> None:
    assert mixed_scripts(label) == scripts


@pytest.mark.parametrize(
    ("label", "plain"),
    [("аррӏе", "apple"), ("pаypal", "paypal"), ("ɡoogle", "google"), ("оса", "oca"), ("ехаmрӏе-1", "example-1")],
)
def test_what_looks_like_plain_letters_is_said_in_them(label: str, plain: str) -> None:
    assert looks_like(label) == plain


@pytest.mark.parametrize("label", ["münchen", "æble", "пример", "apple", "日本", "ไทย", ""])
def test_what_does_not_is_not(label: str) -> None:
    assert looks_like(label) == ""


def test_the_table_says_of_what_it_was_made_and_is_in_order() -> None:
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert [len(re.findall(r" [0-9a-f]{64} \S+\.txt$", line)) for line in lines[2:6]] == [1, 1, 1, 1]
    rows = [line.split(" ") for line in lines if not line.startswith("#")]
    ends = [int(end, 16) for first, last, *_ in rows if last != "=" for end in (first, last)]
    assert ends == sorted(ends)
    alike = [int(first, 16) for first, last, *_ in rows if last == "="]
    assert alike == sorted(set(alike))
    assert scripts_of("\u30fc") == {"Hiragana", "Katakana"}, "used in both"
    assert idna.decode("xn--80ak6aa92e") == "аррӏе"
