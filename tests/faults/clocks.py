"""Clocks that are wrong, for single processes: libfaketime, loaded before everything else.

The monotonic clock is left alone, as it is on a machine whose clock is set.
"""

from pathlib import Path

from dnspanel.demo import unprivileged

LIBRARIES = tuple(f"/usr/lib/{machine}-linux-gnu/faketime/libfaketimeMT.so.1" for machine in ("x86_64", "aarch64"))
PRELOAD = Path(__file__).resolve().parent / "preload"


class NoFakeClock(Exception):
    """libfaketime is not installed."""


def shifted(seconds: int) -> dict[str, str]:
    """Return the environment of a process whose clock is this much ahead (or behind). Raise NoFakeClock."""
    return {**_loaded(), "FAKETIME": f"{seconds:+d}s"}


def settable(path: Path) -> dict[str, str]:
    """Return the environment of `shifted`, by what the file says from moment to moment: see `set_clock`."""
    return {**_loaded(), "FAKETIME_TIMESTAMP_FILE": str(path), "FAKETIME_CACHE_DURATION": "1"}


def set_clock(path: Path, seconds: int) -> None:
    """Within a second, the processes that read this file have a clock that is this much ahead."""
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
