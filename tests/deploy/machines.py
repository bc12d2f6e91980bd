"""Machines with Debian, booted with systemd in systemd-nspawn on a network of their own. Needs root.

A machine's root is an overlay over one that debootstrap made, so a new machine is ready within seconds. A machine can
install only the packages in the folder that `./dev package --offline` made, its /srv/repository. There is no route to
other networks.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.powerdns import ROOTS, debian_mirror, debootstrap
from tests.stack import until

NETWORK = "10.77.53"
BRIDGE = "dnsp-test"
BOOT_SECONDS = 120
COMMAND_SECONDS = 900
# What the tests use in the machine. pebble is a certificate authority with ACME.
TOOLS = ("ca-certificates", "openssl", "curl", "bind9-dnsutils", "pebble")
BOOTS_WITH = ("systemd", "systemd-sysv", "dbus", "iproute2", "procps", *TOOLS)
_IN_CHROOT = ("unshare", "--mount", "sh", "-c", 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"')


def debian_root(suite: str) -> Path:
    """Return a root of this suite that boots, and that knows only the repository /srv/repository. Make it once."""
    root = ROOTS / f"bare-machine-{suite}"
    if (root / "srv/repository").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    debootstrap(suite, root, debian_mirror())
    shutil.copy(Path("/etc/resolv.conf").resolve(), root / "etc/resolv.conf")
    _chroot(root, "apt-get", "-q", "update")
    _chroot(root, "apt-get", "-qy", "install", "--no-install-recommends", *BOOTS_WITH)
    _chroot(root, "apt-get", "-q", "clean")
    _chroot(root, "systemctl", "enable", "systemd-networkd")
    _chroot(root, "sh", "-c", "rm -f /var/lib/apt/lists/*_*")
    (root / "etc/apt/sources.list").write_text("deb [trusted=yes] file:/srv/repository ./\n")
    (root / "etc/resolv.conf").write_text("")
    (root / "etc/machine-id").write_text("")
    (root / "srv/repository").mkdir()
    return root


def _chroot(root: Path, *command: str) -> None:
    done = subprocess.run(
        [*_IN_CHROOT, str(root), "env", "DEBIAN_FRONTEND=noninteractive", *command],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
    )
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


@dataclass
class Machine:
    """A machine with the host name `name`. Its files are in `directory`, and its address ends in `number`."""

    name: str
    number: int
    directory: Path
    repository: Path

    @property
    def address(self) -> str:
        return f"{NETWORK}.{self.number}"

    @property
    def root(self) -> Path:
        return self.directory / "root"

    def run(self, *command: str, may_fail: bool = False) -> str:
        """Run a command in the machine, and return its output. Raise AssertionError if it fails."""
        done = subprocess.run(
            self._inside(*command), capture_output=True, text=True, timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL
        )
        assert may_fail or done.returncode == 0, f"{' '.join(command)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout

    def start(self, *command: str) -> "subprocess.Popen[str]":
        """Start a command in the machine, with its output in a pipe."""
        return subprocess.Popen(
            self._inside(*command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def boot(self, base: Path) -> None:
        """Boot from an overlay over the base, and wait until systemd has started everything."""
        for name in ("upper", "work", "root"):
            (self.directory / name).mkdir(parents=True)
        options = f"lowerdir={base},upperdir={self.directory}/upper,workdir={self.directory}/work"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(self.root)], check=True)
        (self.root / "etc/hostname").write_text(f"{self.name}\n")
        hosts = f"127.0.0.1 localhost\n{self.address} {self.name}.example.test {self.name}\n"
        (self.root / "etc/hosts").write_text(hosts)
        network = f"[Match]\nName=host0\n[Network]\nAddress={self.address}/24\nLinkLocalAddressing=no\n"
        (self.root / "etc/systemd/network/10-host0.network").write_text(network)
        self._start()

    def reboot(self) -> None:
        """Reboot, and wait until systemd has started everything.

        If /run of this computer is on a disk, systemd-nspawn ends at a reboot. So it is started again in each case.
        """
        self.run("systemctl", "poweroff", may_fail=True)
        self._nspawn.wait(BOOT_SECONDS)
        self._start()

    def _start(self) -> None:
        options = [f"--network-bridge={BRIDGE}", "--resolv-conf=off", "--timezone=off", "--register=no", "--keep-unit"]
        options.append(f"--bind-ro={self.repository}:/srv/repository")
        with (self.directory / "console.log").open("a") as console:
            self._nspawn = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", str(self.root), "-M", self.name, *options, "-b"],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        self.wait_for_boot()

    def wait_for_boot(self) -> None:
        until(lambda: bool(self._leader()), seconds=BOOT_SECONDS, what=f"the first process of {self.name}")
        states = {"running", "degraded"}
        until(lambda: self._state() in states, seconds=BOOT_SECONDS, what=f"systemd in {self.name}", pause=0.5)

    def stop(self) -> None:
        """Stop the machine at once, and unmount its root."""
        if self._nspawn.poll() is None:
            self._nspawn.send_signal(signal.SIGTERM)
            try:
                self._nspawn.wait(30)
            except subprocess.TimeoutExpired:
                self._nspawn.kill()
                self._nspawn.wait()
        subprocess.run(["umount", "-l", str(self.root)], check=False)

    def _state(self) -> str:
        return self.run("systemctl", "is-system-running", may_fail=True).strip() if self._leader() else ""

    def _leader(self) -> str:
        """Return the process id of the machine's first process, or "" while it has none."""
        found = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split()
        return found[0] if found else ""

    def _inside(self, *command: str) -> list[str]:
        environment = [
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG=C.UTF-8",
            "HOME=/root",
            "DEBIAN_FRONTEND=noninteractive",
        ]
        return [
            "nsenter",
            "-t",
            self._leader(),
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "-C",
            "env",
            "-i",
            *environment,
            *command,
        ]


@contextmanager
def machines(base: Path, repository: Path, directory: Path, *names: str) -> Iterator[list[Machine]]:
    """Boot machines with these names on one network, with this repository. Stop and delete them at the end."""
    assert os.geteuid() == 0
    if Path(f"/sys/class/net/{BRIDGE}").exists() and not os.listdir(f"/sys/class/net/{BRIDGE}/brif"):
        subprocess.run(["ip", "link", "delete", BRIDGE], check=True)  # a killed run has left it, without machines
    subprocess.run(["ip", "link", "add", BRIDGE, "type", "bridge"], check=True)
    booted: list[Machine] = []
    try:
        subprocess.run(["ip", "address", "add", f"{NETWORK}.1/24", "dev", BRIDGE], check=True)
        subprocess.run(["ip", "link", "set", BRIDGE, "up"], check=True)
        for number, name in enumerate(names, 11):
            machine = Machine(name, number, directory / name, repository)
            booted.append(machine)
            machine.boot(base)
        yield booted
    finally:
        for machine in booted:
            machine.stop()
        subprocess.run(["ip", "link", "delete", BRIDGE], check=False)
        shutil.rmtree(directory, ignore_errors=True)
