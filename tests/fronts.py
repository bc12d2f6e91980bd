"""A front in a running stack, enrolled and approved like a real one, with a supervised dnsdist."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dnspanel.demo.stack import Stack
from replication.front.front_config import FrontConfig, read_config
from replication.wire.front_messages import FrontReport
from tests.ports import free_port
from tests.replication.front.servers import SupervisedDnsdist
from tests.stack import run_inside, until

ROOT = Path(__file__).parents[1]
_FRONT = (sys.executable, "-m", "replication.front")


@dataclass
class JoinedFront:
    """A front that has joined the panel of a stack."""

    stack: Stack
    name: str
    config: FrontConfig
    dnsdist: SupervisedDnsdist

    @property
    def port(self) -> int:
        """The port that clients query."""
        return self.config.listen[0].port

    def set_terms(self, **terms: Any) -> None:
        run_inside(self.stack, "fronts.set_terms", self.name, terms)

    def report(self) -> FrontReport | None:
        """Return the front's last report from the panel, or None before the first report."""
        found = run_inside(self.stack, "fronts.report", self.name)
        return FrontReport.from_json(found) if found else None

    def rotation(self) -> list[str]:
        """Return the names of the nodes that dnsdist queries, according to the front's last report."""
        report = self.report()
        return [backend.name for backend in report.backends if backend.is_in and backend.is_up] if report else []


@contextmanager
def joined_front(
    stack: Stack, directory: Path, terms: Mapping[str, Any], name: str = "front1"
) -> Iterator[JoinedFront]:
    """Join a front that sends queries to all nodes of the stack."""
    dns_port, agent_port = free_port(), free_port()
    ports = ["--dns-port", str(dns_port), "--agent-port", str(agent_port)]
    code = stack.manage("create_node", name, *ports, "--front").strip()
    _enroll(stack, name, code, directory / "identity")
    path = directory / "front.toml"
    path.write_text(
        f'state_dir = "state"\nidentity_dir = "identity"\nlisten = ["127.0.0.1:{dns_port}"]\ncores = 2\n'
        f'panel_host = "127.0.0.1"\npanel_port = {agent_port}\n'
        f"control_port = {free_port()}\napi_port = {free_port()}\n"
    )
    config = read_config(path)
    config.state_dir.mkdir()
    dnsdist = SupervisedDnsdist(config)
    with (directory / "front.log").open("ab") as log:
        agent = subprocess.Popen([*_FRONT, "run", "--config", str(path)], cwd=ROOT, stdout=log, stderr=log)
    try:
        dnsdist.supervise()
        front = JoinedFront(stack, name, config, dnsdist)
        front.set_terms(**terms)
        expected = sorted(terms["backends"])
        until(lambda: front.rotation() == expected, seconds=60, what="every node is in rotation")
        yield front
    finally:
        agent.terminate()
        agent.wait(timeout=30)
        dnsdist.stop()


def _enroll(stack: Stack, name: str, code: str, identity: Path) -> None:
    """Enroll the front: request a certificate, and approve the request by the fingerprint that the front prints."""
    command = [*_FRONT, "enroll", "--panel", stack.url, "--code", code, "--dir", str(identity)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as enrolling:
        try:
            assert enrolling.stdout is not None
            fingerprint = enrolling.stdout.readline().split()[-1].decode()
            stack.manage("approve_node", name, "--fingerprint", fingerprint)
            assert enrolling.wait(timeout=60) == 0
        finally:
            enrolling.kill()
