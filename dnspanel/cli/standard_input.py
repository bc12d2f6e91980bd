"""Read files named on the command line, or standard input for `-`."""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

STANDARD_INPUT = Path("-")


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, or of standard input for `-`. Raise UsageError if it cannot be read."""
    if path == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    try:
        return path.read_bytes()
    except OSError as exc:
        raise click.UsageError(f"{path} cannot be read: {exc.strerror}.") from exc


def read_text(path: Path) -> str:
    """Return the text of a file, or of standard input for `-`. Raise UsageError unless it is readable UTF-8 text."""
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as exc:
        raise click.UsageError(f"{path} is not UTF-8 text.") from exc


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, or of standard input for `-`, except blank ones. Raise the errors of `read_text`."""
    return [stripped for line in read_text(path).splitlines() if (stripped := line.strip())]


@contextmanager
def standard_input_as_file(paths: Sequence[Path], name: str) -> Iterator[list[Path]]:
    """Yield the paths, with `-` replaced by a temporary file of this name that contains standard input.

    An upload needs a file, because it reads and sends a chunk again after a broken connection.
    """
    if STANDARD_INPUT not in paths:
        yield list(paths)
        return
    with tempfile.TemporaryDirectory() as directory:
        kept = Path(directory) / (Path(name).name or "standard-input")
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield [kept if path == STANDARD_INPUT else path for path in paths]
