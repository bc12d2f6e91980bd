"""The file that a command reads a passphrase from."""

from pathlib import Path

from django.core.management.base import CommandError


def passphrase_in(path: Path) -> str:
    """Return the first line of the file.

    Raise CommandError for one that cannot be read, or has several lines or none.
    """
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise CommandError(f"{path}: {reason}") from exc
    if len(lines) != 1 or not lines[0]:
        raise CommandError(f"{path}: a passphrase is one line, and nothing else is in its file.")
    return lines[0]
