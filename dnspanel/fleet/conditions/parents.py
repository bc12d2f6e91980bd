"""Conditions for signed zones that resolvers can't validate: wrong DS at the parent, or wrong signatures. Pure."""

from collections.abc import Iterator
from datetime import datetime

from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.texts import gettext, gettext_noop

KINDS = {
    "panel.ds": gettext_noop("DS at the parent is wrong"),
    "panel.unproven": gettext_noop("Zones have invalid signatures"),
    "panel.parents": gettext_noop("DS at the parent couldn’t be checked"),
}


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
