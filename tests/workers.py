"""The environment of one process of a test run: its own Redis database and folder. Loaded before the settings.

pytest loads this module as a plugin (`-p tests.workers`), because Django's settings read the environment once.
"""

import gc
import os
import re
from collections.abc import Generator
from pathlib import Path

import pytest

# pytest-xdist names its processes gw0, gw1, ...; a run in one process has none of them.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "main")
FOLDER = Path(__file__).resolve().parents[1] / "var" / "test" / WORKER
# Third-party programs, which take minutes to install. All checkouts of a person share one copy.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dnspanel"


def _redis_url(url: str) -> str:
    """Return the URL with this process's own database number, one of sixteen."""
    return re.sub(r"/\d+$", f"/{int(WORKER.removeprefix('gw')) + 1}", url)


if WORKER != "main" and "PANEL_REDIS_URL" in os.environ:
    os.environ["PANEL_REDIS_URL"] = _redis_url(os.environ["PANEL_REDIS_URL"])
    os.environ["PANEL_VAR"] = str(FOLDER / "panel")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Disable garbage collection while modules are imported and files are read.

    Nearly all these objects stay until the end. Collections took a fifth of the time, and in a new checkout half of the
    time in which pytest rewrites asserts, because a syntax tree has many objects.
    """
    gc.disable()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        gc.enable()
