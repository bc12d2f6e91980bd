"""A docker-compose installation in an engine: the operator's actions, and checks of its services."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.docker.engine import CommandFailed, Engine
from tests.deploy.docker.images import ROOT

FILE = ROOT / "docker-compose.yml"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text())["services"]
# Long-running services; the others do their work at each start and end.
LASTING = [name for name, service in SERVICES.items() if "restart" in service]
NODES = ("ns1", "ns2", "ns3", "ring0")
_LINK = re.compile(r"http://\S+/welcome/\S+/")


@dataclass(frozen=True)
class Installation:
    """A docker-compose project. `compose` is the program's command line."""

    engine: Engine
    compose: list[str]
    project: str = "dnspanel"

    def run(self, *arguments: str, files: tuple[Path, ...] = (), seconds: float = 900) -> str:
        """Run docker-compose with its file and more files, and return its output. Raise CommandFailed if it fails."""
        named = [f"--file={path}" for path in (FILE, *files)]
        # Version 1 runs `docker build`. Without this variable, that uses the old builder with a separate cache.
        more = {"DOCKER_BUILDKIT": "1"}
        return self.engine.run(
            [*self.compose, f"--project-name={self.project}", *named, *arguments], seconds=seconds, more=more
        )

    def up(self) -> None:
        self.run("up", "--detach")

    def down(self, *, with_volumes: bool = False) -> None:
        self.run("down", *(["--volumes"] if with_volumes else []))

    def link(self) -> str | None:
        """Return the one-time link in the log of `ready`, or None if it is not there yet."""
        found = _LINK.findall(self.log_of("ready"))
        return found[-1] if found else None

    def log_of(self, service: str, *, lines: int = 200) -> str:
        """Return the end of a service's log, or an empty string if it has no container."""
        container = self._containers().get(service)
        return self.engine.docker("logs", f"--tail={lines}", container["Id"]) if container else ""

    def container(self, service: str) -> str:
        """Return the id of a service's container."""
        return str(self._containers()[service]["Id"])

    def crash(self, service: str) -> None:
        """Kill the first process of a service's container without the engine's request."""
        self.engine.kill_process(int(self._containers()[service]["State"]["Pid"]))

    def faults(self) -> list[str]:
        """Return the long-running services that are not running or unhealthy, or an empty list if there are none."""
        try:
            containers = self._containers()
        except CommandFailed as exc:
            return [str(exc)]
        found = []
        for service in LASTING:
            state = containers.get(service, {}).get("State", {"Status": "missing"})
            health = state.get("Health", {"Status": "healthy"})["Status"]
            if (state["Status"], health) != ("running", "healthy"):
                found.append(f"{service} is {state['Status']} and {health}")
        return found

    def starts(self, service: str) -> str:
        """Return the start time of a service's container, which differs after each start."""
        return str(self._containers()[service]["State"]["StartedAt"])

    def _containers(self) -> dict[str, dict[str, Any]]:
        """Return the engine's description of each container of the project, by service."""
        project = f"label=com.docker.compose.project={self.project}"
        ids = self.engine.docker("ps", "--all", "--quiet", "--no-trunc", "--filter", project).split()
        known = json.loads(self.engine.docker("inspect", *ids)) if ids else []
        return {each["Config"]["Labels"]["com.docker.compose.service"]: each for each in known}
