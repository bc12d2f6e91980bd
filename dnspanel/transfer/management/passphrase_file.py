"""Read passphrase files for commands."""

from pathlib import Path

from django.core.management.base import CommandError


def passphrase_in(path: Path) -> str:
    """Return the file's single line. Raise CommandError if it can't be read, is empty or has several lines."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise CommandError(f"{path}: {reason}") from exc
    if len(lines) != 1 or not lines[0]:
        raise CommandError(f"{path}: a passphrase is one line, and nothing else is in its file.")
    return lines[0]
