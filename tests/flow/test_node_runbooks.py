"""The node runbooks (`docs/operate/runbooks/`): the tests run each document's commands in their order.

Commands that need systemd or another machine are left out: `systemctl`, `journalctl`, `df`, `rm` and `date`. A signal
replaces `systemctl restart`.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.docs.documents import code_spans
from tests.docs.runbooks import FOLDER, command_lines_of
from tests.flow.test_join import started
from tests.ports import free_port
from tests.replication.agent.servers import short_directory
from tests.stack import ROOT, make_person, run_inside, until, wait_until_in_sync

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(os.geteuid() != 0, reason="joining writes for another user, which takes root"),
]

# The last one needs a front with this name.
NOT_HERE = ("systemctl ", "apt ", "rm ", "date ", "dnspanel api PATCH /nodes/front1/front ")


def commands(name: str, step: str) -> list[str]:
    """Return the commands in this section of a runbook, without those that cannot run here."""
    lines = command_lines_of(name, step)
    assert lines, f"{name} has no commands below {step}"
    return [line for line in lines if not line.startswith(NOT_HERE)]


class Operator:
    """Runs a runbook's literal commands against this stack."""

    def __init__(self, stack: Stack, place: Path) -> None:
        self.stack, self.place = stack, place
        make_person(stack, "ada")
        home = {
            "DNSPANEL_URL": stack.url,
            "DNSPANEL_TOKEN": run_inside(stack, "tokens.make_token_for_runbooks"),
            "HOME": str(place),
        }
        self._environment = os.environ | home | {"PYTHONPATH": str(ROOT)}
        sockets = stack.run_directory / "again"
        unprivileged.make_directory(sockets)
        self.node = DemoNode("ns2", place / "lib", sockets, free_port(), free_port(), free_port())

    def run(self, line: str, **words: str) -> str:
        """Run a command of the runbook, with `words` in place of its placeholders."""
        for placeholder, word in words.items():
            line = line.replace(placeholder, word)
        program, *rest = shlex.split(line)
        if program == "manage.py":
            return self.stack.manage(*rest)
        assert program == "dnspanel", line
        command = [sys.executable, "-m", "dnspanel.cli", *rest]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return done.stdout

    def run_all(self, lines: list[str], **words: str) -> str:
        """Run these commands, and return the output of the last one."""
        return [self.run(line, **words) for line in lines][-1]

    @contextlib.contextmanager
    def joining(self, line: str, code: str) -> Iterator[str]:
        """Run the runbook's `join` command with this server's paths. Yield the printed fingerprint."""
        program, *words = shlex.split(line.replace("CODE", code).replace("https://panel.example.net", self.stack.url))
        assert program == "dnspanel-agent"
        account = unprivileged.account()
        assert account is not None
        here = [
            *("--user", account.pw_name, "--config", str(self.place / "agent.toml")),
            *("--directory", str(self.node.directory), "--socket-directory", str(self.node.socket_directory)),
            *("--units", str(self.place / "units"), "--api-port", str(self.node.statistics_port), "--no-start"),
        ]
        command = [sys.executable, "-m", "replication.agent", *words, *here]
        with subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().split()[-1]
                output, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 0, output

    def shows(self, name: str, *words: str) -> bool:
        """Return True if the output of `nodes show` contains all these words."""
        displayed = self.run(f"dnspanel nodes show {name}")
        return all(re.search(rf"\b{re.escape(word)}\b", displayed) for word in words)

    def restart_agent(self, sig: int = signal.SIGTERM) -> None:
        """Send a signal to the agent, in place of `systemctl restart dnspanel-agent`. Its loop restarts it."""
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (directory / "cmdline").read_bytes().split(b"\0")
                if str(self.place / "agent.toml").encode() in words and b"run" in words and b"/bin/sh" not in words:
                    os.kill(int(directory.name), sig)


@pytest.fixture
def operator(fresh_stack: Stack) -> Iterator[Operator]:
    fresh_stack.manage("demo_zones")
    wait_until_in_sync(fresh_stack, seconds=120)
    with short_directory() as place:
        unprivileged.make_directory(place)
        yield Operator(fresh_stack, place)


def test_a_node_is_removed_replaced_given_a_new_certificate_and_brought_to_the_head(operator: Operator) -> None:
    removed = remove(operator)
    with contextlib.ExitStack() as running:
        join_with_an_expired_certificate(operator, running)
        assert operator.shows(removed, "retired")  # the former ns2, next to the new one
        renew(operator)
        unstick(operator)


def remove(operator: Operator) -> str:
    """Remove ns2 by the runbook, which frees the name. Return the retired node's new name."""
    name = "remove-a-node"
    assert commands(name, "1. Stop queries to the node") == []
    retired = operator.run_all(commands(name, "2. Retire the node"))
    slug = re.search(r"ns2_[0-9]+", retired)
    assert slug
    assert "retired" in retired
    *listing, waiting = commands(name, "3. Check the result")
    assert "ns2" not in operator.run_all(listing)
    operator.run(waiting)
    assert commands(name, "4. Clean the server") == []
    operator.stack.supervisor.stop([each for each in operator.stack.supervisor.states() if "ns2" in each])
    return slug[0]


def join_with_an_expired_certificate(operator: Operator, running: contextlib.ExitStack) -> None:
    """Join a new server as ns2 with a certificate that has expired when its agent starts."""
    node = operator.node
    ports = ["--dns-port", str(node.dns_port), "--agent-port", str(node.agent_port)]
    code = operator.stack.manage("create_node", "ns2", *ports).strip()
    [line] = commands("expired-certificate", "3. Join again")
    with operator.joining(line, code):
        until(lambda: run_inside(operator.stack, "join.has_request"), seconds=30, what="the server to ask")
        run_inside(operator.stack, "join.approve_long_ago")
    for unit in ("pdns.service.d/dnspanel.conf", "dnspanel-agent.service"):
        running.enter_context(started(operator.place / "units" / unit, operator.place / f"{Path(unit).stem}.log"))
    until(lambda: operator.shows("ns2", "rejecting", "expired"), seconds=60, what="the symptom")


def renew(operator: Operator) -> None:
    """Renew the node's certificate by the runbook, and check it."""
    name = "expired-certificate"
    assert commands(name, "1. Compare the clocks") == []
    revoking, making = commands(name, "2. Revoke the old certificate and create a join code")
    assert "awaiting" in operator.run(revoking)
    code = operator.run(making).strip()
    [line] = commands(name, "3. Join again")
    with operator.joining(line, code) as fingerprint:
        assert "active" in operator.run_all(commands(name, "4. Approve"), FINGERPRINT=fingerprint)
    operator.restart_agent()
    waiting, displaying = commands(name, "5. Check the result")
    until(lambda: operator.shows("ns2", "live"), seconds=60, what="the node to be live")
    operator.run(waiting)
    assert "live" in operator.run(displaying)


def unstick(operator: Operator) -> None:
    """Let a paused node, and a node with a hanging agent, catch up by the runbook."""
    name = "node-stuck"
    [displaying] = commands(name, "1. Read the reason")
    [resuming] = [span for span in code_spans(FOLDER / f"{name}.md") if "nodes resume" in span]
    operator.run("dnspanel nodes drain ns2 --reason disk")
    assert "drained" in operator.run(displaying)
    operator.run(resuming)
    operator.restart_agent(signal.SIGSTOP)
    until(lambda: "offline" in operator.run(displaying), seconds=60, what="the node to be offline")
    operator.restart_agent(signal.SIGKILL)
    watching, resyncing = commands(name, "2. Wait until the node is in sync")
    until(lambda: operator.shows("ns2", "live"), seconds=60, what="the node to be live again")
    assert "LAG" in operator.run(watching.replace("--count 20", "--count 1"))
    operator.run(resyncing)
    [proving] = commands(name, "3. Check the result")
    operator.run(proving)
