"""gunicorn configuration that sends heartbeats: `gunicorn --config python:dnspanel.web_server dnspanel.wsgi …`.

gunicorn itself restarts a worker that hangs. The process that starts the workers has no loop to hook into. Therefore a
thread in that process writes the current time to a file for its watchdog, and to shared memory for the workers. While
the time in shared memory is recent, each worker updates the web server's row in PostgreSQL.
"""

import mmap
import os
import struct
import threading
import time
from typing import Any

from dnspanel import watchdog
from replication.log_lines import TEXT, LineFormatter

_SEEN = struct.Struct("d")
FRESH_SECONDS = 20.0
# gunicorn's own lines have the panel's format. The other members are gunicorn's defaults.
logconfig_dict = {
    "formatters": {"generic": {"()": LineFormatter, "form": os.environ.get("PANEL_LOG_FORMAT", TEXT)}},
    "loggers": {"gunicorn.error": {"handlers": ["error_console"], "propagate": False, "level": "WARNING"}},
}
# Created before the workers are forked from this process, so that they share it.
_shared = mmap.mmap(-1, _SEEN.size)


def when_ready(server: Any) -> None:
    """Start the heartbeats of the process that starts the workers."""
    _mark()
    threading.Thread(target=_write_life_signs, name="life", daemon=True).start()


def post_worker_init(worker: Any) -> None:
    """Start this worker's heartbeats for the web server. The application is already loaded."""
    from dnspanel.fleet.processes.alive import Alive
    from dnspanel.fleet.processes.process_roles import WEB

    Alive(WEB, is_working=_is_fresh, pid=os.getppid()).start(with_file=False)


def on_exit(server: Any) -> None:
    """Delete the web server's row when gunicorn stops cleanly. This needs `--preload`."""
    from django.apps import apps

    if not apps.ready:  # without --preload, only the workers load the application
        return
    from dnspanel.fleet.processes.alive import Alive
    from dnspanel.fleet.processes.process_roles import WEB

    Alive(WEB).stop()


def _write_life_signs() -> None:
    while True:
        _mark()
        watchdog.write_life_sign()
        time.sleep(watchdog.LIFE_SIGN_EVERY)


def _mark() -> None:
    _SEEN.pack_into(_shared, 0, time.monotonic())


def _is_fresh() -> bool:
    seen: float = _SEEN.unpack_from(_shared)[0]
    return time.monotonic() - seen < FRESH_SECONDS
