"""The name servers on the panel's own machine: the canary, and a public one if the operator wants one."""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dnspanel.setup.errors import CommandFailed, SetupFailed
from dnspanel.setup.run_as_panel import manage
from dnspanel.setup.system_units import is_so, start_units, systemctl
from replication.agent.powerdns.installed import InstalledPowerdns, schema_of_release

# The panel answers on this machine, whatever its name is. The one-time code proves that it is the panel.
PANEL = "https://127.0.0.1"
_FINGERPRINT = re.compile(r"has to show the fingerprint ([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class LocalNode:
    """A name server on this machine. `directory` is the last part of its paths and the name of its unit."""

    name: str
    address: str
    port: int
    agent_port: int
    api_port: int
    directory: str
    pdns_unit: str
    is_canary: bool = False

    @property
    def config(self) -> Path:
        return Path(f"/etc/{self.directory}/agent.toml")

    @property
    def units(self) -> tuple[str, str]:
        return self.pdns_unit, f"{self.directory}.service"

    def join_options(self) -> list[str]:
        values = {
            "config": str(self.config),
            "directory": f"/var/lib/{self.directory}",
            "socket-directory": "/run/" + self.pdns_unit.removesuffix(".service").replace("@", "-"),
            "pdns-unit": self.pdns_unit,
            "agent-unit": self.units[1],
            "api-port": str(self.api_port),
        }
        return [word for option, value in values.items() for word in (f"--{option}", value)]


CANARY = LocalNode("ring0", "127.0.0.1", 5399, 8532, 8082, "dnspanel-canary", "pdns@canary.service", is_canary=True)


def public_node(name: str, address: str) -> LocalNode:
    return LocalNode(name, address, 53, 8533, 8081, "dnspanel-agent", "pdns.service")


def set_up(node: LocalNode) -> list[str]:
    """Make this machine the node, unless it is one, and start its units. Return what was done.

    Raise SetupFailed if PowerDNS is not installed, the server cannot join, or the panel refuses it.
    """
    done = []
    if not (Path(f"/var/lib/{node.directory}/identity/identity.json").exists() and node.config.exists()):
        _join(node, _create(node))
        done.append(f"name server {node.name} at {node.address}, port {node.port}")
    return done + start_units(*node.units)


def stop_unused_powerdns() -> list[str]:
    """Stop Debian's own pdns.service unless it was configured. It would answer on port 53 without a zone."""
    is_ours = Path("/etc/systemd/system/pdns.service.d/dnspanel.conf").exists()
    changed = subprocess.run(["dpkg", "--verify", "pdns-server"], capture_output=True, text=True).stdout
    if is_ours or changed or not is_so("is-enabled", "pdns.service"):
        return []
    systemctl("disable", "--now", "-q", "pdns.service")
    return ["Debian's pdns.service is stopped, because it had no zones"]


def _create(node: LocalNode) -> str:
    """Create the node in the panel, or find the one that still waits, and return a one-time code.

    The canary is always on this machine. If it has no identity here, its former identity was on another machine.
    """
    try:
        return manage("create_node", node.name, "--code-only", *(["--revoke"] if node.is_canary else []))
    except CommandFailed:
        options = {
            "dns-address": node.address,
            "dns-port": node.port,
            "agent-port": node.agent_port,
            "schema": _schema(),
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        return manage("create_node", node.name, *words, *(["--ring0"] if node.is_canary else []))


def _schema() -> int:
    release = InstalledPowerdns("pdns_server").release
    if not release:
        raise SetupFailed("PowerDNS is not installed: apt install pdns-server pdns-backend-lmdb.")
    return schema_of_release(release)


def _join(node: LocalNode, code: str) -> None:
    """Let the server join, and approve the request with exactly the fingerprint that `join` prints."""
    command = [sys.executable, "-P", "-m", "replication.agent", "join", "--panel", PANEL, "--code", code]
    output = []
    with subprocess.Popen(
        [*command, *node.join_options()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
    ) as joining:
        assert joining.stdout is not None
        for line in joining.stdout:
            output.append(line.rstrip())
            if found := _FINGERPRINT.search(line):
                manage("approve_node", node.name, "--fingerprint", found[1])
    if joining.returncode:
        raise SetupFailed("\n".join([f"{node.name} cannot join:", *output[-5:]]))
