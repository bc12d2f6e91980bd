"""Limit the rate of requests per address or key, each with a leaky bucket."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock


class Rates:
    """Rate limits by key. Thread-safe. If a new key exceeds `most_keys`, the least recently used key is dropped."""

    def __init__(self, *, most_keys: int = 10_000) -> None:
        self._most_keys = most_keys
        # The fill level of each key's bucket and the time of that level, the least recently used first.
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allows(self, key: Hashable, *, now: float, per_second: float, burst: int) -> bool:
        """Return True if a request is within the rate, and count it. Refused requests don't count."""
        with self._lock:
            level, then = self._buckets.pop(key, (0.0, now))
            level = max(0.0, level - (now - then) * per_second)
            allowed = level + 1 <= burst
            self._buckets[key] = (level + 1 if allowed else level, now)
            if len(self._buckets) > self._most_keys:
                self._buckets.popitem(last=False)
        return allowed
