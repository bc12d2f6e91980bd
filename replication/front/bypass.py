"""Make recently changed zones bypass dnsdist's cache, so that nodes are queried. Pure.

After a zone's old answers were purged from dnsdist's cache, a node's answer from before the change can still reach
dnsdist. Therefore a changed zone is *held*. The hold begins before any node can answer with the change, and ends when
no older answer can still be on its way. While a zone is held, dnsdist doesn't use the cache for its queries and answers
(`SkipCacheAction`). At the end, old answers of the zone are purged from the cache, and only then is the cache used
again.

dnsdist's timeouts limit how long an answer can be on its way. `HOLD_SECONDS` is more than all of them, counted from the
moment when every node in rotation has the change.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from replication.wire.position import Position

# More than dnsdist waits for a node: 2 s over UDP and TCP (`dnsdist_conf`), with one retry over another connection.
HOLD_SECONDS = 6.0
# With more zones than this, everything is held.
MOST_ZONES = 200
EVERYTHING = "."
RULES = "d25d0157-"


@dataclass(slots=True)
class _Entry:
    since: Position | None  # the position that nodes must have; None: any
    over_at: float | None = None


def rule_of(zones: Iterable[str]) -> str:
    """Return the UUID of the rule for exactly this set of zones. All such UUIDs begin with RULES."""
    digest = hashlib.sha256(" ".join(zones).encode()).hexdigest()
    return f"{RULES}{digest[:4]}-{digest[4:8]}-{digest[8:12]}-{digest[12:24]}"


class Bypass:
    """The held zones, each with the position of its change. Times are from a monotonic clock."""

    def __init__(self, seconds: float = HOLD_SECONDS) -> None:
        self._seconds = seconds
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def zones(self, without: Collection[str] = ()) -> tuple[str, ...]:
        """Return the held zones except those in `without`, sorted. If all zones are held, return only EVERYTHING."""
        bypassed = self._entries.keys() - set(without)
        return (EVERYTHING,) if EVERYTHING in bypassed else tuple(sorted(bypassed))

    def hold(self, zones: Iterable[str], since: Position | None) -> None:
        """Hold these zones, at least until all nodes in rotation have this position.

        If more than MOST_ZONES zones would be held, hold everything.
        """
        for zone in zones:
            self._entries[zone] = _Entry(since)
            if len(self._entries) > MOST_ZONES and EVERYTHING not in self._entries:
                self._entries[EVERYTHING] = _Entry(since)
        if EVERYTHING in self._entries and len(self._entries) > MOST_ZONES:
            # The holds of single zones would not last longer than the hold of everything.
            self._entries = {EVERYTHING: _Entry(since)}

    def settle(self, served: Position | None, now: float) -> None:
        """Record that all nodes in rotation have this position. If it is None, change nothing.

        Zones that are held for this position, an earlier one, another epoch or no particular position stay held for
        another HOLD_SECONDS.
        """
        for entry in self._entries.values():
            reached = entry.since is None or (
                served is not None and (served.epoch != entry.since.epoch or served.sequence >= entry.since.sequence)
            )
            if entry.over_at is None and served is not None and reached:
                entry.over_at = now + self._seconds

    def over(self, now: float) -> tuple[str, ...]:
        """Return the zones whose hold can end, once their answers are purged from the cache."""
        return tuple(
            zone for zone, entry in self._entries.items() if entry.over_at is not None and entry.over_at <= now
        )

    def release(self, zones: Iterable[str]) -> None:
        for zone in zones:
            self._entries.pop(zone, None)
