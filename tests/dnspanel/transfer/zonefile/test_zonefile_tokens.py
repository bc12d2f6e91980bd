"""Lines, entries and tokens of zone files."""

import pytest

from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.zonefile_tokens import (
    Sheet,
    Unreadable,
    comment_of,
    flatten,
    join_tokens,
    part_comment,
    printable,
    read_entry,
)


def sheet(raw: bytes) -> Sheet:
    return Sheet(Document("z", raw), 0)


def test_a_sheet_has_lines_whatever_they_end_in() -> None:
    assert sheet(b"a\r\nb\rc\nd").lines == ["a", "b", "c", "d"]
    assert sheet(b"\xef\xbb\xbfa\n").lines == ["a", ""]
    assert sheet(b"").lines == [""]


def test_a_sheet_knows_whether_it_is_plain() -> None:
    assert sheet(b"a\tb\r\n").plain
    assert not sheet("grün".encode()).plain
    assert not sheet(b"a\0").plain
    assert sheet(b"a\xff").lines == ["a\udcff"]


def test_offsets_are_those_of_the_file() -> None:
    raw = b"\xef\xbb\xbfab\r\n\xc3\xbcx\xffy\n"
    assert sheet(raw).offset(1, 3) == raw.index(b"\xff")


def test_a_block_ends_where_its_parentheses_do() -> None:
    lines = b'a ( ; ( not\n "(" \\( )\nb (\n(\n)\n) x\nc'
    found = sheet(lines)
    assert found.block(0) == ["a ( ; ( not", ' "(" \\( )']
    assert found.block(2) == ["b (", "(", ")", ") x"]
    assert found.block(6) == ["c"]


def test_a_parenthesis_that_is_never_closed_has_its_place() -> None:
    with pytest.raises(Unreadable) as caught:
        sheet(b'a "(" ( b\nc').block(0)
    assert (caught.value.code, caught.value.column) == ("parenthesis", 7)


def test_tokens_keep_their_escapes_and_their_places() -> None:
    entry = read_entry(['a\\ b "c \\" d"e ( f', "\tg ) ; the end"])
    assert [(token.text, token.quoted, token.line, token.column, token.end) for token in entry.tokens] == [
        ("a\\ b", False, 0, 1, 5),
        ('c \\" d', True, 0, 6, 14),
        ("e", False, 0, 14, 15),
        ("f", False, 0, 18, 19),
        ("g", False, 1, 2, 3),
    ]
    assert (entry.comment, entry.blank, entry.lines) == ("the end", False, 2)
    assert join_tokens(entry.tokens) == 'a\\ b "c \\" d"e f g'
    assert read_entry(["\tx"]).blank


@pytest.mark.parametrize(
    ("line", "code", "column"),
    [
        ('a "b', "quote", 3),
        ("a b\\", "escape", 4),
        ("a )", "parenthesis", 3),
        ("a\x07b", "control-character", 2),
        ("ab \udcff", "wrong-encoding", 4),
        ('a "b\udcff"', "wrong-encoding", 5),
    ],
)
def test_what_is_no_token_has_its_column(line: str, code: str, column: int) -> None:
    with pytest.raises(Unreadable) as caught:
        read_entry([line])
    assert (caught.value.code, caught.value.column) == (code, column)


def test_comments_are_parted_outside_of_quotes_and_escapes() -> None:
    assert part_comment('a "b;c" d\\; ;  x\ty ; z ') == ('a "b;c" d\\; ', "x y ; z")
    assert part_comment('a "b;c"') is None
    assert comment_of("a ;\x01 gr\udcfcn") == "gr\ufffdn"
    assert comment_of("a") == ""


def test_simple_entries_of_several_lines_become_one_line() -> None:
    flat = flatten(["@ SOA a. b. (", " 1 ; serial (day)", " 2 3", " 4 5 ) ; end"])
    assert flat is not None
    assert flat.split() == ["@", "SOA", "a.", "b.", "1", "2", "3", "4", "5"]
    assert flatten(['a ( "x (;" ; y', "\\( )"]) == 'a   "x (;"   \\(  '
    for lines in (["a ( (", "))"], ["a ) (", ""], ["a (", "(", "))"]):
        assert flatten(lines) is None


def test_printable_text_has_no_halves_of_characters() -> None:
    assert printable("a\udcffb") == "a\ufffdb"
    assert printable("grün") == "grün"
