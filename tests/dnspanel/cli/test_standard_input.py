"""Tests of file arguments and standard input."""

import io
from pathlib import Path

import click
import pytest

from dnspanel.cli.standard_input import STANDARD_INPUT, read_bytes, read_lines, read_text


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" one \n\ntwo\n")))
    assert read_lines(STANDARD_INPUT) == ["one", "two"]


def test_a_file_is_read_and_one_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"\xff")
    assert read_bytes(path) == b"\xff"
    with pytest.raises(click.UsageError, match="file is not UTF-8 text"):
        read_text(path)
    with pytest.raises(click.UsageError, match="none cannot be read: No such file or directory"):
        read_bytes(tmp_path / "none")
