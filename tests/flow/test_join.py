"""A server becomes a node by the published way: the agent's wheel in an environment of its own, and one command."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dns.exception
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.ports import free_port
from tests.replication.agent.servers import short_directory
from tests.stack import ROOT, ask, until, wait_until_in_sync

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(os.geteuid() != 0, reason="joining writes for another user, which takes root"),
]

PIP_SECONDS = 300


def installed_agent(directory: Path) -> Path:
    """The program `dnspanel-agent`, from the wheel, in an environment that has nothing of the panel."""
    built = subprocess.run(
        [sys.executable, str(ROOT / "deploy" / "agent" / "build.py"), str(directory / "wheel")],
        check=True,
        capture_output=True,
        text=True,
    )
    wheel = built.stdout.split()[-1]
    environment = directory / "agent-venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    locked = ["--require-hashes", "--requirement", str(ROOT / "requirements" / "agent.txt")]
    subprocess.run([*pip, *locked], check=True, timeout=PIP_SECONDS)
    subprocess.run([*pip, "--no-deps", wheel], check=True, timeout=PIP_SECONDS)
    return environment / "bin" / "dnspanel-agent"


def started(unit: Path, log: Path) -> subprocess.Popen[bytes]:
    """The unit's last ExecStart, run as the stack's user; systemd would do the same with more walls around it."""
    command = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE)[-1]
    with log.open("wb") as out:
        return subprocess.Popen(
            [*unprivileged.prefix(), *command.split()], cwd="/", stdout=out, stderr=subprocess.STDOUT
        )


@pytest.fixture
def place() -> Iterator[Path]:
    """Where the server's files are: not below the checkout, which may lie where the node's user may not enter."""
    with short_directory() as path:
        unprivileged.make_directory(path)
        yield path


def test_one_command_makes_a_server_a_node(fresh_stack: Stack, place: Path) -> None:
    account = unprivileged.account()
    assert account is not None
    sockets = fresh_stack.run_directory / "joined"
    unprivileged.make_directory(sockets)
    node = DemoNode("joined", place / "lib", sockets, free_port(), free_port(), free_port())
    places = {"dns": str(node.dns_port), "agent": str(node.agent_port)}
    code = fresh_stack.manage("create_node", "joined", "--dns-port", places["dns"], "--agent-port", places["agent"])
    agent = installed_agent(place)
    with contextlib.ExitStack() as running:
        command = [
            str(agent),
            "join",
            "--panel",
            fresh_stack.url,
            "--code",
            code.strip(),
            "--dns-address",
            "127.0.0.1",
            "--dns-port",
            places["dns"],
            "--listen-port",
            places["agent"],
            "--api-port",
            str(node.statistics_port),
            "--user",
            account.pw_name,
            "--config",
            str(place / "agent.toml"),
            "--directory",
            str(place / "lib"),
            "--socket-directory",
            str(sockets),
            "--units",
            str(place / "units"),
            "--no-start",
        ]
        joining = subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        running.callback(joining.kill)
        assert joining.stdout is not None
        fingerprint = joining.stdout.readline().split()[-1]
        fresh_stack.manage("approve_node", "joined", "--fingerprint", fingerprint)
        output, _ = joining.communicate(timeout=60)
        assert joining.returncode == 0, output
        assert "joined is set up" in output
        for unit in ("pdns.service.d/dnspanel.conf", "dnspanel-agent.service"):
            process = started(place / "units" / unit, place / f"{Path(unit).stem}.log")
            running.callback(process.wait)
            running.callback(process.kill)
        fresh_stack.manage("demo_zones")
        wait_until_in_sync(fresh_stack, seconds=60)

        def answers() -> bool:
            with contextlib.suppress(dns.exception.Timeout, OSError):
                return ask(node, "www.test101.org.").rdata == ("1.1.1.1", "42.42.42.42")
            return False

        until(answers, seconds=20, what="the new node to answer")
