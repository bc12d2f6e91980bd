"""The option that names the file of a passphrase: on the command line itself everybody on the machine could read it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def passphrase_option(help: str) -> Callable[[Any], Any]:
    """The option `--keys-passphrase-file`."""
    kind = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
    return click.option("--keys-passphrase-file", metavar="FILE", type=kind, help=help)


def passphrase_in(path: Path | None) -> dict[str, str]:
    """The member of a body that says the passphrase: the only line of the file; nothing without a file."""
    if path is None:
        return {}
    try:
        with click.open_file(str(path), encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise click.UsageError(f"{path} cannot be read.") from exc
    if len(lines) != 1 or not lines[0]:
        raise click.UsageError(f"{path}: a passphrase is one line, and nothing else is in its file.")
    return {"keys_passphrase": lines[0]}
