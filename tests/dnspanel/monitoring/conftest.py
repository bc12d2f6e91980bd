"""Fixtures of health and metrics tests: nodes, their live statistics, and a person."""

from tests.dnspanel.fleet.conftest import active_node, live_redis, waiting_node
from tests.people import alice

__all__ = ["active_node", "alice", "live_redis", "waiting_node"]
