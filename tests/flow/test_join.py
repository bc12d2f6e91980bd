"""A server becomes a node, and another a front, in the documented way: the wheel in an environment and one command."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import ANY

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from replication import verify
from replication.errors import NotServed
from tests.ports import free_port
from tests.replication.agent.servers import short_directory
from tests.stack import ROOT, run_inside, until, wait_until_in_sync

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(os.geteuid() != 0, reason="joining writes for another user, which takes root"),
]

PIP_SECONDS = 300


def installed_agent(directory: Path) -> Path:
    """Build the wheel, install it into an environment without the panel, and return the program `dnspanel-agent`."""
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


@contextlib.contextmanager
def started(unit: Path, log: Path) -> Iterator[None]:
    """Run the unit's last ExecStart as the stack's user, and restart it when it ends. systemd would also sandbox it."""
    command = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE)[-1]
    loop = f"while :; do {' '.join(unprivileged.prefix())} {command}; sleep 0.2; done"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["/bin/sh", "-c", loop], cwd="/", stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture
def place() -> Iterator[Path]:
    """Yield a directory for the server's files, outside the checkout, which the node's user may be unable to enter."""
    with short_directory() as path:
        unprivileged.make_directory(path)
        yield path


def test_one_command_makes_a_server_a_node(fresh_stack: Stack, place: Path) -> None:
    sockets = fresh_stack.run_directory / "joined"
    unprivileged.make_directory(sockets)
    node = DemoNode("joined", place / "lib", sockets, free_port(), free_port(), free_port())
    ports = ["--dns-port", str(node.dns_port), "--agent-port", str(node.agent_port)]
    code = fresh_stack.manage("create_node", "joined", *ports).strip()
    agent = installed_agent(place)
    version = subprocess.run([agent, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    # The panel sets ports. Previously the documented command silently used port 53 although the panel had another.
    command = [
        *(str(agent), "join", "--code", code, "--api-port", str(node.statistics_port)),
        *("--config", str(place / "agent.toml"), "--directory", str(place / "lib")),
        *("--socket-directory", str(sockets), "--units", str(place / "units")),
    ]
    assert_refused(
        fresh_stack, [*command, "--dns-port", "53"], f"--dns-port says 53, and the panel has {node.dns_port}."
    )
    with contextlib.ExitStack() as running:
        join(fresh_stack, "joined", command)
        for unit in ("pdns.service.d/dnspanel.conf", "dnspanel-agent.service"):
            running.enter_context(started(place / "units" / unit, place / f"{Path(unit).stem}.log"))
        fresh_stack.manage("demo_zones")
        wait_until_in_sync(fresh_stack, seconds=60)
        until(lambda: has_answer(node.dns_port), seconds=20, what="the new node to answer")
        front_port = a_front_joins(fresh_stack, place, agent.with_name("dnspanel-front"), running)
        until(lambda: has_answer(front_port), seconds=60, what="the front before the new node to answer")
        wait_until_in_sync(fresh_stack, seconds=60)
        assert run_inside(fresh_stack, "join.setup_of", "joined", "fronted") == {
            "joined": [f"127.0.0.1:{node.dns_port}", node.agent_port, "node", version, []],
            "fronted": [f"127.0.0.1:{front_port}", ANY, "front", version, []],
        }


def assert_refused(stack: Stack, command: list[str], message: str) -> None:
    """Check that the command fails without a person's approval, prints the message and writes no configuration."""
    account = unprivileged.account()
    assert account is not None
    command = [*command, "--panel", stack.url, "--user", account.pw_name, "--no-start"]
    done = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert message in done.stderr
    assert not Path(command[command.index("--config") + 1]).exists()


def a_front_joins(stack: Stack, place: Path, program: Path, running: contextlib.ExitStack) -> int:
    """Join another server as a front for the joined node, by one command. Return the front's DNS port."""
    dns_port, panel_port = free_port(), free_port()
    ports = ["--dns-port", str(dns_port), "--agent-port", str(panel_port)]
    code = stack.manage("create_node", "fronted", *ports, "--front").strip()
    join(
        stack,
        "fronted",
        [str(program), "join", "--code", code],
        ["--control-port", str(free_port()), "--api-port", str(free_port())],
        ["--config", str(place / "front.toml"), "--directory", str(place / "front")],
        ["--units", str(place / "units")],
    )
    for unit in ("dnsdist.service.d/dnspanel.conf", "dnspanel-front.service"):
        running.enter_context(started(place / "units" / unit, place / f"{Path(unit).stem}-of-front.log"))
    run_inside(stack, "fronts.set_terms", "fronted", {"backends": {"joined": 1}})
    return dns_port


def join(stack: Stack, name: str, *words: list[str]) -> None:
    """Run the join command, and approve the request by the printed fingerprint."""
    account = unprivileged.account()
    assert account is not None
    command = [word for part in words for word in part]
    command += ["--panel", stack.url, "--user", account.pw_name, "--no-start"]
    with subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as joining:
        try:
            assert joining.stdout is not None
            fingerprint = joining.stdout.readline().split()[-1]
            stack.manage("approve_node", name, "--fingerprint", fingerprint)
            output, _ = joining.communicate(timeout=60)
        finally:
            joining.kill()
    assert joining.returncode == 0, output
    assert f"{name} is set up" in output


def has_answer(port: int) -> bool:
    with contextlib.suppress(NotServed, OSError):
        message = verify.ask("127.0.0.1", port, "www.test101.org.", 1, 1)
        return {data.to_text() for rrset in message.answer for data in rrset} == {"1.1.1.1", "42.42.42.42"}
    return False
