"""Show progress on standard error, in one line that is overwritten and finally erased.

Nothing is printed if standard error is not a terminal or the output is JSON.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from dnspanel.cli import output

_LINE = "\r\x1b[K"  # move to the beginning of the line and erase it


class Progress:
    """A line that shows the progress of one task."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_visible = is_visible()

    def show(self, done: int, of: int, noun: str = "") -> None:
        """Show that `done` of `of` items are done. Show no numbers while `of` is 0."""
        if self._is_visible:
            counted = f": {done:,} of {of:,} {noun}".rstrip() if of else " …"
            click.echo(f"{_LINE}{self._label}{counted}", nl=False, err=True, color=True)

    def wipe(self) -> None:
        """Erase the line."""
        if self._is_visible:
            click.echo(_LINE, nl=False, err=True, color=True)


def is_visible() -> bool:
    """Return True if progress is shown because standard error is a terminal and the output is not JSON."""
    return sys.stderr.isatty() and not output.is_json()


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show a progress line during the block."""
    line = Progress(label)
    try:
        yield line
    finally:
        line.wipe()
