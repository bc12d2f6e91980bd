"""The sizes and durations of the published tests, and which of these options each test reads."""

from dataclasses import dataclass
from pathlib import Path

from tests import zonegen

# The options that each test reads, by part.
READ_BY: dict[str, tuple[str, ...]] = {
    "backends": ("backend_zones", "rounds", "seconds"),
    "estate": ("zones", "rounds", "seconds"),
    "random_names": ("questions", "rounds", "seconds"),
    "many_clients": ("backend_zones", "rounds", "seconds"),
    "stale": ("updates",),
    "propagation": ("zones", "small_zones", "rounds", "seconds", "edits"),
}


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

    def command(self, part: str) -> str:
        """Return the command that repeats a test with these options, without the options that the test ignores."""
        flags = [f"--{name.replace('_', '-')} {getattr(self, name):.10g}" for name in READ_BY[part]]
        return " ".join(["./dev bench published", part, *flags])
