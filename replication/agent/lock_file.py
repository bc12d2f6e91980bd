"""A lock file that prevents a second agent from using this agent's files. The lock ends with the process."""

import fcntl
import os
from pathlib import Path

from replication.errors import Busy


def take_lock(path: Path, what: str) -> int:
    """Lock the file at `path` and return its descriptor.

    Raise Busy if another process holds the lock. `what` names the locked object in the error.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as exc:
        os.close(descriptor)
        raise Busy(what=what) from exc
    return descriptor
