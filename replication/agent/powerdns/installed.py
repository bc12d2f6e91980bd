"""Find the installed PowerDNS release and the schema that it needs, even if PowerDNS doesn't start."""

import os
import re
import shutil
import subprocess
from pathlib import Path

_RELEASE = re.compile(r"PowerDNS Authoritative Server (\d+\.\d+\S*)")
_SECONDS = 5.0
# Where Debian and others install it; the agent's PATH may lack these directories.
_ALSO_IN = ("/usr/sbin", "/usr/local/sbin")
# The schema of the releases starting with this one.
_SCHEMAS = (((4, 7), 4), ((4, 8), 5), ((5, 0), 6), ((6, 0), 0))


def schema_of_release(release: str) -> int:
    """Return the LMDB schema that a release such as "4.9.17" writes, or 0 if it isn't known."""
    found = re.match(r"(\d+)\.(\d+)", release)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    return next((schema for first, schema in reversed(_SCHEMAS) if number >= first), 0)


class InstalledPowerdns:
    """The installed PowerDNS program. Its release is read again only if the program's file changes."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._seen: tuple[str, int, int] | None = None
        self._release = ""

    @property
    def release(self) -> str:
        """The program's release, such as "4.9.17", or "" if the program is missing or prints no release."""
        path = shutil.which(self._program, path=os.pathsep.join((os.environ.get("PATH", ""), *_ALSO_IN)))
        seen = None if path is None else _file_identity(Path(path))
        if seen != self._seen:
            self._seen, self._release = seen, "" if path is None else _ask(path)
        return self._release


def _file_identity(path: Path) -> tuple[str, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return str(path), status.st_ino, status.st_mtime_ns


def _ask(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _RELEASE.search((done.stdout + done.stderr).decode("utf-8", "replace"))
    return found[1] if found else ""
