"""Management commands in a fork of a process that has started Django."""

from django.core.management import execute_from_command_line

from replication.call_room import with_room


def run(*args: str) -> None:
    """Run a command as `manage.py` does; it ends the process with its status."""
    with_room(execute_from_command_line)(["manage.py", *args])
