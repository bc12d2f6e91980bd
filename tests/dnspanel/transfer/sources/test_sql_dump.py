from collections.abc import Iterator

import pytest

from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.sources import sql_dump
from dnspanel.transfer.sources.sql_dump import BadLine, TableRow, dump_rows
from dnspanel.transfer.sources.sql_literals import Value

TABLES = {"domains", "records"}
CREATE = "CREATE TABLE domains (id INTEGER PRIMARY KEY, name VARCHAR(255) NOT NULL, master TEXT DEFAULT 'a,b)');\n"


def found(text: str | bytes, step: int = 1 << 16) -> list[TableRow | BadLine]:
    dump = text.encode() if isinstance(text, str) else text
    chunks: Iterator[bytes] = (dump[at : at + step] for at in range(0, len(dump), step))
    return list(dump_rows(chunks, TABLES))


def values(text: str | bytes, step: int = 1 << 16) -> list[list[Value]]:
    rows = found(text, step)
    assert all(isinstance(row, TableRow) for row in rows), rows
    return [row.values for row in rows if isinstance(row, TableRow)]


def test_columns_come_from_create_table_without_constraints() -> None:
    text = """
    CREATE TABLE IF NOT EXISTS `pdns`.`records` (
      `id` bigint(20) NOT NULL AUTO_INCREMENT, -- the id, (really
      `key` varchar(255) DEFAULT 'x, (y' COMMENT 'it''s',
      /* between */ `disabled` tinyint(1) DEFAULT 0,
      amount decimal(10,2),
      PRIMARY KEY (`id`), KEY `a` (`key`), CONSTRAINT `b` FOREIGN KEY (`id`) REFERENCES `domains` (`id`)
    ) ENGINE=InnoDB;
    INSERT INTO `records` VALUES (1,'a',0,1.5),(2,'b',1,2);
    """
    rows = found(text)
    assert rows[0] == TableRow("records", ("id", "key", "disabled", "amount"), ["1", "a", "0", "1.5"])
    assert len(rows) == 2


@pytest.mark.parametrize("step", [1, 7, 1 << 16])
def test_a_dump_is_the_same_however_it_is_cut(step: int) -> None:
    text = (
        "-- a comment; with 'a quote\n/*!40101 SET NAMES utf8 */;\n" + CREATE + "INSERT INTO other VALUES ('x;', 1);\n"
        "INSERT INTO domains VALUES (1,'a;b',NULL),\n (2,'it''s','x');\n"
        "INSERT INTO domains (name, id) VALUES ('c', 3);\nCOMMIT;\n"
    )
    assert values(text, step) == [["1", "a;b", None], ["2", "it's", "x"], ["c", "3"]]


def test_rows_of_copy_are_lines() -> None:
    text = (
        "\\restrict abc\nSET client_encoding = 'UTF8';\n"
        "COPY public.other (a) FROM stdin;\n'; INSERT INTO domains VALUES (1)\n\\.\n"
        "COPY public.domains (id, name, master) FROM stdin;\n1\ta.test\t\\N\n2\tb\\tc\\\\\tx\n\\.\n\n\\unrestrict abc\n"
    )
    assert values(text) == [["1", "a.test", None], ["2", "b\tc\\", "x"]]


def test_what_other_statements_contain_is_passed_over() -> None:
    text = (
        "CREATE FUNCTION f() AS $body$ INSERT INTO domains VALUES (9,'x','y'); $body$;\n"
        'CREATE TABLE "odd;name" (a int);\n'
        "CREATE TRIGGER t BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION f('INSERT INTO domains VALUES (1);');\n"
        + CREATE
        + "INSERT INTO domains VALUES (1,'a','b');\n"
    )
    assert values(text) == [["1", "a", "b"]]


def test_a_line_that_cannot_be_understood_is_told_and_the_rest_is_read() -> None:
    text = (
        CREATE + "INSERT INTO domains VALUES (1,'a','b'),\n(2,'short'),\n(3,'c','d'),\n(4,now(),'x'),(5,'lost','x');\n"
        "INSERT INTO domains VALUES (6,'e','f');\nCOPY records (id, name) FROM stdin;\n1\n2\tx\n\\.\n"
    )
    rows = found(text)
    assert [row.values[0] for row in rows if isinstance(row, TableRow)] == ["1", "3", "6", "2"]
    bad = [row for row in rows if isinstance(row, BadLine)]
    assert [(line.line, line.source) for line in bad] == [
        (3, "(2,'short'),"),
        (5, "(4,now(),'x'),(5,'lost','x');"),
        (8, "1"),
    ]
    assert "2 values, but the table has 3 columns" in bad[0].reason


def test_a_statement_of_any_length_takes_little_memory() -> None:
    def chunks() -> Iterator[bytes]:
        yield CREATE.encode() + b"INSERT INTO domains VALUES (0,'first','x')"
        for number in range(200_000):
            yield b",(%d,'%s','y')" % (number, b"z" * 90)
        yield b";\n"

    count = sum(1 for row in dump_rows(chunks(), TABLES) if isinstance(row, TableRow))
    assert count == 200_001


def test_a_row_beyond_all_measure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_dump, "MOST_ROW_BYTES", 1 << 20)
    long = "x" * (10 << 20)
    text = (
        CREATE + f"INSERT INTO domains VALUES (1,'{long}','y'),(2,'b','c');\nINSERT INTO domains VALUES (3,'d','e');\n"
    )
    rows = found(text)
    assert isinstance(rows[0], BadLine)
    assert [row.values[0] for row in rows[1:] if isinstance(row, TableRow)] == ["3"]


def test_a_long_statement_of_another_table_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_dump, "MOST_HEAD_BYTES", 1000)
    rows = b",".join(b"('%d')" % number for number in range(100_000))
    text = sql_dump._Text(iter([b"INSERT INTO other VALUES ", rows, b";"]))
    assert len(sql_dump._Dump(text, frozenset(TABLES))._skip_statement()) < 2000


def test_strings_with_backslashes_follow_the_dialect() -> None:
    mysql = (
        "-- MySQL dump 10.13\n"
        + CREATE
        + "INSERT INTO other VALUES ('\\';');INSERT INTO domains VALUES (1,'a\\'b','c');\n"
    )
    assert values(mysql) == [["1", "a'b", "c"]]
    sqlite = CREATE + "INSERT INTO domains VALUES (1,'a\\','c');\n"
    assert values(sqlite) == [["1", "a\\", "c"]]
    old = "SET standard_conforming_strings = off;\n" + CREATE + "INSERT INTO domains VALUES (1,'a\\\\','c');\n"
    assert values(old) == [["1", "a\\", "c"]]


def test_what_does_not_say_its_columns_or_has_them_twice_is_refused() -> None:
    with pytest.raises(SourceRefused, match="the columns for domains are missing"):
        found("INSERT INTO domains VALUES (1);")
    with pytest.raises(SourceRefused, match="table domains twice"):
        found(CREATE + CREATE)
    with pytest.raises(SourceRefused, match="pg_restore"):
        found(b"PGDMP\x01\x0e\x00")


def test_a_file_that_ends_anywhere_gives_what_it_had() -> None:
    text = CREATE + "INSERT INTO domains VALUES (1,'a','b'),(2,'c','d');\n"
    for size in range(len(text)):
        rows = found(text[:size])
        assert [row.values[0] for row in rows if isinstance(row, TableRow)] in ([], ["1"], ["1", "2"])
