"""PowerDNS's list of zones in memory (its zone cache), kept up to date as zones appear.

With `zone-cache-refresh-interval` above 0, PowerDNS looks up a question's zone only in memory. Without it, every label
of every question can cost a lookup in LMDB, a fifth of the processor time of an answer to a random name. The drawback:
a new zone is answered with REFUSED until it is in the list. Two requests add zones, and return when the zones are
added:

    PUT /api/v1/servers/localhost/cache/flush?domain=<zone>    adds this zone and purges its answers: below 1 ms
    `rediscover` on the control socket                          adds all zones: about 2.5 µs for each zone

A deleted zone can stay in the list. Its id finds no rows then, and the answer is REFUSED as it should be.
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
    """The zone cache of one PowerDNS."""

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
        """The earliest time to read the list again if no request waits for it.

        This limits reading to the share _SHARE of the time.
        """
        return self._read_at + self.seconds / _SHARE

    @property
    def is_reading(self) -> bool:
        """True while PowerDNS reads its list. During that time its control socket answers nothing else."""
        return self._reading.locked()

    def learn(self, zones: Collection[str]) -> None:
        """Make these zones known to PowerDNS if they are in its files. Raise NotServed if PowerDNS doesn't answer."""
        if not zones:
            return
        if len(zones) > MAX_SINGLE or not self.flush(zones):
            self.learn_all()

    def flush(self, names: Iterable[str]) -> bool:
        """Make PowerDNS add the names that are zones to its list, and purge all answers at and below all the names.

        Return False without an API key or at the first name that PowerDNS rejects. Raise NotServed without an answer.
        """
        return self._api.has_key and all(map(self._flush, names))

    def learn_all(self) -> None:
        """Pause if needed, then make PowerDNS add all zones in its files to its list. Raise NotServed if that fails."""
        pause = min(self.seconds / _AWAITED_SHARE, _LONGEST_PAUSE)
        self._sleep(max(0.0, self._read_at + pause - self._clock()))
        self.read()

    def read(self) -> None:
        """Do the same as `learn_all`, but without a pause. Raise NotServed if PowerDNS doesn't answer."""
        with self._reading:
            began = self._clock()
            self._control.send("rediscover", seconds=REDISCOVER_SECONDS)
            self._read_at = self._clock()
            self.seconds = self._read_at - began

    def _flush(self, zone: str) -> bool:
        """Add one zone to the list. Return False if PowerDNS doesn't accept the zone's name in this request.

        Raise NotServed if PowerDNS doesn't answer.
        """
        path = f"/cache/flush?domain={urllib.parse.quote(zone)}"
        with self._api.request("PUT", path, question=f"cache/flush of {zone}", seconds=_ANSWER_SECONDS) as connection:
            return connection.getresponse().status == 200
