"""What the panel already records about itself, read once for all checks of a report."""

import socket
from dataclasses import dataclass
from datetime import datetime

from dnspanel.alerts.alert_inputs import read
from dnspanel.conditions import Reading
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.processes.state import ProcessesNow


@dataclass(frozen=True, slots=True)
class CheckInputs:
    """The inputs of all alerts, the panel's processes and the nodes at work at one point in time."""

    now: datetime
    reading: Reading
    fleet: FleetInputs
    processes: ProcessesNow
    nodes: tuple[Node, ...]

    def runs_here(self, process: str) -> bool:
        """Return True if a process of this name runs on this machine, so that its loopback addresses are the same."""
        return any(each.host == socket.gethostname() for each in self.processes.living(process, self.now))


def read_check_inputs(now: datetime) -> CheckInputs:
    """Read all inputs with a constant number of queries. Raise DatabaseError if PostgreSQL doesn't answer."""
    reading = read(now)
    fleet = reading.of(FleetInputs)
    assert fleet.processes is not None
    at_work = {NodeState.ACTIVE, NodeState.DRAINED}
    nodes = tuple(each.node for each in fleet.statuses if each.node.state in at_work)
    return CheckInputs(now, reading, fleet, fleet.processes, nodes)
