import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.sources.sql_literals import RowReader, Value, parse_copy_field

MYSQL, OTHERS = RowReader(backslashes=True), RowReader(backslashes=False)


def row(reader: RowReader, text: bytes) -> list[Value]:
    found = reader.row(text, 0)
    assert found is not None
    assert found[1] == len(text)
    return found[0]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"(1,'a',NULL)", ["1", "a", None]),
        (b" ( -5 , 1.5e3 , 'x' )", ["-5", "1.5e3", "x"]),
        (b"('it''s','')", ["it's", ""]),
        (b"(true,FALSE,null)", [True, False, None]),
        (b"(0x6162,X'6364',x'')", ["ab", "cd", ""]),
        (b"(0xff)", [b"\xff"]),
        (b"(b'101',_binary 'z',_utf8mb4'y')", ["5", "z", "y"]),
        (b"(E'a\\nb')", ["a\nb"]),
        ("('zürich')".encode(), ["zürich"]),
        (b"('\xff')", [b"\xff"]),
        (b"('a;b),(c')", ["a;b),(c"]),
        (b"('a\nb')", ["a\nb"]),
    ],
)
def test_literals_of_all_dialects(text: bytes, values: list[Value]) -> None:
    assert row(OTHERS, text) == values
    assert row(MYSQL, text) == values


def test_backslashes_are_escapes_in_mysql_only() -> None:
    text = rb"('a\'b\\c\n\0\Z\x')"
    assert row(MYSQL, text) == ["a'b\\c\n\0\x1ax"]
    assert OTHERS.row(text, 0) is None
    assert row(OTHERS, rb"('C:\n\')") == ["C:\\n\\"]


def test_functions_of_sqlites_dumps_are_computed() -> None:
    assert row(OTHERS, rb"(1,replace('a\nb','\n',char(10)),'x')") == ["1", "a\nb", "x"]
    nested = rb"(replace(replace('a\r\nb','\r',char(13)),'\n',char(10)))"
    assert row(OTHERS, nested) == ["a\r\nb"]
    assert row(OTHERS, rb"(unistr('a\u000ab\\'))") == ["a\nb\\"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"(",
        b"(1",
        b"(1,",
        b"(1,'a",
        b"(1, )",
        b"()",
        b"1,2)",
        b"(now())",
        b"(replace('a'))",
        b"(char('x'))",
        b"(1 2)",
        b"(x'abc')",
        b"(b'2')",
    ],
)
def test_what_is_no_complete_row_is_none(text: bytes) -> None:
    assert OTHERS.row(text, 0) is None


def mysql_quoted(text: str) -> bytes:
    escapes = {"\0": "\\0", "\n": "\\n", "\r": "\\r", "\\": "\\\\", "'": "\\'", '"': '\\"', "\x1a": "\\Z"}
    return f"'{''.join(escapes.get(char, char) for char in text)}'".encode()


@given(st.lists(st.text(alphabet=st.characters(codec="utf-8")), min_size=1, max_size=5))
def test_any_text_comes_back(texts: list[str]) -> None:
    assert row(MYSQL, b"(" + b",".join(map(mysql_quoted, texts)) + b")") == texts
    plain = ",".join("'" + text.replace("'", "''") + "'" for text in texts)
    assert row(OTHERS, f"({plain})".encode()) == texts
    for text in texts:
        escaped = text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
        assert parse_copy_field(escaped.encode()) == text


def test_a_field_of_copy_may_be_nothing_or_bytes() -> None:
    assert parse_copy_field(rb"\N") is None
    assert parse_copy_field(rb"\\N") == r"\N"
    assert parse_copy_field(rb"\x41\101\q") == "AAq"
    assert parse_copy_field(b"\xff") == b"\xff"
