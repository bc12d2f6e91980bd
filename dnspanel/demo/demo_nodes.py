"""A node of a stack: its files, ports and configuration.

nodes/ns1/agent.toml      the agent's configuration
nodes/ns1/identity/       the result of enrollment
nodes/ns1/state/          the agent's own files
nodes/ns1/pdns/           pdns.conf, and the LMDB files that the agent writes and pdns_server reads
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from dnspanel.demo import unprivileged
from dnspanel.demo.ports import LOOPBACK
from dnspanel.demo.stores import keep_secret
from replication.agent.agent_config import format_toml
from replication.agent.powerdns import pdnsconf
from replication.agent.powerdns.powerdns_computed_types import read_computed_types

SCHEMA = 4  # the LMDB schema of PowerDNS 4.7.3 in Debian 12
RECEIVER_THREADS = 1  # three nodes share one machine with the panel
CACHE_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class DemoNode:
    """One pdns_server with its agent."""

    name: str
    directory: Path
    socket_directory: Path
    dns_port: int
    agent_port: int
    statistics_port: int
    is_ring0: bool = False
    metrics_port: int = 0  # the loopback port for Prometheus; 0 means none

    @property
    def agent_toml(self) -> Path:
        return self.directory / "agent.toml"

    @property
    def identity(self) -> Path:
        return self.directory / "identity"

    @property
    def pdns(self) -> Path:
        return self.directory / "pdns"

    @property
    def lmdb(self) -> Path:
        return self.pdns / "pdns.lmdb"

    def configure(self) -> None:
        """Write the configurations of the agent and pdns_server. Create their common API key if it is missing."""
        for path in (self.directory.parent, self.directory, self.identity, self.directory / "state", self.pdns):
            unprivileged.make_directory(path)
        unprivileged.make_directory(self.socket_directory)
        api_key = self.directory / "api-key"
        keep_secret(api_key, lambda: secrets.token_urlsafe(32))
        unprivileged.write(self.agent_toml, self._agent_toml(api_key.read_text()))
        unprivileged.write(self.pdns / "pdns.conf", self._pdns_conf(api_key.read_text()))

    def _agent_toml(self, api_key: str) -> str:
        values: dict[str, str | int | bool] = {
            "identity_dir": str(self.identity),
            "state_dir": str(self.directory / "state"),
            "lmdb_path": str(self.lmdb),
            "control_socket": str(self.socket_directory / "pdns.controlsocket"),
            "dns_address": LOOPBACK,
            "dns_port": self.dns_port,
            "receiver_threads": RECEIVER_THREADS,
            "listen_host": LOOPBACK,
            "listen_port": self.agent_port,
            "pdns_conf": str(self.pdns / "pdns.conf"),
            "api_port": self.statistics_port,
            "api_key": api_key,
            "metrics_port": self.metrics_port,
            "metrics_address": LOOPBACK,
            "caches": not self.is_ring0,
        }
        return format_toml(values)

    def _pdns_conf(self, api_key: str) -> str:
        return pdnsconf.render(
            pdnsconf.PdnsSettings(
                schema=SCHEMA,
                lmdb_path=str(self.lmdb),
                socket_dir=str(self.socket_directory),
                addresses=(LOOPBACK,),
                port=self.dns_port,
                cores=RECEIVER_THREADS,
                api_port=self.statistics_port,
                api_key=api_key,
                cache_entries=CACHE_ENTRIES,
                caches=not self.is_ring0,
                transfers_to=pdnsconf.LOOPBACK if self.is_ring0 else (),
                computed_types=read_computed_types(self.directory / "state"),
            )
        )
