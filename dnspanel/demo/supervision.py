"""Run the processes of the Procfile under supervisord, which restarts a dead process within two seconds.

honcho's parser reads the Procfile (`honcho start` runs the same file). supervisord starts, restarts and stops the
processes, and is controlled over its XML-RPC socket. The kernel signals every process when its parent dies. Therefore,
even a killed supervisor leaves no orphans.
"""

import configparser
import contextlib
import io
import os
import shlex
import signal
import subprocess
import sys
import time
import xmlrpc.client
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from honcho.environ import parse_procfile
from supervisor.xmlrpc import Faults, SupervisorTransport

from dnspanel.demo import unprivileged
from dnspanel.demo.command_server import SOCKET_NAME, Ended, ask

PROCFILE = unprivileged.CHECKOUT / "Procfile"

# The other processes need these, so they are started first and stopped last.
STORES = ("postgres", "redis")
# INT is PostgreSQL's fast shutdown. TERM would wait for clients to disconnect.
STOP_SIGNALS = {"postgres": "INT"}


class NotStarted(Exception):
    """Raised if the supervisor didn't start, or has ended."""

    def __init__(self, *, log: Path) -> None:
        super().__init__("\n".join([f"The process supervisor stopped. The end of {log}:", *last_lines(log)]))


def last_lines(log: Path, *, count: int = 15) -> list[str]:
    """Return the last lines of a log, or "(nothing)" if the log is empty or missing."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return text.splitlines()[-count:] or ["(nothing)"]


def procfile() -> dict[str, str]:
    """Return the commands in the Procfile, keyed by process name, in the order of the file."""
    return dict(parse_procfile(PROCFILE.read_text()).processes)


class Supervisor:
    """A supervisord for a set of processes. Its files are in `directory`, and its socket is in `run`.

    If `forks` is True, supervisord loads the panel once, and the panel's processes are forks (`dnspanel.demo.forking`).
    """

    def __init__(self, directory: Path, *, run: Path, commands: Mapping[str, str], forks: bool = False) -> None:
        self.commands = dict(commands)
        self.logs = directory / "log"
        self._config = directory / "supervisord.conf"
        self._socket = run / "supervisor.sock"
        self._command_socket = run / SOCKET_NAME
        self.log = self.logs / "supervisord.log"
        self._pidfile = run / "supervisord.pid"
        self._process: subprocess.Popen[bytes] | None = None
        self._forks = forks

    def open(self, *, env: Mapping[str, str]) -> None:
        """Start supervisord without starting any process. Raise NotStarted if supervisord doesn't start."""
        unprivileged.make_directory(self.logs)
        unprivileged.write(self._config, self._render_config())
        self._socket.unlink(missing_ok=True)
        self._command_socket.unlink(missing_ok=True)
        with self.log.open("ab") as out:
            unprivileged.give(self.log)
            module = "dnspanel.demo.forking" if self._forks else "supervisor.supervisord"
            supervisord = [sys.executable, "-m", module, "-n", "-c", str(self._config)]
            self._process = subprocess.Popen(
                [*unprivileged.prefix(), "setpriv", "--pdeathsig=TERM", "--", *supervisord],
                env=dict(env),
                cwd=unprivileged.CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=out,
                # Ctrl-C must reach only the calling program, which then stops the processes in order.
                start_new_session=True,
            )
        self._wait_for_socket()

    def load(self) -> None:
        """Make supervisord load the panel now, while other programs start, instead of before the panel's first process.

        Until then, supervisord answers no calls. Afterwards it runs management commands. Without `forks`, do nothing.
        """
        if self._forks and self._process is not None:
            self._process.send_signal(signal.SIGUSR1)

    def run_command(self, words: Sequence[str]) -> Ended | None:
        """Run a management command, such as `manage.py migrate`, in a fork of the loaded panel. Return its result.

        Run nothing and return None if this supervisord hasn't loaded the panel, or if the panel's code has changed.
        """
        if not self._forks or not self.is_running:
            return None
        self._call("getState")  # returns when the panel is loaded, if that was asked for
        return ask(self._command_socket, words)

    def close(self) -> None:
        """Stop every process, the stores last, and then supervisord. After 30 seconds, kill supervisord."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, names: Iterable[str]) -> None:
        """Start these processes without waiting for them. Skip processes that are already running."""
        waits = False
        for name in names:
            self._call("startProcess", _full_name(name), waits, harmless=Faults.ALREADY_STARTED)

    def stop(self, names: Iterable[str]) -> None:
        """Stop these processes and wait until they have ended. supervisord doesn't restart them."""
        waits = True
        for name in names:
            self._call("stopProcess", _full_name(name), waits, harmless=Faults.NOT_RUNNING)

    def pid(self, name: str) -> int | None:
        """Return the process's id, or None if it isn't running."""
        return int(self._call("getProcessInfo", _full_name(name))["pid"]) or None

    def states(self) -> dict[str, str]:
        """Return the state of each process, keyed by name: RUNNING, STOPPED, EXITED, ..."""
        return {info["name"]: info["statename"] for info in self._call("getAllProcessInfo")}

    def runs(self) -> dict[str, tuple[int, int]]:
        """Return (last start time or 0, process id or 0 if it isn't running) for each process, keyed by name."""
        return {info["name"]: (int(info["start"]), int(info["pid"])) for info in self._call("getAllProcessInfo")}

    def kill(self, name: str, sig: int = signal.SIGKILL) -> int:
        """Send a signal to a process and return its id. Raise ProcessLookupError if it isn't running."""
        pid = self.pid(name)
        if pid is None:
            raise ProcessLookupError(name)
        os.kill(pid, sig)
        return pid

    def wait_for_another(self, name: str, *, than: int, seconds: float = 10) -> int:
        """Wait until the process has an id other than `than`. Return the new id, or raise TimeoutError."""
        deadline = time.monotonic() + seconds
        while (pid := self.pid(name)) in (None, than):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} is not back after {seconds:.0f} s")
            time.sleep(0.05)
        assert pid is not None
        return pid

    def _call(self, method: str, *args: str | bool, harmless: int | None = None) -> Any:
        """Call supervisord on a new connection. Return None if supervisord reports the `harmless` fault."""
        with contextlib.closing(SupervisorTransport(None, None, f"unix://{self._socket}")) as transport:
            proxy = xmlrpc.client.ServerProxy("http://supervisor", transport=transport)
            try:
                return getattr(proxy.supervisor, method)(*args)
            except xmlrpc.client.Fault as exc:
                if exc.faultCode != harmless:
                    raise
                return None

    def _wait_for_socket(self) -> None:
        deadline = time.monotonic() + 120
        while self.is_running and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                self._call("getState")
                return
            time.sleep(0.05)
        self.close()
        raise NotStarted(log=self.log)

    def _render_config(self) -> str:
        config = configparser.RawConfigParser()
        config["unix_http_server"] = {"file": str(self._socket), "chmod": "0700"}
        config["rpcinterface:supervisor"] = {
            "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface"
        }
        config["supervisord"] = {
            "pidfile": str(self._pidfile),
            "logfile": str(self.log),
            "logfile_maxbytes": "2MB",
            "logfile_backups": "1",
        }
        for name, command in self.commands.items():
            config[f"program:{name}"] = self._program(name, command)
        for priority, group in enumerate(("stores", "processes")):
            members = [name for name in self.commands if _group(name) == group]
            if members:
                config[f"group:{group}"] = {"programs": ",".join(members), "priority": str(priority)}
        text = io.StringIO()
        config.write(text)
        return text.getvalue().replace("%", "%%")

    def _program(self, name: str, command: str) -> dict[str, str]:
        stop_signal = STOP_SIGNALS.get(name, "TERM")
        return {
            "command": f"setpriv --pdeathsig={stop_signal} -- sh -c {shlex.quote(f'exec {command}')}",
            "directory": str(unprivileged.CHECKOUT),
            "autostart": "false",
            "autorestart": "true",
            # 0: a process counts as running at once, so that supervisord never stops restarting it.
            "startsecs": "0",
            "stopsignal": stop_signal,
            "stopwaitsecs": "10",
            "killasgroup": "true",
            "redirect_stderr": "true",
            "stdout_logfile": str(self.logs / f"{name}.log"),
            "stdout_logfile_maxbytes": "5MB",
            "stdout_logfile_backups": "1",
        }


def _group(name: str) -> str:
    return "stores" if name in STORES else "processes"


def _full_name(name: str) -> str:
    return f"{_group(name)}:{name}"
