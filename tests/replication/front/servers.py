"""Two nodes, and a dnsdist that runs with the configuration that a front wrote."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from replication.front.front_config import FrontConfig
from tests.replication.agent.conftest import RunningNode, running
from tests.replication.agent.servers import AgentFiles, Authority, Pdns, short_directory


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class RunningDnsdist:
    """A running dnsdist, with the configuration that a front wrote."""

    def __init__(self, config: FrontConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = (self._config.state_dir / "dnsdist.log").open("ab")
        path = next(path for path in (self._config.yaml_path, self._config.conf_path) if path.exists())
        command = [self._config.dnsdist, "-C", str(path), "--supervised", "--disable-syslog"]
        self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        log.close()

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=30)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class SupervisedDnsdist(RunningDnsdist):
    """A dnsdist that is restarted whenever it ends, as systemd does. At first it waits for a configuration."""

    def __init__(self, config: FrontConfig) -> None:
        super().__init__(config)
        self.starts = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._supervise, daemon=True)

    def supervise(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()
        super().kill()

    def _supervise(self) -> None:
        while not self._done.wait(0.05):
            if not self.runs and (self._config.conf_path.exists() or self._config.yaml_path.exists()):
                self.start()
                self.starts += 1


@contextmanager
def two_nodes() -> Iterator[list[RunningNode]]:
    """Run two nodes of one panel, without zones."""
    with contextlib.ExitStack() as stack:
        nodes = []
        for _ in range(2):
            directory = stack.enter_context(short_directory())
            authority = Authority(directory)
            nodes.append(stack.enter_context(running(AgentFiles(directory, authority, Pdns(directory)), authority)))
        yield nodes
