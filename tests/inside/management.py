"""Management commands in a fork of a process that has started Django."""

import contextlib
import io

from django.core.management import execute_from_command_line

from replication.call_room import with_room


def run(*args: str) -> str:
    """Run a command like `manage.py`, and return its output. Raise SystemExit if it fails."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        with_room(execute_from_command_line)(["manage.py", *args])
    return printed.getvalue()
