"""Fields of a line and their start positions."""

import pytest

from dnspanel.web.editor.lines.fields import (
    Token,
    Unreadable,
    logical_lines,
    part_comment,
    quote,
    split_fields,
    split_text,
    string_bytes,
    word_at,
)
from tests.work import work_of


def texts(line: str) -> list[str]:
    return [token.text for token in split_fields(line)[0]]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", []),
        ("a b\tc", ["a", "b", "c"]),
        ('a "b c" d', ["a", '"b c"', "d"]),
        (r'"a\"b" c', [r'"a\"b"', "c"]),
        (r"a\ b c", [r"a\ b", "c"]),
        ("( a\n b ) c", ["a", "b", "c"]),
        ("( a ; one\n b ; two\n ) c", ["a", "b", "c"]),
        ('key="a b",c', ['key="a b",c']),
        ("a;b", ["a"]),
    ],
)
def test_a_line_is_cut_as_in_a_zone_file(line: str, fields: list[str]) -> None:
    assert texts(line) == fields


def test_each_field_knows_its_column() -> None:
    tokens, comment = split_fields('  a  "b"  ; said')
    assert [(token.text, token.column) for token in tokens] == [("a", 3), ('"b"', 6)]
    assert comment == "said"


@pytest.mark.parametrize(("line", "column"), [('a "b', 3), ("a )", 3), ("(a", 2), ("a \\", 3)])
def test_what_is_open_or_closed_too_much_is_pointed_at(line: str, column: int) -> None:
    with pytest.raises(Unreadable) as caught:
        split_fields(line)
    assert caught.value.column == column


def test_text_keeps_semicolons_and_parentheses() -> None:
    assert [token.text for token in split_text("v=DKIM1; p=(x)")] == ["v=DKIM1;", "p=(x)"]


@pytest.mark.parametrize(
    ("line", "parted"),
    [
        ("k=a; p=b", ("k=a; p=b", "")),
        ("k=a; p=b ; note", ("k=a; p=b ", "note")),
        ('"a ; b" ; note', ('"a ; b" ', "note")),
        (r"a \; b", (r"a \; b", "")),
    ],
)
def test_a_comment_after_text_needs_a_blank_before_it(line: str, parted: tuple[str, str]) -> None:
    assert part_comment(line) == parted


def test_every_byte_is_quoted_and_read_back() -> None:
    raw = bytes(range(256))
    assert string_bytes(Token(quote(raw), 1)) == raw


def test_an_escape_beyond_a_byte_is_refused() -> None:
    with pytest.raises(Unreadable):
        string_bytes(Token(r'"\256"', 1))


def test_words_end_at_blanks_that_are_not_escaped() -> None:
    assert word_at(r"  a\ b c", 0) == (Token(r"a\ b", 3), 6)
    assert word_at("   ", 0) is None


def test_lines_join_while_a_parenthesis_is_open() -> None:
    text = '; c\n\na (\n b ; )\n )\n"(" c\n(open'
    assert list(logical_lines(text)) == [(3, "a (\n b ; )\n )"), (6, '"(" c'), (7, "(open")]


def test_many_lines_in_one_parenthesis_cost_what_they_are_long() -> None:
    """Parsing takes linear time. Previously each line searched all earlier lines, and a paste can have a million."""

    once, twice = (work_of(lambda size=size: list(logical_lines("(" + "\nx" * size))) for size in (200, 400))  # type: ignore[misc]
    assert twice.is_at_most_twice(once), (once, twice)
