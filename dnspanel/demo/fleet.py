"""Enroll the demo's nodes with the same steps as any other node: one-time code, signing request, approval."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from dnspanel.demo import unprivileged
from dnspanel.demo.demo_front import CACHE_ENTRIES, DemoFront
from dnspanel.demo.demo_nodes import SCHEMA, DemoNode
from dnspanel.demo.ports import LOOPBACK
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import fronts, node_lifecycle

# Five agents start at once, perhaps on a busy machine.
ENROLLMENT_SECONDS = 300
POLL_SECONDS = 0.05


class NotEnrolled(Exception):
    """Raised if an agent's enrollment didn't complete in time."""

    def __init__(self, name: str, *, log: str) -> None:
        super().__init__(f"{name} did not enrol within {ENROLLMENT_SECONDS} s; its agent said: {log or 'nothing'}")


def enroll_nodes(nodes: Sequence[DemoNode | DemoFront], *, panel: str, now: datetime) -> list[Node]:
    """Enroll these servers as nodes of the panel. Return the new nodes. Raise NotEnrolled if one fails to enroll.

    After an interruption, another call continues, because a node's directory keeps the code until the end.
    """
    deadline = time.monotonic() + ENROLLMENT_SECONDS
    agents = [(node, _ask_to_enroll(node, panel=panel, now=now)) for node in nodes if not _has_identity(node)]
    try:
        for node, agent in agents:
            _wait(node, agent, partial(approve_request, node.name, now=now), deadline=deadline)
        for node, agent in agents:
            _wait(node, agent, partial(_has_identity, node), deadline=deadline)
            _code_file(node).unlink()
    finally:
        for _, agent in agents:
            agent.kill()
            agent.wait()
    return [node_lifecycle.node_by_name(node.name) for node, _ in agents]


def put_before(front: DemoFront, nodes: Sequence[DemoNode], *, now: datetime) -> None:
    """Set the nodes behind the front, unless a person has already chosen nodes for it."""
    node = node_lifecycle.node_by_name(front.name)
    if not fronts.terms_of(node).backends:
        terms = fronts.Terms({each.name: 1 for each in nodes}, cache_entries=CACHE_ENTRIES)
        fronts.set_terms(node=node, terms=terms, now=now, by=None)


def _ask_to_enroll(node: DemoNode | DemoFront, *, panel: str, now: datetime) -> subprocess.Popen[bytes]:
    """Create the node if it is missing, and start to enroll its agent. An approved node uses its stored code."""
    known = node_lifecycle.node_in_fleet(node.name) or node_lifecycle.create_node(
        node_lifecycle.NodeDescription(
            name=node.name,
            dns_address=LOOPBACK,
            dns_port=node.dns_port,
            agent_host=LOOPBACK,
            agent_port=node.agent_port,
            schema=SCHEMA,
        ),
        is_ring0=isinstance(node, DemoNode) and node.is_ring0,
        is_front=isinstance(node, DemoFront),
        now=now,
        by=None,
    )
    code = _code_file(node)
    if known.state == NodeState.AWAITING_APPROVAL:
        unprivileged.write(code, node_lifecycle.make_code(node=known, now=now, by=None))
    arguments = ["--panel", panel, "--code", code.read_text(), "--dir", str(node.identity)]
    # Run as the node's user, because only the owner can read the identity files.
    command = [*unprivileged.prefix(), sys.executable, "-m", "replication.agent", "enroll", *arguments]
    with _log(node).open("w") as log:
        return subprocess.Popen(
            command, cwd=unprivileged.CHECKOUT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )


def _wait(
    node: DemoNode | DemoFront, agent: subprocess.Popen[bytes], condition: Callable[[], bool], *, deadline: float
) -> None:
    """Wait until the condition is true. Raise NotEnrolled if the agent ends too early, or after the deadline."""
    ended = False
    while not condition():
        if ended or time.monotonic() > deadline:
            raise NotEnrolled(node.name, log=_log(node).read_text().strip())
        ended = agent.poll() is not None
        time.sleep(POLL_SECONDS)


def approve_request(name: str, *, now: datetime) -> bool:
    """Approve the node's request if there is one. Return True if the node is approved now or was approved before."""
    node = node_lifecycle.node_by_name(name)
    if node.state != NodeState.AWAITING_APPROVAL:
        return True
    if node_lifecycle.request_of(node) is None:
        return False
    node_lifecycle.approve(node=node, now=now, by=None)
    return True


def _has_identity(node: DemoNode | DemoFront) -> bool:
    return (node.identity / "identity.json").exists()


def _code_file(node: DemoNode | DemoFront) -> Path:
    return node.directory / "enrolment-code"


def _log(node: DemoNode | DemoFront) -> Path:
    return node.directory / "enrolment.log"
