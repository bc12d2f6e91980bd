"""The sizes and durations of the published tests."""

from dataclasses import dataclass
from pathlib import Path

from tests import zonegen


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a test. The defaults are the published sizes. Smaller sizes only show that a test runs."""

    # Exists and is empty when a test starts, anybody may enter it, and it is removed when the test ends.
    directory: Path
    zones: int = zonegen.PROVIDER_ZONES  # of the estate
    small_zones: int = 1_000  # of the estate that single edits are also measured on
    backend_zones: int = 10_000  # of the comparison with PostgreSQL
    rounds: int = 3
    seconds: float = 3  # of one measurement
    questions: int = 1_000_000  # for random names
    updates: int = 10_000  # changes that are looked at for stale answers
    edits: int = 200  # changes of each fleet that are followed to three nodes, at most
    lightning_stream: Path | None = None  # the program, if there is one
