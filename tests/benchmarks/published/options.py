"""The sizes and durations of the published tests."""

from dataclasses import dataclass
from pathlib import Path

from tests import zonegen


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a test. The defaults are the published sizes. Smaller sizes only show that a test runs."""

    # An empty directory that every user can enter. It is removed after the test.
    directory: Path
    zones: int = zonegen.PROVIDER_ZONES  # in the estate
    small_zones: int = 1_000  # in the estate on which single edits are also measured
    backend_zones: int = 10_000  # in the comparison with PostgreSQL
    rounds: int = 3
    seconds: float = 3  # for each measurement
    questions: int = 1_000_000  # in the test of random names
    updates: int = 10_000  # changes in the test of stale answers
    edits: int = 200  # the maximum number of changes to follow to the three nodes of each fleet
    lightning_stream: Path | None = None  # the program, if available
