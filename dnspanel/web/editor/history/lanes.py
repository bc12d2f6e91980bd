"""Lanes of a publication's timeline: a bar for each node, all on one scale. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 1000  # units of the picture
MOST_LANES = 30  # of a stage


@dataclass(frozen=True, slots=True)
class Lane:
    """A bar between two moments after the publication, and a mark at the node's usual time, in units of the picture."""

    x: int
    width: int
    usual_x: int | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale on which `longest` milliseconds are the whole width. Nodes are updated after `ready_ms`, if known."""

    longest: float
    ready_ms: float | None

    @classmethod
    def of(cls, ready_ms: float | None, times: Iterable[float | None]) -> "Scale":
        return cls(max(ready_ms or 0, *(ms for ms in times if ms is not None), 1), ready_ms)

    @property
    def ready_lane(self) -> Lane | None:
        """The lane from the publication until it was ready for the nodes, or None if this is unknown."""
        return None if self.ready_ms is None else self._lane(0, self.ready_ms, None)

    def lane(self, ms: float | None, usual_ms: float | None) -> Lane | None:
        """Return the lane of a node that confirmed after `ms`, or None if it didn't or the time is unknown."""
        return None if ms is None else self._lane(self.ready_ms or 0, ms, usual_ms)

    def _lane(self, begin: float, end: float, usual_ms: float | None) -> Lane:
        x = min(self._at(begin), WIDTH - 2)
        # A bar of less than two units could not be seen.
        return Lane(x, max(2, self._at(end) - x), None if usual_ms is None else self._at(usual_ms))

    def _at(self, ms: float) -> int:
        return round(ms / self.longest * WIDTH)
