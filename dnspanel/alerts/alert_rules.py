"""Determine the current conditions from all subjects' inputs, without those that another condition causes. Pure.

A condition is a current problem. Its key doesn't change while the problem lasts, even if its message does. For example,
if a node that is behind goes offline, the node's condition only becomes worse. If a condition depends on a number, an
open condition (`is_open`) remains until the number is clearly better, so that alerts don't repeatedly start and end.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime

from dnspanel.alerts import causes
from dnspanel.conditions import Condition, Reading, subjects
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.rollout.waiting_publications import BEFORE_NODES
from dnspanel.texts import gettext


def conditions(
    reading: Reading, now: datetime, *, is_open: Collection[str] = (), also: Iterable[Condition] = ()
) -> list[Condition]:
    """Return all current conditions except those that another condition causes.

    `is_open` has the keys of the alerts that are still open. `also` are conditions that the caller found itself.
    """
    found = list(also)
    for subject in subjects():
        if (inputs := reading.get(subject.inputs)) is not None:
            found += subject.judge(inputs, now, is_open)
    return _without_consequences(found, reading.get(FleetInputs) or FleetInputs())


def _without_consequences(found: list[Condition], inputs: FleetInputs) -> list[Condition]:
    """Return only the conditions that are causes. Append the message about delays to its cause's message."""
    # While a publication waits before the nodes, they don't cause the delay, even if the wait is still short.
    waits = {causes.WAITS} if inputs.waiting is not None and inputs.waiting.place in BEFORE_NODES else set()
    ahead = {node.node_id for node in inputs.nodes if node.is_ahead}
    own, consequences = causes.split(found, also=waits, ahead=ahead)
    late = {cause: each.message for cause, each in consequences if each.kind == "panel.late"}
    return [_with_consequence(each, late.get(each.kind) or late.get(each.key)) for each in own]


def _with_consequence(cause: Condition, consequence: str | None) -> Condition:
    if not consequence:
        return cause
    message = gettext("{message} {consequence}").format(message=cause.message, consequence=consequence)
    return replace(cause, message=message)
