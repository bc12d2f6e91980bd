"""The front of a stack: dnsdist in front of the nodes, with its agent.

nodes/front1/front.toml   the front's configuration
nodes/front1/identity/    the result of enrollment
nodes/front1/state/       dnsdist's configuration, which the agent writes
"""

from dataclasses import dataclass
from pathlib import Path

from dnspanel.demo import unprivileged
from dnspanel.demo.ports import LOOPBACK
from replication.agent.agent_config import format_toml

FRONT_PORTS = ("dns", "agent", "console", "statistics")
CACHE_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class DemoFront:
    """One dnsdist with its agent."""

    name: str
    directory: Path
    dns_port: int
    agent_port: int
    console_port: int
    statistics_port: int

    @property
    def front_toml(self) -> Path:
        return self.directory / "front.toml"

    @property
    def identity(self) -> Path:
        return self.directory / "identity"

    def configure(self) -> None:
        """Write the front's own configuration. The front's agent writes the configuration of dnsdist."""
        state = self.directory / "state"
        for path in (self.directory.parent, self.directory, self.identity, state):
            unprivileged.make_directory(path)
        values: dict[str, str | int | list[str]] = {
            "state_dir": str(state),
            "identity_dir": str(self.identity),
            "listen": [f"{LOOPBACK}:{self.dns_port}"],
            "panel_host": LOOPBACK,
            "panel_port": self.agent_port,
            "control_port": self.console_port,
            "api_port": self.statistics_port,
        }
        unprivileged.write(self.front_toml, format_toml(values))
