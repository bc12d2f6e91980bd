"""A separate host for a node: a network namespace, with a link to this machine whose packets pass through `relay`.

    with Host() as host:
        host.spoil(loss=0.3, delay=0.5, bytes_per_second=125_000)
        host.cut()
        host.heal()

The link's addresses are `host.ours` here and `host.address` on the host, both in 198.51.100.0/24 (TEST-NET-2). The end
of the block removes namespace and link, also after an exception. A killed test run leaves an empty namespace, which the
next run removes. Needs root.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dnspanel.demo import unprivileged
from tests.stack import until

NETWORK = "198.51.100"
_NAME = re.compile(r"dnsfault-(\d+)-(\d+)")


class Host:
    """A network namespace with a link that can be disturbed."""

    def __init__(self) -> None:
        self._number = next(_free_numbers())
        self.namespace = f"dnsfault-{os.getpid()}-{self._number}"
        self.ours = f"{NETWORK}.{4 * self._number + 1}"
        self.address = f"{NETWORK}.{4 * self._number + 2}"
        self._relay: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        _remove_leftovers()
        _run("ip", "netns", "add", self.namespace)
        try:
            self._run_inside("ip", "link", "set", "lo", "up")
            self._start_relay()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    @property
    def prefix(self) -> tuple[str, ...]:
        """The command prefix that runs a command on this host."""
        return ("ip", "netns", "exec", self.namespace)

    def spoil(
        self, *, loss: float = 0.0, delay: float = 0.0, bytes_per_second: float = 0.0, lost_ports: tuple[int, ...] = ()
    ) -> None:
        """Set the link's packet loss (a share), delay in seconds and rate (0: unlimited) in both directions.

        TCP packets from the host's `lost_ports` are all lost.
        """
        assert self._relay is not None
        assert self._relay.stdin is not None
        link = {"loss": loss, "delay": delay, "bytes_per_second": bytes_per_second, "lost_ports": list(lost_ports)}
        self._relay.stdin.write(json.dumps(link) + "\n")
        self._relay.stdin.flush()
        assert self._relay.stdout is not None
        self._relay.stdout.readline()  # the relay's confirmation

    def cut(self) -> None:
        """Cut the link, so that no packet passes."""
        self.spoil(loss=1.0)

    def heal(self) -> None:
        """Remove all disturbances of the link."""
        self.spoil()

    def _start_relay(self) -> None:
        command = [sys.executable, "-m", "tests.faults.relay", self.namespace, self.ours, self.address]
        self._relay = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", "--", *command],
            cwd=unprivileged.CHECKOUT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._relay.stdout is not None
        if not self._relay.stdout.readline():
            raise RuntimeError("the relay did not start")

    def _remove(self) -> None:
        if self._relay is not None:
            self._relay.kill()
            self._relay.communicate()
            self._relay = None
        for pid in _run("ip", "netns", "pids", self.namespace).split():
            os.kill(int(pid), 9)
        _run("ip", "netns", "del", self.namespace)

    def _run_inside(self, *command: str) -> None:
        _run(*self.prefix, *command)


def _free_numbers() -> Iterator[int]:
    """Yield the numbers of links whose addresses are unused on this machine."""
    taken = _run("ip", "-4", "-o", "addr")
    return (number for number in range(1, 63) if f" {NETWORK}.{4 * number + 1}/" not in taken)


def _remove_leftovers() -> None:
    """Remove namespaces of test runs that no longer exist."""
    for line in _run("ip", "netns", "list").splitlines():
        found = _NAME.match(line)
        if found and not Path(f"/proc/{found.group(1)}").exists():
            _run("ip", "netns", "del", found.group(0))


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wait_until_gone(pid: int, *, seconds: float) -> None:
    """Wait until the process has ended; a zombie counts as ended. Raise TimeoutError if it takes longer."""
    until(lambda: not is_alive(pid), seconds=seconds, what=f"process {pid} to end")


def is_alive(pid: int) -> bool:
    """Return True if the process runs or is stopped, and False if it is a zombie or does not exist."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
