"""Store the package that the panel sends for an upgrade of this agent, and read the result.

The body is the Debian package in a CMS message (RFC 5652, DER), signed with the key of the panel's own certificate. The
agent has no rights and can itself be compromised, so it neither verifies nor installs the package. A systemd unit of
root does both: see `deploy/debian/programs/agent-install-upgrade`. Upgrades are off until root creates AUTHORITY.
"""

import platform
import shutil
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from replication.errors import Refused
from replication.message_texts import gettext

AUTHORITY = Path("/etc/dnspanel-agent/upgrades.pem")
# A word for `Status.upgrades`, and a line with details, written by root.
OUTCOME = Path("/var/lib/dnspanel-upgrade/outcome")


class UpgradeRequest:
    """The file `upgrade/request` in the agent's directory, which root's unit waits for."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "upgrade" / "request"
        try:
            release = platform.freedesktop_os_release()
        except OSError:
            release = {}
        self.debian = release.get("VERSION_ID", "") if release.get("ID") == "debian" else ""

    def take(self, body: bytes | BinaryIO) -> None:
        """Store a package for root. Replace an older one. Raise Refused if upgrades are not allowed here."""
        if not AUTHORITY.exists():
            message = gettext("the node doesn’t allow the panel to upgrade the agent")
            raise Refused(error="UpgradesOff", message=message)
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        partial = self._path.with_name("request.part")
        with partial.open("wb") as file:
            source = BytesIO(body) if isinstance(body, bytes) else body
            source.seek(0)
            shutil.copyfileobj(source, file)
        partial.replace(self._path)

    def state(self) -> tuple[str, str]:
        """Return a word and a message for `Status.upgrades` and `Status.upgrade_message`."""
        if not AUTHORITY.exists():
            return "refused", ""
        if self._path.exists():
            return "waiting", ""
        try:
            word, _, message = OUTCOME.read_text().strip().partition("\n")
        except (OSError, UnicodeDecodeError):
            return "allowed", ""
        return word, message
