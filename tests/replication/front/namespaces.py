"""Two hosts on one wire: network namespaces and a veth pair, whose packets the kernel can give to dnsdist (AF_XDP).

The front's host also has its own file systems: /sys belongs to its network, and objects pinned in /sys/fs/bpf are
visible only there. Everything is removed at the end of the block. Needs root.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.oracle.powerdns import PowerDNS
from tests.ports import free_port
from tests.replication.front.servers import until

ADDRESS, CLIENT_ADDRESS = "198.51.100.2", "198.51.100.1"
INTERFACE = "front0"


class CannotHave(Exception):
    """This machine can't provide such hosts. The message is the reason for the skip."""


@dataclass(frozen=True)
class Host:
    """One of the two hosts, represented by the process that has its namespaces."""

    pid: int

    def command(self, *words: str) -> list[str]:
        """Return a command that runs these words on this host."""
        return ["nsenter", "--target", str(self.pid), "--mount", "--net", "--", *words]

    def run(self, *words: str) -> str:
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    def received_by_udp_sockets(self) -> int:
        """Return the number of datagrams that UDP sockets received through the kernel."""
        titles, numbers = (line.split() for line in self.run("cat", "/proc/net/snmp").splitlines() if "Udp:" in line)
        return int(numbers[titles.index("InDatagrams")])


@contextlib.contextmanager
def pair_of_hosts() -> Iterator[tuple[Host, Host]]:
    """Create the client's host and the front's host, which has INTERFACE. Raise CannotHave if that fails."""
    if os.geteuid() != 0:
        raise CannotHave("only root may make network namespaces")
    with contextlib.ExitStack() as stack:
        client, front = stack.enter_context(_host()), stack.enter_context(_host())
        try:
            link = (
                "ip",
                "link",
                "add",
                "client0",
                "type",
                "veth",
                "peer",
                INTERFACE,
                "netns",
                f"/proc/{front.pid}/ns/net",
            )
            client.run(*link)
            front.run("mount", "-t", "sysfs", "sysfs", "/sys")
            front.run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
            for host, interface, address in ((client, "client0", CLIENT_ADDRESS), (front, INTERFACE, ADDRESS)):
                host.run("ip", "address", "add", f"{address}/30", "dev", interface)
                for name in ("lo", interface):
                    host.run("ip", "link", "set", name, "up")
        except subprocess.CalledProcessError as exc:
            raise CannotHave(f"{' '.join(exc.cmd[5:])}: {exc.stderr.strip()}") from exc
        yield client, front


@contextlib.contextmanager
def answering(host: Host, powerdns: PowerDNS, zones: dict[str, str]) -> Iterator[int]:
    """Run a pdns_server on the host's loopback with these zone files. Yield its port."""
    with powerdns.place("behind-front") as place:
        for name, text in zones.items():
            place.load_zone(name, text)
        with place.server(prefix=host.command()) as port:
            yield port


@contextlib.contextmanager
def started(host: Host, *words: str, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program on the host during the block."""
    with log.open("ab") as out:
        process = subprocess.Popen(host.command(*words), stdout=out, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_for_answer(host: Host, name: str, address: str) -> None:
    """Wait until a query from this host gets this address."""
    words = ("dig", "+short", "+tries=1", "+timeout=1", f"@{ADDRESS}", name, "A")
    until(lambda: host.run("sh", "-c", f"{' '.join(words)} || true").strip() == address, f"{name} is answered")


def front_toml(directory: Path, program: str, port: int, *, cache_entries: int, interface: str) -> Path:
    """Write front.toml for a front with one node. Return its path."""
    path = directory / "front.toml"
    path.write_text(
        f'state_dir = "state"\nlisten = ["{ADDRESS}:53"]\ncache_entries = {cache_entries}\ndnsdist = "{program}"\n'
        f'xdp_interface = "{interface}"\ncontrol_port = {free_port()}\napi_port = {free_port()}\n'
        f'[[backends]]\nname = "ns1"\naddress = "127.0.0.1:{port}"\n'
    )
    (directory / "state").mkdir(exist_ok=True)
    return path


@contextlib.contextmanager
def _host() -> Iterator[Host]:
    command = ["unshare", "--mount", "--net", "--propagation", "private", "sh", "-c", "echo made; exec sleep infinity"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if not process.stdout.readline():
                assert process.stderr is not None
                raise CannotHave(process.stderr.read().strip())
            yield Host(process.pid)
        finally:
            process.kill()
