"""Progress on a terminal: one line on standard error that is written again and again, and wiped at the end.

Nothing is printed where standard error is no terminal, or where output is JSON.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from dnspanel.cli import output

_LINE = "\r\x1b[K"  # back to the begin of the line, and wipe what is in it


class Progress:
    """A line that says how far something is."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_visible = is_visible()

    def show(self, done: int, of: int, noun: str = "") -> None:
        """Show how much of something is done; nothing is counted while `of` is 0."""
        if self._is_visible:
            counted = f": {done:,} of {of:,} {noun}".rstrip() if of else " …"
            click.echo(f"{_LINE}{self._label}{counted}", nl=False, err=True, color=True)

    def wipe(self) -> None:
        """Leave the line as if nothing had been written."""
        if self._is_visible:
            click.echo(_LINE, nl=False, err=True, color=True)


def is_visible() -> bool:
    """Return whether a person sees progress."""
    return sys.stderr.isatty() and not output.is_json()


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show a line of progress for as long as the block takes."""
    line = Progress(label)
    try:
        yield line
    finally:
        line.wipe()
