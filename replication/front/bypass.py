"""Zones that changed just now: dnsdist asks nodes for them, and not its cache. Pure.

An answer that a node gave before it had a change may reach dnsdist, and so its cache, after everything old was taken
out there. So a zone that changes is *held*: from before any node may answer with the change until everything that was
under way is over, no question for it is answered from the cache and no answer is put there (`SkipCacheAction`). What
the cache still has of the zone from before is taken out last, and only then is it asked again.

How long something may be under way is bounded by dnsdist's time-outs: `HOLD_SECONDS` is more than all of them, counted
from when no node in rotation lacks the change any more.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from replication.wire.position import Position

# More than dnsdist waits for a node: 2 s over UDP and TCP (`dnsdist_conf`), with one try more over another connection.
HOLD_SECONDS = 6.0
# With more zones than these everything is held.
MOST_ZONES = 200
EVERYTHING = "."
RULES = "d25d0157-"


@dataclass(slots=True)
class _Entry:
    since: Position | None  # what nodes have to have; None: whatever they have
    over_at: float | None = None


def rule_of(zones: Iterable[str]) -> str:
    """Return the UUID of the rule for exactly this set of zones. All begin with RULES."""
    digest = hashlib.sha256(" ".join(zones).encode()).hexdigest()
    return f"{RULES}{digest[:4]}-{digest[4:8]}-{digest[8:12]}-{digest[12:24]}"


class Bypass:
    """The zones that are held, each with the position that changed it. Times are a monotonic clock's."""

    def __init__(self, seconds: float = HOLD_SECONDS) -> None:
        self._seconds = seconds
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def zones(self, without: Collection[str] = ()) -> tuple[str, ...]:
        """Return the names in order, except some; only EVERYTHING if all zones are held."""
        bypassed = self._entries.keys() - set(without)
        return (EVERYTHING,) if EVERYTHING in bypassed else tuple(sorted(bypassed))

    def hold(self, zones: Iterable[str], since: Position | None) -> None:
        """Hold these zones, at least until all nodes in rotation have this position."""
        for zone in zones:
            self._entries[zone] = _Entry(since)
            if len(self._entries) > MOST_ZONES and EVERYTHING not in self._entries:
                self._entries[EVERYTHING] = _Entry(since)
        if EVERYTHING in self._entries and len(self._entries) > MOST_ZONES:
            # What is held singly would be held for no longer than everything.
            self._entries = {EVERYTHING: _Entry(since)}

    def settle(self, served: Position | None, now: float) -> None:
        """Note that all nodes in rotation have this position: zones held for it are held for HOLD_SECONDS more."""
        for entry in self._entries.values():
            reached = entry.since is None or (
                served is not None and (served.epoch != entry.since.epoch or served.sequence >= entry.since.sequence)
            )
            if entry.over_at is None and served is not None and reached:
                entry.over_at = now + self._seconds

    def over(self, now: float) -> tuple[str, ...]:
        """Return the zones that need not be held any longer, once the cache has nothing of them."""
        return tuple(
            zone for zone, entry in self._entries.items() if entry.over_at is not None and entry.over_at <= now
        )

    def release(self, zones: Iterable[str]) -> None:
        """Stop holding these zones."""
        for zone in zones:
            self._entries.pop(zone, None)
