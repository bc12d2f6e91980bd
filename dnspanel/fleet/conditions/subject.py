"""Conditions of the whole fleet: nodes, delivery, and validation of signed zones."""

from collections.abc import Collection, Iterator
from datetime import datetime

from dnspanel.conditions import Condition, Severity, Subject
from dnspanel.fleet.conditions import delivery, nodes
from dnspanel.fleet.conditions.condition_inputs import ZONES, FleetInputs, read_fleet, times_of_parents
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import CONTACT_KNOWN_FOR
from dnspanel.texts import gettext, gettext_noop

KINDS = {
    **nodes.KINDS,
    **delivery.KINDS,
    "panel.ds": gettext_noop("DS at the parent is wrong"),
    "panel.unproven": gettext_noop("Zones have invalid signatures"),
    "panel.parents": gettext_noop("DS at the parent couldn’t be checked"),
    "panel.certificate": gettext_noop("Panel certificate expires soon"),
}


def fleet_conditions(inputs: FleetInputs, now: datetime, is_open: Collection[str] = ()) -> list[Condition]:
    """Return all conditions of the fleet."""
    known = inputs.collector_at is not None and now - inputs.collector_at <= CONTACT_KNOWN_FOR
    found = [*delivery.delivery_conditions(inputs, now, is_open), *validation_conditions(inputs, now)]
    if ending := nodes.certificate_condition(inputs.certificate_expires_at, "panel.certificate", now):
        found.append(ending)
    for node in inputs.nodes:
        if node.state in {NodeState.ACTIVE, NodeState.DRAINED}:
            found += nodes.node_conditions(node, now, is_open, contact_is_known=known)
    return delivery.late_once(found, inputs.waiting, is_open)


def validation_conditions(inputs: FleetInputs, now: datetime) -> Iterator[Condition]:
    """Yield one condition for each kind of validation problem that exists. Each condition covers all affected zones."""
    if inputs.misled.count:
        message = gettext("{zones}: DNSSEC validation from the DS at the parent fails.").format(
            zones=inputs.misled.message(now)
        )
        yield Condition("panel.ds", "panel.ds", Severity.CRITICAL, message, about=inputs.misled.about)
    if inputs.unproven.count:
        message = gettext(
            "{zones}: signatures from PowerDNS are invalid, but this wasn’t caused by a publication. All "
            "other zones are still published."
        ).format(zones=inputs.unproven.message(now))
        about = inputs.unproven.about
        yield Condition("panel.unproven", "panel.unproven", Severity.CRITICAL, message, about=about)
    if inputs.unknown.count:
        message = gettext("{zones}: the DS at the parent couldn’t be checked.").format(
            zones=inputs.unknown.message(now)
        )
        about = inputs.unknown.about
        yield Condition("panel.parents", "panel.parents", Severity.WARNING, message, about=about)


SUBJECT = Subject(FleetInputs, KINDS, read_fleet, fleet_conditions, ZONES, times_of_parents)
