"""A recorder of the panel's modules that run during an action, with `sys.setprofile`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (f"{ROOT}/dnspanel/", f"{ROOT}/replication/")


@contextmanager
def modules_run() -> Iterator[set[str]]:
    """Yield a set that, after the block, has the paths of all modules with a function that ran in this thread.

    To exclude imports, perform the same action once before.
    """
    files: set[str] = set()
    paths: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            files.add(frame.f_code.co_filename)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield paths
    finally:
        sys.setprofile(before)
        paths.update(str(Path(file).relative_to(ROOT)) for file in files if file.startswith(PACKAGES))
