"""Conditions of the whole fleet: nodes, delivery, and validation of signed zones."""

from collections.abc import Collection
from datetime import datetime

from dnspanel.conditions import Condition, Subject
from dnspanel.fleet.conditions import delivery, nodes, parents
from dnspanel.fleet.conditions.certificates import certificate_condition
from dnspanel.fleet.conditions.condition_inputs import ZONES, FleetInputs, read_fleet, times_of_parents
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import CONTACT_KNOWN_FOR
from dnspanel.texts import gettext_noop

KINDS = {
    **nodes.KINDS,
    **delivery.KINDS,
    **parents.KINDS,
    "panel.certificate": gettext_noop("Panel certificate expires soon"),
}


def fleet_conditions(inputs: FleetInputs, now: datetime, is_open: Collection[str] = ()) -> list[Condition]:
    """Return all conditions of the fleet."""
    known = inputs.collector_at is not None and now - inputs.collector_at <= CONTACT_KNOWN_FOR
    found = [*delivery.delivery_conditions(inputs, now, is_open), *parents.validation_conditions(inputs, now)]
    if ending := certificate_condition(inputs.certificate_expires_at, "panel.certificate", now):
        found.append(ending)
    for node in inputs.nodes:
        if node.state in {NodeState.ACTIVE, NodeState.DRAINED}:
            found += nodes.node_conditions(node, now, is_open, contact_is_known=known)
    return delivery.late_once(found, inputs.waiting, is_open)


SUBJECT = Subject(FleetInputs, KINDS, read_fleet, fleet_conditions, ZONES, times_of_parents)
