"""Enroll nodes in separate containers, on the panel's side: create one-time codes and approve requests."""

import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from dnspanel.demo.demo_nodes import SCHEMA
from dnspanel.demo.fleet import approve_request
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle

DNS_PORT, AGENT_PORT = 5300, 8533
POLL_SECONDS = 0.5


class NoRequests(Exception):
    """Raised if some nodes didn't use their codes in time."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"{', '.join(names)} did not ask to enrol in time; start this again when they run.")


def admit_nodes(
    addresses: Mapping[str, str], *, codes: Path, now: datetime, seconds: float, ring0: str | None = None
) -> None:
    """Create and approve all of these nodes. A repeated call continues where the last one stopped.

    `ring0` is the name of the private node that receives every publication first.

    1. Create the nodes that the panel doesn't have yet.
    2. Write a code for each node that hasn't used one to `<name>/code`, atomically. A node can read only its directory.
    3. Approve the requests made with these codes. Raise NoRequests if a request is missing after `seconds` seconds.
    """
    nodes = [_node(name, address, is_ring0=name == ring0, now=now) for name, address in addresses.items()]
    for node in nodes:
        if node.state == NodeState.AWAITING_APPROVAL and node_lifecycle.request_of(node) is None:
            _leave_code(codes / node.name / "code", node_lifecycle.make_code(node=node, now=now, by=None))
    deadline = time.monotonic() + seconds
    while waiting := [node for node in nodes if not approve_request(node.name, now=now)]:
        if time.monotonic() > deadline:
            raise NoRequests([node.name for node in waiting])
        time.sleep(POLL_SECONDS)


def _node(name: str, address: str, *, is_ring0: bool, now: datetime) -> Node:
    return node_lifecycle.node_in_fleet(name) or node_lifecycle.create_node(
        node_lifecycle.NodeDescription(
            name=name, dns_address=address, dns_port=DNS_PORT, agent_host=address, agent_port=AGENT_PORT, schema=SCHEMA
        ),
        is_ring0=is_ring0,
        now=now,
        by=None,
    )


def _leave_code(path: Path, code: str) -> None:
    path.parent.mkdir(exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(code)
    new.rename(path)
