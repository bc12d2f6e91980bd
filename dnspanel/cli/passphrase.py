"""Options for files with secrets, because every user of the machine can read secrets on the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dnspanel.cli.standard_input import read_text

# The path of a file to read; `-` is standard input.
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


def passphrase_option(help_text: str) -> Callable[[Any], Any]:
    """Return the option `--keys-passphrase-file`."""
    return click.option("--keys-passphrase-file", metavar="FILE", type=FILE, help=help_text)


def passphrase_in(path: Path | None) -> dict[str, str]:
    """Return {"keys_passphrase": the only line of the file}, or {} if `path` is None."""
    if path is None:
        return {}
    return {"keys_passphrase": only_line_of(path, "a passphrase")}


def only_line_of(path: Path, what: str) -> str:
    """Return the only line of a file. Raise UsageError unless there is exactly one. `what` describes the line."""
    lines = read_text(path).splitlines()
    if len(lines) != 1 or not lines[0]:
        raise click.UsageError(f"{path} must contain {what} as one line, and nothing else.")
    return lines[0]
