"""What the panel already records about itself, read once for all checks of a report."""

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address

from dnspanel.alerts.alert_inputs import read
from dnspanel.conditions import Reading
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.processes.state import ProcessesNow


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of all alerts, the panel's processes and the watched nodes at one point in time."""

    now: datetime
    reading: Reading
    fleet: FleetInputs
    processes: ProcessesNow
    nodes: Sequence[Node]

    def runs_here(self, process: str) -> bool:
        """Return True if a process of this name runs on this machine, so that its loopback ports are these."""
        host = socket.gethostname()
        return any(each.host == host for each in self.processes.living(process, self.now))

    def can_probe(self, host: str) -> bool:
        """Return True if this machine reaches the same host as the panel's processes that connect to it."""
        try:
            is_local = ip_address(host).is_loopback
        except ValueError:
            is_local = host == "localhost"
        return not is_local or self.runs_here("push")

    def nodes_at_work(self) -> list[Node]:
        return [node for node in self.nodes if node.state in {NodeState.ACTIVE, NodeState.DRAINED}]


def read_facts(now: datetime) -> Facts:
    """Read all facts with a constant number of queries. Raise DatabaseError if PostgreSQL doesn't answer."""
    reading = read(now)
    fleet = reading.of(FleetInputs)
    assert fleet.processes is not None
    return Facts(now, reading, fleet, fleet.processes, [status.node for status in fleet.statuses])
