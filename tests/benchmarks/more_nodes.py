"""More nodes for a running stack, each with a real pdns_server, a real agent and its own LMDB."""

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count as counting
from pathlib import Path

import psutil

from dnspanel.demo import ports, unprivileged
from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.benchmarks import answers, stacks

_NUMBERS = counting(1)


class MoreNodes:
    """Additional nodes of a stack. Leaving this context manager ends their processes and retires the nodes."""

    def __init__(self, bench: stacks.BenchStack) -> None:
        self._stack: Stack = bench.stack
        self._taken = set(bench.stack.ports.values())
        self._running: dict[str, tuple[subprocess.Popen[bytes], subprocess.Popen[bytes]]] = {}
        self.nodes: list[DemoNode] = []

    def __enter__(self) -> "MoreNodes":
        return self

    def __exit__(self, *exc: object) -> None:
        self.retire()

    def enroll(self, count: int) -> list[DemoNode]:
        """Enroll and approve `count` more nodes. Their files are empty, and no process runs yet."""
        from dnspanel.demo.fleet import enroll_nodes

        new = [self._new_node() for _ in range(count)]
        for first in range(0, len(new), 8):  # each node enrolls in its own process
            enroll_nodes(new[first : first + 8], panel=self._stack.url, now=datetime.now(UTC))
        self.nodes += new
        return new

    def start(self, nodes: Sequence[DemoNode]) -> None:
        """Start these nodes. Return when each pdns_server answers and each agent listens."""
        for node in nodes:
            self._run([sys.executable, "-m", "replication.agent", "prepare", "--config", str(node.agent_toml)])
            pdns = self._spawn(
                ["pdns_server", f"--config-dir={node.pdns}", "--daemon=no", "--guardian=no"], node, "pdns"
            )
            self._running[node.name] = (pdns, self._agent(node))
        for node in nodes:
            _until_taken(node.dns_port)
            _until_taken(node.agent_port)

    def stop_agent(self, node: DemoNode) -> None:
        pdns, agent = self._running[node.name]
        agent.terminate()
        agent.wait()
        self._running[node.name] = (pdns, agent)

    def start_agent(self, node: DemoNode) -> None:
        pdns, _ = self._running[node.name]
        self._running[node.name] = (pdns, self._agent(node))

    def agent_process(self, node: DemoNode) -> psutil.Process:
        return psutil.Process(self._running[node.name][1].pid)

    def retire(self) -> None:
        """End the processes of all additional nodes, and retire the nodes."""
        from dnspanel.fleet.models import NodeState
        from dnspanel.fleet.nodes import node_lifecycle

        for pair in self._running.values():
            for process in reversed(pair):
                process.kill()
                process.wait()
        self._running.clear()
        for demo_node in self.nodes:
            node = node_lifecycle.node_by_name(demo_node.name)
            if node.state != NodeState.RETIRED:
                node_lifecycle.retire(node=node, now=datetime.now(UTC), by=None)
        self.nodes.clear()

    def _new_node(self) -> DemoNode:
        chosen = []
        for _ in range(3):
            chosen.append(ports.choose(taken=self._taken))
            self._taken.add(chosen[-1])
        name = f"more{next(_NUMBERS)}"  # a retired node keeps its name
        node = DemoNode(name, self._stack.directory / "nodes" / name, self._stack.run_directory / name, *chosen)
        node.configure()
        return node

    def _agent(self, node: DemoNode) -> subprocess.Popen[bytes]:
        return self._spawn(
            [sys.executable, "-m", "replication.agent", "run", "--config", str(node.agent_toml)], node, "agent"
        )

    def _spawn(self, command: list[str], node: DemoNode, what: str) -> subprocess.Popen[bytes]:
        log: Path = self._stack.directory / "log" / f"{node.name}-{what}.log"
        with log.open("ab") as out:
            return subprocess.Popen(
                [*unprivileged.prefix(), *command],
                env=self._stack.env,
                cwd=unprivileged.CHECKOUT,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

    def _run(self, command: list[str]) -> None:
        self._stack.run(command)


def _until_taken(port: int, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while ports.is_free(port):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens on port {port}")
        time.sleep(0.02)


def addresses_of(nodes: Sequence[DemoNode]) -> list[answers.Address]:
    return [("127.0.0.1", node.dns_port) for node in nodes]
