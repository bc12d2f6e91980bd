"""A test's Docker engine: Debian's docker.io in separate namespaces, with a separate socket and data directory.

The engine has its own process ids, mounts and network, so its bridges, iptables rules, published ports and containers
exist only inside. Killing its first process kills everything in it at once, like a power cut, except that the kernel
still writes its disk cache.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from tests.stack import until

Result = TypeVar("Result")

DOCKER = "/usr/bin/docker"
PROGRAMS = (DOCKER, "/usr/sbin/dockerd", "/usr/bin/docker-init", "/usr/sbin/iptables")
CGROUPS = Path("/sys/fs/cgroup")
START_SECONDS = 60
COMMAND_SECONDS = 600
_CLONE_NEWNET = 0x40000000
# Environment variables that would change the test: docker-compose.yml reads some PANEL_ variables.
_OF_OTHERS = ("COMPOSE_", "DOCKER_", "PANEL_")

# A separate `/run` hides the machine's containerd, and writes to /etc stay in memory.
_START = """
mount -t tmpfs tmpfs /run && mkdir -p /run/lock /run/etc /run/work || exit 1
mount -t overlay -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/work etc /etc && ip link set lo up || exit 1
exec docker-init -s -- dockerd "$@"
"""


class Missing(Exception):
    """An error: a Docker engine is not available here. The text is the reason to skip a test."""


class CommandFailed(Exception):
    """An error: a Docker command failed. The text ends with its output."""


class Engine:
    """A Docker engine. Without `has_network`, it uses the machine's network, which image builds need."""

    def __init__(self, place: Path, data: Path, *, has_network: bool = True) -> None:
        missing = [path for path in PROGRAMS if not os.path.exists(path)]
        if os.geteuid() != 0 or missing:
            raise Missing(f"only root can run a Docker engine, and these have to exist: {', '.join(PROGRAMS)}")
        self.place, self.data, self.has_network = place, data, has_network
        self.socket, self.log = place / "docker.sock", place / "dockerd.log"
        self._cgroup = f"dnspanel-{os.getpid()}"
        self._process: subprocess.Popen[bytes] | None = None
        self._inside: ThreadPoolExecutor | None = None

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of this engine's clients. They hide the personal Docker configuration."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OTHERS)}
        own = {"DOCKER_HOST": f"unix://{self.socket}", "DOCKER_CONFIG": str(self.place / "client")}
        # So that programs find Debian's `docker`.
        return {**kept, **own, "HOME": str(self.place), "PATH": f"/usr/bin:/usr/sbin:{os.environ.get('PATH', '')}"}

    def start(self) -> None:
        """Start the engine and wait until it answers. It also starts containers with a restart policy."""
        spaces = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        options = [f"--host=unix://{self.socket}", f"--data-root={self.data}", "--exec-root=/run/docker"]
        options += ["--pidfile=/run/docker.pid", "--storage-driver=overlay2", "--exec-opt=native.cgroupdriver=cgroupfs"]
        options += [f"--cgroup-parent=/{self._cgroup}"]
        if self.has_network:
            spaces.append("--net")
        else:
            options += ["--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false"]
        self.socket.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                # The engine ends with the test process, even if that is killed.
                ["setpriv", "--pdeathsig=KILL", "unshare", *spaces, "sh", "-c", _START, "dockerd", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(self._answers, seconds=START_SECONDS, what=self._end_of_log)
        self._inside = ThreadPoolExecutor(initializer=_enter_network, initargs=(self._first_process(),))

    def stop(self) -> None:
        """Stop the engine like a shutdown, which asks containers to end first."""
        if self._process is not None and self._process.poll() is None:
            os.kill(self._first_process(), signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=60)
        self.power_off()

    def power_off(self) -> None:
        """Kill the engine, containerd and all container processes at the same moment."""
        if self._inside is not None:
            self._inside.shutdown(wait=False, cancel_futures=True)
            self._inside = None
        if self._process is None:
            return
        self._process.kill()  # its child, the first process inside, ends with it, and so do all others
        self._process.wait(timeout=30)
        self._process = None
        until(self._remove_cgroups, seconds=60, what="the end of all processes of the engine")

    def inside(self, function: Callable[..., Result], *arguments: object, **named: object) -> Result:
        """Call a function in a thread inside the engine's network, and return its result.

        Raise ConnectionError if the engine does not run, or ends before the function starts.
        """
        try:
            if self._inside is None:
                raise ConnectionError("the engine does not run")
            return self._inside.submit(function, *arguments, **named).result()
        except (CancelledError, RuntimeError) as exc:  # an executor that was shut down raises the latter
            raise ConnectionError("the engine does not run") from exc

    def kill_process(self, process: int) -> None:
        """Kill a container's process by its id inside the engine, like the kernel's out-of-memory killer. The engine
        didn't request this, so a restart policy applies.
        """
        subprocess.run(
            ["nsenter", f"--target={self._first_process()}", "--pid", "--mount", "kill", "-KILL", str(process)],
            check=True,
        )

    def docker(self, *arguments: str, seconds: float = COMMAND_SECONDS) -> str:
        """Run Docker's command-line client and return its output. Raise CommandFailed if it fails."""
        return self.run([DOCKER, *arguments], seconds=seconds)

    def run(
        self, command: Sequence[str], *, seconds: float = COMMAND_SECONDS, more: Mapping[str, str] | None = None
    ) -> str:
        """Run a client of this engine and return its stdout and stderr. Raise CommandFailed if it fails."""
        try:
            done = subprocess.run(
                command,
                env={**self.environment, **(more or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired as exc:
            raise CommandFailed(f"{' '.join(command)} took more than {seconds:g} s") from exc
        if done.returncode != 0:
            raise CommandFailed(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-6000:]}")
        return done.stdout

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise Missing(f"the Docker engine does not start here: {self._end_of_log()}")
        with contextlib.suppress(CommandFailed):
            self.docker("version", seconds=30)
            return True
        return False

    def _end_of_log(self) -> str:
        return self.log.read_text(errors="replace")[-3000:]

    def _first_process(self) -> int:
        """Return the machine's process id of the first process inside."""
        assert self._process is not None
        [child] = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(child)

    def _remove_cgroups(self) -> bool:
        """Remove the engine's control groups, innermost first. Return False while one contains a process."""
        for top in [CGROUPS / self._cgroup, *CGROUPS.glob(f"*/{self._cgroup}")]:
            for directory, _, _ in os.walk(top, topdown=False):
                try:
                    os.rmdir(directory)
                except FileNotFoundError:
                    continue
                except OSError:
                    return False
        return True


def _enter_network(process: int) -> None:
    """Move only the calling thread into a process's network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{process}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def running_engine(place: Path, data: Path, *, has_network: bool = True) -> Iterator[Engine]:
    """Run an engine inside the block. Raise Missing if no engine is available."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "client").mkdir(exist_ok=True)
    data.mkdir(parents=True, exist_ok=True)
    engine = Engine(place, data, has_network=has_network)
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        for _ in range(50):  # the mounts of an ended namespace may remain for a moment
            shutil.rmtree(place, ignore_errors=True)
            if not place.exists():
                break
            time.sleep(0.1)
