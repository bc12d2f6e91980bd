"""Conditions for certificates of a node or of the panel that expire soon. Pure."""

from datetime import datetime, timedelta

from dnspanel.conditions import Condition, Severity
from dnspanel.durations import duration_text
from dnspanel.fleet.conditions.condition_inputs import NodeInputs
from dnspanel.texts import gettext

CERTIFICATE_SOON, CERTIFICATE_NOW = timedelta(days=30), timedelta(days=7)


def certificate_condition(
    expires_at: datetime | None, key: str, now: datetime, node: NodeInputs | None = None
) -> Condition | None:
    if expires_at is None or (left := expires_at - now) > CERTIFICATE_SOON:
        return None
    severity = Severity.CRITICAL if left <= CERTIFICATE_NOW else Severity.WARNING
    if node is None:
        message = (
            gettext("The panel’s certificate expires in {time}, on {day}. Automatic renewal failed.")
            if left > timedelta(0)
            else gettext("The panel’s certificate expired {time} ago, on {day}. Automatic renewal failed.")
        )
    else:
        message = (
            gettext("{name}’s certificate expires in {time}, on {day}. Automatic renewal failed.")
            if left > timedelta(0)
            else gettext("{name}’s certificate expired {time} ago, on {day}. Automatic renewal failed.")
        )
    message = message.format(
        name=node.name if node else "", time=duration_text(abs(left)), day=expires_at.date().isoformat()
    )
    return Condition(key, key.partition(":")[0], severity, message, node.node_id if node else None)
