"""A node's container answers again after each restart: `docker restart`, a kill and a reboot."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from replication.agent.agent_config import Identity, format_identity
from tests.deploy.build_context import copy_files, parse_dockerfile
from tests.deploy.container_root import Containers, owner_of
from tests.docs.documents import ROOT
from tests.replication.agent.servers import Authority
from tests.replication.panel import CLUSTER, PUBLIC_KEYS

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a process mounts of its own")

STAGES = parse_dockerfile((ROOT / "Dockerfile").read_text())
SERVICE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["ns1"]
# The container's network is only a separate loopback.
SERVICE["environment"]["NODE_ADDRESS"] = "127.0.0.1"


@pytest.fixture
def containers() -> Iterator[Containers]:
    """Return containers with the image's files, and a volume with the identity of a joined node."""
    directory = Path(tempfile.mkdtemp(prefix="dnspanel-node-", dir="/tmp"))
    directory.chmod(0o755)
    copy_files(STAGES["node"], directory / "images" / "node")
    script = directory / "images/node/srv/dnspanel/node.sh"
    # Only the image has Debian's supervisor. The Python package contains the same program.
    script.write_text(script.read_text().replace("/usr/bin/supervisord", "/opt/dnspanel/bin/supervisord"))
    made = Containers(STAGES, directory / "images", directory / "volumes")
    made.volumes.mkdir()
    made.run(SERVICE, ["true"])  # creates the volumes
    identity = made.volumes / "ns1" / "identity"
    identity.mkdir()
    authority = Authority(directory)
    for issued, name in zip(authority.issue("ns1", "ns1"), ("node.pem", "node.key"), strict=True):
        shutil.copy(issued, identity / name)
    (identity / "ca.pem").write_bytes(authority.pem)
    (identity / "identity.json").write_text(format_identity(Identity("ns1", CLUSTER, 4, PUBLIC_KEYS)))
    for path in [identity, *identity.iterdir()]:
        os.chown(path, *owner_of(STAGES["node"]))
    yield made
    shutil.rmtree(directory)


@contextmanager
def started(containers: Containers) -> Iterator[Path]:
    """Start the service like its image. Yield the file with its output, and kill all its processes at the end."""
    printed = containers.volumes.parent / "printed"
    printed.touch()
    os.chown(printed, *owner_of(STAGES["node"]))
    command = containers.command(SERVICE, STAGES["node"].command, network=False)
    with printed.open("ab") as out, subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL) as node:
        try:
            yield printed
        finally:
            # The container's first process, whose end kills all others; `unshare` waits for it.
            for child in Path(f"/proc/{node.pid}/task/{node.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
            node.wait(timeout=60)


def wait_until_healthy(containers: Containers, printed: Path) -> None:
    """Wait until PowerDNS answers on its control socket, as in the service's health check."""
    assert SERVICE["healthcheck"]["test"] == ["CMD", "pdns_control", "--config-dir=/var/lib/node", "rping"]
    volume = containers.volumes / "ns1"
    deadline = time.monotonic() + 120
    while True:
        sockets = [line.partition("=")[2] for line in _lines(volume / "pdns.conf") if line.startswith("socket-dir=")]
        if sockets and sockets[0].startswith("/var/lib/node"):
            there = sockets[0].replace("/var/lib/node", str(volume))
            answer = subprocess.run(["pdns_control", f"--socket-dir={there}", "rping"], capture_output=True, text=True)
            if answer.stdout.strip() == "PONG":
                return
        assert time.monotonic() < deadline, printed.read_text()[-3000:]
        time.sleep(0.1)


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_node_answers_after_its_container_was_killed(containers: Containers) -> None:
    """Previously PowerDNS bound its control socket at the first start only, and then got Permission denied."""
    for _ in range(2):
        with started(containers) as printed:
            wait_until_healthy(containers, printed)
    assert "Permission denied" not in printed.read_text()
