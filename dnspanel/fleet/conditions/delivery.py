"""Conditions for problems with the delivery of publications to the nodes. Pure."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.conditions.condition_inputs import DeliveryInputs, FleetInputs
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.rollout.waiting_publications import (
    BEFORE_NODES,
    LATE_AFTER,
    LATE_AGAIN,
    VERY_LATE_AFTER,
    Waiting,
    describe,
)
from dnspanel.texts import duration_text, gettext, gettext_noop

LOG_AGE, LOG_AGE_CRITICAL = timedelta(seconds=60), timedelta(minutes=10)
COLLECTOR_SILENT = timedelta(seconds=20)
PINNED_FOR = timedelta(hours=1)

KINDS = {
    "panel.late": gettext_noop("Publications are late"),
    "panel.log_age": gettext_noop("Publications are waiting to be encoded"),
    "panel.stopped": gettext_noop("Delivery is stopped"),
    "panel.pinned": gettext_noop("Fleet is pinned"),
    "panel.collector": gettext_noop("Collector isn’t running"),
}


def delivery_conditions(inputs: FleetInputs, now: datetime, is_open: Collection[str]) -> Iterator[Condition]:
    """Yield conditions for problems that delay the delivery of publications to nodes or that hide the nodes' state."""
    yield from _of_log_age(inputs.unencoded_since, now)
    yield from _of_waiting(inputs.waiting, now, is_open)
    yield from _of_delivery(inputs.delivery, now)
    if _collector_is_silent(inputs, now):
        message = gettext("The collector hasn’t run since the panel was set up, so the state of the nodes is unknown.")
        if inputs.collector_at:
            message = gettext("The collector hasn’t run for {time}, so the state of the nodes is unknown.").format(
                time=duration_text(now - inputs.collector_at)
            )
        yield Condition("panel.collector", "panel.collector", Severity.CRITICAL, message)


def _of_log_age(unencoded_since: datetime | None, now: datetime) -> Iterator[Condition]:
    if unencoded_since is not None and (age := now - unencoded_since) >= LOG_AGE:
        severity = Severity.CRITICAL if age >= LOG_AGE_CRITICAL else Severity.WARNING
        message = gettext("The oldest unencoded publication is {time} old, and nodes can’t get it yet.").format(
            time=duration_text(age)
        )
        yield Condition("panel.log_age", "panel.log_age", severity, message)


def _of_waiting(waiting: Waiting | None, now: datetime, is_open: Collection[str]) -> Iterator[Condition]:
    """Yield an alert if a publication has been waiting too long to be served by all nodes.

    If the cause is one late node, which has its own alert, `late_once` removes one of the two alerts.
    """
    late_by = waiting.late_by(now) if waiting is not None else timedelta(0)
    if waiting is None or late_by < (LATE_AGAIN if "panel.late" in is_open else LATE_AFTER):
        return
    severity = Severity.CRITICAL if late_by >= VERY_LATE_AFTER else Severity.WARNING
    yield Condition("panel.late", "panel.late", severity, describe(waiting, now))


def _of_delivery(delivery: DeliveryInputs, now: datetime) -> Iterator[Condition]:
    if delivery.stopped_reason:
        message = gettext("Delivery is stopped. Reason: {reason}").format(reason=delivery.stopped_reason)
        yield Condition("panel.stopped", "panel.stopped", Severity.CRITICAL, message)
    if delivery.pinned is not None and delivery.pinned_at is not None and now - delivery.pinned_at >= PINNED_FOR:
        message = (
            gettext("The fleet has been pinned at sequence {sequence:,} for {time} ({reason}).")
            if delivery.pinned_reason
            else gettext("The fleet has been pinned at sequence {sequence:,} for {time}.")
        ).format(sequence=delivery.pinned, time=duration_text(now - delivery.pinned_at), reason=delivery.pinned_reason)
        yield Condition("panel.pinned", "panel.pinned", Severity.WARNING, message)


def late_once(found: list[Condition], waiting: Waiting | None, is_open: Collection[str]) -> list[Condition]:
    """Keep only one of two alerts with the same cause: a late node, and publications that wait for this node.

    If only one of the two alerts is already open, keep that one. Otherwise, keep the node's alert.
    """
    key_of_node = f"node.standing:{waiting.name}" if waiting is not None and waiting.place not in BEFORE_NODES else ""
    if not {key_of_node, "panel.late"} <= {each.key for each in found}:
        return found
    second = key_of_node if "panel.late" in is_open and key_of_node not in is_open else "panel.late"
    return [each for each in found if each.key != second]


def _collector_is_silent(inputs: FleetInputs, now: datetime) -> bool:
    if not any(node.state in {NodeState.ACTIVE, NodeState.DRAINED} for node in inputs.nodes):
        return False
    heard_at = inputs.collector_at or inputs.set_up_at  # a panel that is just starting has not had the time
    return heard_at is None or now - heard_at > COLLECTOR_SILENT
