"""Wrong clocks for single processes, by preloading libfaketime.

The monotonic clock stays correct, as on a machine whose clock is set.
"""

from pathlib import Path

from dnspanel.demo import unprivileged

LIBRARIES = tuple(f"/usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1" for machine in ("x86_64", "aarch64"))
PRELOAD = Path(__file__).resolve().parent / "preload"


class NoFakeClock(Exception):
    """An error: libfaketime is not installed."""


def shifted(seconds: int) -> dict[str, str]:
    """Return environment variables that shift a process's clock. Raise NoFakeClock if libfaketime is missing."""
    return {**_loaded(), "FAKETIME": f"{seconds:+d}s"}


def settable(path: Path) -> dict[str, str]:
    """Return environment variables that shift a process's clock by the file's current content (see `set_clock`)."""
    return {**_loaded(), "FAKETIME_TIMESTAMP_FILE": str(path), "FAKETIME_CACHE_DURATION": "1"}


def set_clock(path: Path, seconds: int) -> None:
    """Shift the clock of all processes that read this file by these seconds. It takes effect within a second."""
    path.write_text(f"{seconds:+d}s\n")
    path.chmod(0o644)


def _loaded() -> dict[str, str]:
    for library in LIBRARIES:
        if Path(library).exists():
            return {
                "LD_PRELOAD": library,
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "FAKETIME_DONT_RESET": "1",
                "PYTHONPATH": f"{PRELOAD}:{unprivileged.CHECKOUT}",
            }
    raise NoFakeClock("libfaketime is not installed")
