"""Record the events on a node's page, and delete old events. Verbs."""

from datetime import datetime, timedelta

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.fleet.models import NodeEvent

KEPT = timedelta(days=90)


def note(*, node_id: int, kind: str, message: str, now: datetime, by: Author = None) -> None:
    """Record an event for this node, within the caller's transaction if there is one."""
    NodeEvent.objects.create(node_id=node_id, at=now, kind=kind, sentence=message, by=user_of(by))


def forget_events(*, now: datetime) -> int:
    """Delete events older than KEPT, and return their number."""
    deleted, _ = NodeEvent.objects.filter(at__lt=now - KEPT).delete()
    return deleted
