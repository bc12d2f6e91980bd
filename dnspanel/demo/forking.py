"""A supervisord that loads Django and the panel once, and starts the panel's processes as forks of itself.

    python -m dnspanel.demo.forking -n -c supervisord.conf

Ten processes that each load Django need 25 seconds of CPU time. Ten forks of a loaded process need 3. Each process has
its own id, its own watchdog and the command of the Procfile. Every other command is executed as usual. The panel's
processes are also executed if loading fails or the code has changed since loading: their logs then show the reason.

Management commands during the start are forks too: on SIGUSR1, supervisord loads the panel and forks a server for them
(`dnspanel.demo.command_server`).
"""

import atexit
import ctypes
import gc
import os
import re
import shlex
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from supervisor import process, supervisord
from supervisor.options import ServerOptions

from dnspanel import watchdog
from dnspanel.demo import command_server, unprivileged

_PR_SET_PDEATHSIG = 1
# Fields after the name in /proc/PID/stat: the addresses of a process's command line.
_ARGUMENTS_START, _ARGUMENTS_END = 45, 46
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
# Characters with a meaning in a shell beyond variables.
_SHELL = frozenset("`;&|<>()*?[]~\\\n")
# supervisord handles these signals. An executed program starts with the kernel's default actions.
_HANDLED = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True, slots=True)
class Forked:
    """A panel process that can run as a fork: its name, its program with arguments, and its settings."""

    name: str
    words: tuple[str, ...]
    niceness: int
    death_signal: signal.Signals


def forked_of(argv: Sequence[str], env: Mapping[str, str]) -> Forked | None:
    """Parse a supervisord command that can run as a fork. Return None if the command must be executed instead."""
    match argv:
        case ["setpriv", option, "--", "sh", "-c", text] if option.startswith("--pdeathsig="):
            words = _split_shell_text(text, env)
        case _:
            return None
    match words:
        case ["exec", "python", "-m", "dnspanel.watchdog", name, "--", "nice", "-n", niceness, *rest]:
            pass
        case ["exec", "python", "-m", "dnspanel.watchdog", name, "--", *rest]:
            niceness = "0"
        case _:
            return None
    if program_of(rest) is None:
        return None
    return Forked(name, tuple(rest), int(niceness), signal.Signals[f"SIG{option.partition('=')[2]}"])


def program_of(words: Sequence[str]) -> Callable[[], object] | None:
    """Return a function that runs this program with the arguments in `sys.argv`, or None for an unknown program."""
    match words:
        case ["celery", *_]:
            return _run_celery
        case ["gunicorn", *_]:
            return _run_gunicorn
        case ["python", "manage.py", *_]:
            return _run_command
    return None


def _split_shell_text(text: str, env: Mapping[str, str]) -> list[str]:
    """Split a shell command into words and replace their variables. Return an empty list if it needs a shell."""
    if not _SHELL.isdisjoint(text):
        return []
    return [_VARIABLE.sub(lambda found: env.get(found[1] or found[2]) or found[3] or "", w) for w in shlex.split(text)]


class Loaded:
    """The loaded panel, shared by all forks."""

    def __init__(self) -> None:
        self.at = 0.0
        self._failed = False

    def load(self) -> None:
        """Load Django and the panel with all tasks and pages, unless this was done or has failed. Only print errors."""
        if self.at or self._failed:
            return
        at = _newest_code()
        try:
            import django

            django.setup()
            from dnspanel.celery import app

            app.loader.import_default_modules()
            from django.urls import get_resolver

            get_resolver().check()
        except BaseException:
            self._failed = True
            traceback.print_exc()
            return
        gc.collect()
        gc.freeze()
        self.at = at

    def is_current(self) -> bool:
        """Return True if the panel is loaded and its code hasn't changed since loading."""
        return bool(self.at) and _newest_code() == self.at


def _newest_code() -> float:
    """Return the modification time of the panel's newest Python file."""
    folders = [unprivileged.CHECKOUT / name for name in ("dnspanel", "replication")]
    return max(
        os.stat(Path(folder, name)).st_mtime
        for top in folders
        for folder, _, names in os.walk(top)
        for name in names
        if name.endswith(".py")
    )


loaded = Loaded()


class Process(process.Subprocess):  # type: ignore[misc]
    """A supervisord process that loads the panel before it forks, if the forked program needs the panel."""

    def spawn(self) -> int | None:
        """Start the process and return its id, or None if it could not be started."""
        if forked_of(shlex.split(self.config.command), os.environ) is not None:
            loaded.load()
        started: int | None = super().spawn()
        return started


class Options(ServerOptions):  # type: ignore[misc]
    """supervisord's options. Their `execve` runs the panel's programs in the fork itself instead of executing them."""

    def setsignals(self) -> None:
        """Install supervisord's signal handlers. On SIGUSR1, load the panel and serve management commands."""
        super().setsignals()
        signal.signal(signal.SIGUSR1, _load_now)

    def execve(self, filename: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Run a panel program in the fork, or replace the fork with another program. Raise OSError if that fails."""
        forked = forked_of(argv, env)
        if forked is None or not loaded.is_current():
            os.execve(filename, list(argv), env)
        else:
            _become(forked, env)


def _load_now(number: int, frame: FrameType | None) -> None:
    loaded.load()
    path = Path(os.environ["PANEL_RUN"], command_server.SOCKET_NAME)
    if loaded.at and not path.exists():
        _fork_command_server(path)


def _fork_command_server(path: Path) -> None:
    """Fork the server for management commands, which ends with supervisord. Return once it accepts connections."""
    listener = command_server.listen(path)
    if os.fork():
        listener.close()
        return
    try:
        os.dup2(listener.fileno(), 3)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        _behave_as_executed(signal.SIGTERM)
        _show_command(["python", "-m", "dnspanel.demo.command_server"])
        command_server.serve(socket.socket(fileno=3), run=_run_management_command, is_current=loaded.is_current)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _run_management_command(words: Sequence[str]) -> int:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM))
    _show_command(["python", *words])
    sys.argv = list(words)
    return _run_to_end(_run_command)


def _behave_as_executed(death_signal: signal.Signals) -> None:
    """Reset this fork's signals as for an executed program, and set the signal to receive when its parent dies."""
    for number in _HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(death_signal))


def _become(forked: Forked, env: Mapping[str, str]) -> None:
    """Run the program as if it had been executed, then end the process."""
    _behave_as_executed(forked.death_signal)
    _show_command(forked.words)
    os.environ.clear()
    os.environ.update(env)
    status = 1
    try:
        watchdog.begin(forked.name)
        os.nice(forked.niceness)
        sys.argv = list(forked.words[1:] if forked.words[0] == "python" else forked.words)
        program = program_of(forked.words)
        assert program is not None
        status = _run_to_end(program)
    finally:
        os._exit(status)


def _show_command(words: Sequence[str]) -> None:
    """Make `ps` show the program and as many arguments as fit, instead of supervisord's command line."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[_ARGUMENTS_START]), int(fields[_ARGUMENTS_END])
    if 0 < start < end:
        ctypes.memmove(start, "\0".join(words).encode()[: end - start - 1].ljust(end - start, b"\0"), end - start)


def _run_to_end(program: Callable[[], object]) -> int:
    """Run the program and Python's exit handlers. Return the exit status."""
    status = 0
    try:
        program()
    except SystemExit as exc:
        status = exc.code if isinstance(exc.code, int) else int(exc.code is not None)
        if isinstance(exc.code, str):
            sys.stderr.write(f"{exc.code}\n")
    except BaseException:
        traceback.print_exc()
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return status


def _run_celery() -> None:
    from celery.__main__ import main

    main()


def _run_gunicorn() -> None:
    from gunicorn.app.wsgiapp import run  # type: ignore[import-untyped]

    run()


def _run_command() -> None:
    from django.core.management import execute_from_command_line

    from replication.call_room import with_room

    with_room(execute_from_command_line)(sys.argv)


def main(arguments: Sequence[str]) -> None:
    """Run supervisord until it is stopped."""
    # supervisord's own functions look these up when they are called.
    process.Subprocess = Process
    supervisord.ServerOptions = Options
    supervisord.main(list(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
