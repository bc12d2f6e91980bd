"""Nodes that join the fleet."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.fleet.nodes.authority import NODE_LIFETIME
from dnspanel.fleet.nodes.node_lifecycle import node_by_name
from dnspanel.fleet.nodes.reported_setup import setup_differences


def setup_of(*names: str) -> Any:
    """Return each node's report about its setup, and the differences from the expected setup."""
    found = {}
    for node in map(node_by_name, names):
        report = node.report
        told = [*report["listen"], report["agent_port"], report["role"], report["versions"]["agent"]]
        found[node.name] = [*told, setup_differences(node, is_rebuilding=False)]
    return found


def approve_long_ago() -> None:
    """Approve ns2 at a time in the past.

    The certificate has the normal lifetime, but started so long ago that it has expired.
    """
    node_lifecycle.approve(
        node=node_lifecycle.node_by_name("ns2"), now=timezone.now() - NODE_LIFETIME - timedelta(days=1), by=None
    )


def has_request() -> Any:
    """Return True if ns2 has requested approval."""
    return node_lifecycle.request_of(node_lifecycle.node_by_name("ns2")) is not None
