"""Keep PowerDNS's in-memory list of zones (its zone cache) up to date when zones are added.

With `zone-cache-refresh-interval` above 0, PowerDNS looks up the zone of a query only in memory. Without it, every
label of a query can cost an LMDB lookup, a fifth of the processor time for answering a random name. The drawback is
that PowerDNS answers REFUSED for a new zone until the zone is in the list. Two requests add zones, and return when the
zones are added:

    PUT /api/v1/servers/localhost/cache/flush?domain=<zone>    adds this zone and purges its answers: below 1 ms
    `rediscover` on the control socket                          adds all zones: about 2.5 µs for each zone

A deleted zone can stay in the list. PowerDNS then finds no rows for its id, and correctly answers REFUSED.
"""

import threading
import time
import urllib.parse
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from replication.agent.powerdns.pdns_api import PdnsApi

# With more zones than this, the full list is read instead.
MAX_SINGLE = 20
_ANSWER_SECONDS = 5.0
REDISCOVER_SECONDS = 60.0
# During an import the list is read repeatedly. Reading may take this share of the time while no request waits, and
# this share while one waits. The pause delays that request by at most this.
_SHARE = 0.05
_AWAITED_SHARE = 0.1
_LONGEST_PAUSE = 1.0


class _Control(Protocol):
    """The methods of `purge.ControlSocket` that this module needs."""

    def send(self, command: str, *, seconds: float = ...) -> str: ...


class ZoneCache:
    """The zone cache of one PowerDNS process."""

    def __init__(
        self,
        control: _Control,
        api: PdnsApi,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._control, self._api = control, api
        self._clock, self._sleep = clock, sleep
        self._reading = threading.Lock()
        self._read_at = 0.0
        self.seconds = 0.0  # the duration of the last reading

    @property
    def due(self) -> float:
        """The earliest time to reread the list of zones if no request waits for it, so that _SHARE isn't exceeded."""
        return self._read_at + self.seconds / _SHARE

    @property
    def is_reading(self) -> bool:
        """True while PowerDNS rereads its list. Its control socket doesn't reply to other commands during that time."""
        return self._reading.locked()

    def learn(self, zones: Collection[str]) -> None:
        """Make PowerDNS list each of these zones that is in its files. Raise NotServed if it doesn't respond."""
        if not zones:
            return
        if len(zones) > MAX_SINGLE or not self.flush(zones):
            self.learn_all()

    def flush(self, names: Iterable[str]) -> bool:
        """Add the zones among these names to PowerDNS's list, and purge all answers at and below all names.

        Return False if no API key is configured, or at the first name that PowerDNS rejects. Raise NotServed if
        PowerDNS doesn't respond.
        """
        return self._api.has_key and all(map(self._flush, names))

    def learn_all(self) -> None:
        """Pause if needed, then make PowerDNS add all zones in its files to its list. Raise NotServed on failure."""
        pause = min(self.seconds / _AWAITED_SHARE, _LONGEST_PAUSE)
        self._sleep(max(0.0, self._read_at + pause - self._clock()))
        self.read()

    def read(self) -> None:
        """Make PowerDNS add all zones to its list, without the pause of `learn_all`. Raise NotServed on failure."""
        with self._reading:
            began = self._clock()
            self._control.send("rediscover", seconds=REDISCOVER_SECONDS)
            self._read_at = self._clock()
            self.seconds = self._read_at - began

    def _flush(self, zone: str) -> bool:
        """Add one zone to the list and purge its answers. Return False if PowerDNS rejects the zone's name.

        Raise NotServed if PowerDNS doesn't respond.
        """
        path = f"/cache/flush?domain={urllib.parse.quote(zone)}"
        with self._api.request("PUT", path, question=f"cache/flush of {zone}", seconds=_ANSWER_SECONDS) as connection:
            return connection.getresponse().status == 200
