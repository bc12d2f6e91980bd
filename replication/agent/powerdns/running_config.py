"""Read the configuration that the running PowerDNS reports. pdns.conf can have changed since PowerDNS started."""

import threading
from collections.abc import Mapping
from typing import Protocol

from replication.errors import NotServed

# Each of these delays changes in the files, unless it is 0 (PowerDNS's docs/performance.rst).
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
    """The methods of `purge.ControlSocket` that this module needs."""

    def send(self, command: str) -> str: ...

    def listener(self) -> int | None: ...


class RunningConfig:
    """The running PowerDNS's configuration, read once per PowerDNS process. Threads share this object."""

    def __init__(self, control: _Control) -> None:
        self._control = control
        self._lock = threading.Lock()
        self._process = 0
        self._found: Configuration | None = None

    def read(self) -> Configuration | None:
        """Return PowerDNS's settings that differ from their defaults, or None if PowerDNS doesn't respond.

        The result describes the process running at the time of the call. Calls return the same object until PowerDNS
        restarts, unless its process id is hidden.
        """
        process = self._control.listener()
        with self._lock:
            if process is None:
                self._found = None
            elif self._found is None or process != self._process or not process:
                self._found, self._process = self._ask(), process
            return self._found

    def has_caches(self) -> bool:
        """Return True if answers can be older than the files because PowerDNS caches, or if it doesn't respond."""
        found = self.read()
        return found is None or any(found.get(name) != "0" for name in CACHES)

    def _ask(self) -> Configuration | None:
        try:
            return parse_configuration(self._control.send("current-config"))
        except NotServed:
            return None


def parse_configuration(text: str) -> Configuration:
    """Parse the output of `current-config`, where settings with default values are commented out."""
    lines = (line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in lines}
