"""Kill a process if it hangs, so that its supervisor restarts it.

    python -m dnspanel.watchdog push -- celery -A dnspanel worker -Q push …

starts the watcher and then replaces itself with the command, so the supervisor sees the command's own process id. The
process writes a heartbeat to a file every few seconds (`write_life_sign`), without PostgreSQL or Redis. The watcher
kills the process with SIGKILL if the file is KILL_AFTER seconds old, if the process is stopped (SIGSTOP) for that long,
or if it wrote no heartbeat within START_SECONDS. The watcher also kills the children, because they would keep the
sockets. supervisord, a container with a restart policy, and systemd (`Restart=always`) start the process again.

The units of the Debian package start the command without this watcher. Each heartbeat then goes to systemd
(`NOTIFY_SOCKET`), which kills the process if the heartbeats stop.

    python -m dnspanel.watchdog --check push

exits with status 0 if a process with that name has written a recent heartbeat. Container health checks use this.
"""

import contextlib
import logging
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from replication.log_lines import TEXT, LineFormatter

# Longer than the 30 seconds after which the panel reports a silent process, so that people learn the cause.
KILL_AFTER = 45.0
# Long enough for a busy machine that starts ten Django processes at once.
START_SECONDS = 600.0
LOOK_EVERY = 1.0
LIFE_SIGN_EVERY = 5.0
# Third-party programs, which don't write heartbeats. The watcher writes them while the program isn't stopped.
WITHOUT_LIFE_SIGNS = frozenset({"proxy"})
_FILE = "PANEL_LIFE_SIGN_FILE"

Child = tuple[int, str]  # process id and start time, because an id can be reused


def write_life_sign() -> None:
    """Write a heartbeat for this process's watcher and for systemd, if there is one. Ignore file errors."""
    path = os.environ.get(_FILE)
    if path:
        _touch(Path(path))
    notified = os.environ.get("NOTIFY_SOCKET")
    if notified:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(f"\0{notified[1:]}" if notified.startswith("@") else notified)
            sender.send(b"READY=1\nWATCHDOG=1")


def signs_of(name: str) -> list[float]:
    """Return the Unix times of the last heartbeats of this machine's processes with this name."""
    found = []
    for path in _directory().glob(f"{name}-*.alive"):
        with contextlib.suppress(OSError):
            found.append(path.stat().st_mtime)
    return found


def is_alive(name: str) -> bool:
    """Return True if a process with this name has written a heartbeat within KILL_AFTER seconds."""
    return any(time.time() - at < KILL_AFTER for at in signs_of(name))


def main(arguments: Sequence[str]) -> int:
    """Start a watcher and run the command, check for heartbeats, or run as the watcher. Return the exit status."""
    match arguments:
        case ["--check", name]:
            return 0 if is_alive(name) else 1
        case ["--watch", name, pid, process, path]:
            return watch(name, int(pid), int(process), Path(path))
        case [name, "--", program, *rest]:
            command = [program, *rest]
            begin(name)
            try:
                os.execvp(command[0], list(command))
            except OSError as exc:
                _say(f"cannot start {command[0]}: {exc}")
                return 127
    _say("usage: python -m dnspanel.watchdog NAME -- COMMAND…, or --check NAME")
    return 2


def watch(name: str, pid: int, process: int, path: Path, *, kill_after: float = KILL_AFTER) -> int:
    """Watch `process` (a pidfd) until it ends, or kill it after `kill_after` seconds without a heartbeat. Return 0.

    Afterwards, kill its remaining children and delete the heartbeat file `path`.
    """
    ended = select.poll()
    ended.register(process, select.POLLIN)
    signs = _Signs(name, pid, path)
    children: list[Child] = []
    while not ended.poll(LOOK_EVERY * 1000):
        children = _children_of(pid) or children
        silent = signs.silence(time.monotonic())
        if silent >= kill_after:
            _say(f"{name} (process {pid}) gave no life sign for {silent:.0f} s and is killed")
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(process, signal.SIGKILL)
            break
    _kill(children)
    path.unlink(missing_ok=True)
    return 0


class _Signs:
    """A process's last heartbeat, timed by the machine's uptime, because the clock can be set at any time."""

    def __init__(self, name: str, pid: int, path: Path) -> None:
        self._pid, self._path = pid, path
        self._writes_none = name in WITHOUT_LIFE_SIGNS
        self._began = self._ran_at = self._changed_at = time.monotonic()
        self._written: int | None = None  # the file's time in nanoseconds

    def silence(self, now: float) -> float:
        """Return the number of seconds since the last heartbeat.

        While the process is starting, or if the disk doesn't answer, only the time while the process was stopped
        counts.
        """
        if _fields(self._pid)[:1] not in (["T"], ["t"]):
            self._ran_at = now
            if self._writes_none:
                _touch(self._path)
        try:
            written = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            started = self._written is not None or now - self._began < START_SECONDS
            return now - (self._ran_at if started else self._began)
        except OSError:
            return now - self._ran_at  # the disk does not answer, which says nothing about the process
        if written != self._written:
            self._written, self._changed_at = written, now
        return now - min(self._ran_at, self._changed_at)


def begin(name: str) -> None:
    """Start a watcher for this process. If that fails, continue without a watcher."""
    pid = os.getpid()
    try:
        path = _directory() / f"{name}-{pid}.alive"
        path.unlink(missing_ok=True)
        _start_watcher(name, pid, path)
        os.environ[_FILE] = str(path)
    except OSError as exc:
        _say(f"{name} runs without a watcher: {exc}")


def _start_watcher(name: str, pid: int, path: Path) -> None:
    """Start the watcher, but not as this process's child, because some programs fail with unexpected children."""
    process = os.pidfd_open(pid)
    between = os.fork()
    if between == 0:
        watcher = [sys.executable, "-m", "dnspanel.watchdog", "--watch", name, str(pid), str(process), str(path)]
        subprocess.Popen(watcher, stdin=subprocess.DEVNULL, pass_fds=[process])
        os._exit(0)
    os.waitpid(between, 0)
    os.close(process)


def _directory() -> Path:
    """Return the heartbeat directory, which belongs only to this user. Raise OSError if it cannot be used."""
    given = os.environ.get("PANEL_RUN") or os.environ.get("RUNTIME_DIRECTORY")
    path = Path(given) if given else Path(tempfile.gettempdir()) / f"dnspanel-{os.geteuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.is_symlink() or path.stat().st_uid != os.geteuid():
        raise PermissionError(f"{path} belongs to another user")
    return path


def _say(message: str) -> None:
    record = logging.makeLogRecord(
        {"name": __name__, "levelno": logging.WARNING, "levelname": "WARNING", "msg": message}
    )
    sys.stderr.write(f"{LineFormatter(os.environ.get('PANEL_LOG_FORMAT', TEXT)).format(record)}\n")


def _touch(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        os.utime(path)


def _fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat, starting with the state, or an empty list if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _children_of(pid: int) -> list[Child]:
    try:
        ids = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    children = ((int(child), _fields(int(child))) for child in ids)
    return [(child, fields[19]) for child, fields in children if fields]


def _kill(children: Sequence[Child]) -> None:
    for pid, began in children:
        if _fields(pid)[19:20] == [began]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
