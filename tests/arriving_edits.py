"""A client that publishes one edit after the other, for tests that do something to the panel at the same time."""

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tests.stack import until

PER_SECOND = 10

# Publishes the edit with this number, and returns the HTTP status and the answer.
Publish = Callable[[int], tuple[int, str]]


@dataclass
class Edits:
    """Ten edits a second, or fewer while the panel is slower. Each edit has the next number, also after a failure.

    `longest_refused` is the longest time without a success: from the start of a refused edit to the end of the next
    acknowledged one. `slowest` is the longest time of one request.
    """

    publish: Publish
    acknowledged: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    longest_refused: float = 0.0
    slowest: float = 0.0

    def __post_init__(self) -> None:
        self._ends = threading.Event()
        self._refused_since: float | None = None

    def __str__(self) -> str:
        sent = len(self.acknowledged) + len(self.refused)
        return (
            f"{len(self.acknowledged)} of {sent} edits acknowledged, {len(self.refused)} refused for at most "
            f"{self.longest_refused:.1f} s; the slowest took {self.slowest:.1f} s"
        )

    @contextmanager
    def arriving(self) -> Iterator[Self]:
        """Send edits inside the block."""
        thread = threading.Thread(target=self._send)
        thread.start()
        try:
            yield self
        finally:
            self._ends.set()
            thread.join()

    def continue_for(self, count: int) -> None:
        """Wait until `count` further edits are acknowledged. Raise TimeoutError with the last refusals."""
        wanted = len(self.acknowledged) + count
        until(lambda: len(self.acknowledged) >= wanted, seconds=120, what=lambda: f"edits: {self.refused[-3:]}")

    def _send(self) -> None:
        number = 0
        while not self._ends.is_set():
            began = time.monotonic()
            self._send_one(number, began)
            number += 1
            self._ends.wait(max(0.0, 1 / PER_SECOND - (time.monotonic() - began)))

    def _send_one(self, number: int, began: float) -> None:
        try:
            status, answer = self.publish(number)
        except (OSError, http.client.HTTPException) as exc:
            status, answer = 0, repr(exc)
        ended = time.monotonic()
        self.slowest = max(self.slowest, ended - began)
        if 200 <= status < 300:
            self.acknowledged.append(number)
            if self._refused_since is not None:
                self.longest_refused = max(self.longest_refused, ended - self._refused_since)
            self._refused_since = None
        else:
            self.refused.append(f"{status} {answer[:200]}")
            self._refused_since = began if self._refused_since is None else self._refused_since
