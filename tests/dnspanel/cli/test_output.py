"""Tests of the output of commands."""

import json

import pytest

from dnspanel.cli.output import Column, moment, plain, show_json, show_table

COLUMNS = (Column("NAME", "name"), Column("LAG", "lag", right=True), Column("BY", lambda row: row["by"].upper()))


def test_a_table_is_as_wide_as_it_must_be(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "ns1", "lag": 12, "by": "ana"}, {"name": "ns-long", "lag": None, "by": ""}]
    show_table(rows, COLUMNS, none="Nothing.")
    assert capsys.readouterr().out.splitlines() == ["NAME     LAG  BY", "ns1       12  ANA", "ns-long    –"]


def test_an_empty_table_is_a_sentence_that_no_program_reads(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([], COLUMNS, none="Nothing.")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Nothing.\n")


def test_what_others_typed_does_not_steer_the_terminal() -> None:
    assert plain("a\x1b[31mb\nc\x9b") == "a�[31mb�c�"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (True, "yes"), (False, "no"), (1234.56, "1,234.6"), (["a", None], "a –"), (7, "7"), ("ü", "ü")],
)
def test_a_cell_is_plain_text(value: object, text: str) -> None:
    assert plain(value) == text


def test_json_is_complete(capsys: pytest.CaptureFixture[str]) -> None:
    show_json({"name": "ü\x1b"})
    assert json.loads(capsys.readouterr().out) == {"name": "ü\x1b"}


def test_a_time_is_shown_in_local_time() -> None:
    assert moment(None) == "–"
    assert len(moment("2026-11-21T12:00:00.000000Z")) == len("2026-11-21 12:00:00 +0000")
