"""PowerDNS 4.7, 4.9 and 5.1 in one fleet, and a node with an in-place upgrade of PowerDNS."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dns.exception
import pytest

from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from replication.agent.agent_config import read_config
from tests.oracle.powerdns import PowerDNS, Unavailable, native, of_suite
from tests.ports import free_port
from tests.stack import ROOT, ask, make_person, run_inside, until, wait_until_in_sync

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(os.geteuid() != 0, reason="other releases run in roots of their own, which takes root"),
]


class Server:
    """A node on this machine whose PowerDNS can be any release. A loop restarts PowerDNS when it ends."""

    def __init__(self, stack: Stack, name: str, powerdns: PowerDNS) -> None:
        self.stack, self.powerdns = stack, powerdns
        sockets = stack.run_directory / name
        chosen = [free_port() for _ in range(3)]
        self.node = DemoNode(name, stack.directory / "nodes" / name, sockets, chosen[0], chosen[1], chosen[2])
        self.program = self.node.directory / "pdns_server"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def join(self) -> None:
        """Enroll the node, write both configurations, create the files, and start PowerDNS and the agent."""
        node = self.node
        node.configure()
        self.install(self.powerdns)
        code = self.stack.manage(
            "create_node",
            node.name,
            "--dns-port",
            str(node.dns_port),
            "--agent-port",
            str(node.agent_port),
            "--schema",
            str(self.powerdns.schema),
        ).strip()
        with self._agent("enroll", "--panel", self.stack.url, "--code", code, "--dir", str(node.identity)) as enrolling:
            assert enrolling.stdout is not None
            fingerprint = enrolling.stdout.readline().split()[-1].decode()
            self.stack.manage("approve_node", node.name, "--fingerprint", fingerprint)
            assert enrolling.wait(timeout=60) == 0
        with node.agent_toml.open("a") as file:
            file.write(f'pdns_server = "{self.program}"\n')
        subprocess.run(self._command("prepare", "--config", str(node.agent_toml)), check=True, cwd=ROOT)
        conf = subprocess.run(
            self._command("pdnsconf", "--config", str(node.agent_toml)), check=True, cwd=ROOT, capture_output=True
        )
        (node.pdns / "pdns.conf").write_bytes(conf.stdout)
        self.start("pdns")
        self.start("agent")

    def install(self, powerdns: PowerDNS) -> None:
        """Install this release of PowerDNS on disk. A running process keeps its release until a restart."""
        self.powerdns = powerdns
        command = " ".join(powerdns.command("pdns_server"))
        self.program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        self.program.chmod(0o755)

    def start(self, which: str) -> None:
        pdns = f"{self.program} --config-dir={self.node.pdns}"
        command = self._command("run", "--config", str(self.node.agent_toml))
        if which == "pdns":
            command = ["/bin/sh", "-c", f"while :; do {pdns}; sleep 0.2; done"]
        with self.log(which).open("ab") as out:
            self._processes[which] = subprocess.Popen(
                command, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )

    def stop(self, which: str) -> None:
        if process := self._processes.pop(which, None):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def log(self, which: str) -> Path:
        return self.node.directory / f"{which}.log"

    def answers(self, name: str, address: str) -> bool:
        with contextlib.suppress(dns.exception.Timeout, OSError):
            return ask(self.node, name, timeout=0.5).rdata == (address,)
        return False

    def state(self) -> dict[str, object]:
        return run_inside(self.stack, "mixed_fleet.state", self.node.name)

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "replication.agent", *words]

    @contextlib.contextmanager
    def _agent(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        with subprocess.Popen(self._command(*words), cwd=ROOT, stdout=subprocess.PIPE) as process:
            try:
                yield process
            finally:
                process.kill()


@contextlib.contextmanager
def visible_in(powerdns: PowerDNS, *directories: Path) -> Iterator[None]:
    """Bind-mount these directories inside this PowerDNS's root, at the same paths."""
    with contextlib.ExitStack() as mounted:
        for directory in directories if powerdns.root is not None else ():
            assert powerdns.root is not None
            inside = powerdns.root / directory.relative_to("/")
            inside.mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "--bind", str(directory), str(inside)], check=True)
            mounted.callback(subprocess.run, ["umount", "--lazy", str(inside)], check=True)
        yield


@pytest.fixture(scope="module")
def releases() -> dict[str, PowerDNS]:
    try:
        return {"4.9": of_suite("trixie"), "5.1": of_suite("sid")}
    except Unavailable as exc:
        pytest.skip(str(exc))


def test_three_releases_answer_the_same_and_one_is_upgraded_in_place(
    fresh_stack: Stack, releases: dict[str, PowerDNS]
) -> None:
    make_person(fresh_stack, "ana")
    old, middle, new = (
        Server(fresh_stack, name, powerdns)
        for name, powerdns in (("upgraded", native()), ("middle", releases["4.9"]), ("newest", releases["5.1"]))
    )
    servers = (old, middle, new)
    assert [server.powerdns.schema for server in servers] == [4, 5, 6]
    places = (fresh_stack.directory, fresh_stack.run_directory)
    with contextlib.ExitStack() as cleanup:
        for release in releases.values():
            cleanup.enter_context(visible_in(release, *places))
        for server in servers:
            cleanup.callback(server.stop, "pdns")
            cleanup.callback(server.stop, "agent")
            server.join()
        publish(fresh_stack, "first.test.", "192.0.2.1")
        wait_until_in_sync(fresh_stack, seconds=120)
        for server in servers:
            assert server.answers("www.first.test.", "192.0.2.1"), server.node.name
        upgrade(fresh_stack, old, releases["4.9"])
        publish(fresh_stack, "second.test.", "192.0.2.2")
        wait_until_in_sync(fresh_stack, seconds=60)
        for server in servers:
            assert server.answers("www.second.test.", "192.0.2.2"), server.node.name
            assert server.answers("www.first.test.", "192.0.2.1"), server.node.name


def upgrade(stack: Stack, server: Server, powerdns: PowerDNS) -> None:
    """Install another release over the running one. Check that the page explains it and a button corrects it."""
    server.stop("pdns")
    server.install(powerdns)
    shutil.copy(server.node.lmdb, server.node.directory / "before.lmdb")
    server.start("pdns")
    page_address = f"/nodes/{server.node.name}/"
    sentence = f" on {server.node.name} needs LMDB schema {powerdns.schema}"
    until(lambda: sentence in page(stack, "GET", page_address), seconds=60, what="the page to explain")
    assert not server.answers("www.first.test.", "192.0.2.1"), "a release that needs another schema refuses to start"
    assert server.state()["schema"] == 4
    # It was pinned, so the new release has not changed the files.
    assert (server.node.directory / "before.lmdb").read_bytes() == server.node.lmdb.read_bytes()
    page(stack, "POST", f"{page_address}rebuild/", f"schema={powerdns.schema}")
    until(lambda: server.state()["schema"] == powerdns.schema, seconds=90, what="the node to have the other schema")
    until(lambda: server.answers("www.first.test.", "192.0.2.1"), seconds=30, what="the upgraded node to answer")
    assert read_config(server.node.agent_toml).identity.schema == powerdns.schema
    until(lambda: sentence not in page(stack, "GET", page_address), seconds=30, what="the page to be content")


def publish(stack: Stack, zone: str, address: str) -> None:
    run_inside(stack, "mixed_fleet.publish", zone, address)


def page(stack: Stack, method: str, path: str, *fields: str) -> str:
    return run_inside(stack, "mixed_fleet.page", method, path, *fields)
