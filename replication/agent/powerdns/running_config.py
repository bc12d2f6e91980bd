"""The configuration of the PowerDNS that runs, as it says itself: the file may say something else by now."""

import threading
from collections.abc import Mapping
from typing import Protocol

from replication.errors import NotServed

# Each holds back what is in the files for a while, unless it is 0 (PowerDNS's docs/performance.rst).
CACHES = (
    "cache-ttl",
    "query-cache-ttl",
    "negquery-cache-ttl",
    "zone-cache-refresh-interval",
    "dnssec-key-cache-ttl",
    "zone-metadata-cache-ttl",
)

Configuration = Mapping[str, str]


class _Control(Protocol):
    """What this needs of `purge.ControlSocket`."""

    def send(self, command: str) -> str: ...

    def listener(self) -> int | None: ...


class RunningConfig:
    """Asks once for each process of PowerDNS. Threads share it."""

    def __init__(self, control: _Control) -> None:
        self._control = control
        self._lock = threading.Lock()
        self._process = 0
        self._found: Configuration | None = None

    def read(self) -> Configuration | None:
        """Return the settings that differ from their defaults, or None if PowerDNS does not say.

        The result is the same object for the same process, and belongs to the process that runs at this call.
        """
        process = self._control.listener()
        with self._lock:
            if process is None:
                self._found = None
            elif self._found is None or process != self._process or not process:
                self._found, self._process = self._ask(), process
            return self._found

    def has_caches(self) -> bool:
        """Return True if answers may be older than the files; also if PowerDNS does not say."""
        found = self.read()
        return found is None or any(found.get(name) != "0" for name in CACHES)

    def _ask(self) -> Configuration | None:
        try:
            return parse_configuration(self._control.send("current-config"))
        except NotServed:
            return None


def parse_configuration(text: str) -> Configuration:
    """Parse the output of `current-config`. Settings at their defaults are commented out there."""
    lines = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in lines}
