"""What happened to a node, one message each, for its page. Old ones are forgotten. Verbs."""

from datetime import datetime, timedelta

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.fleet.models import NodeEvent

KEPT = timedelta(days=90)


def note(*, node_id: int, kind: str, message: str, now: datetime, by: Author = None) -> None:
    """Record one more event of this node; part of the caller's transaction, if there is one."""
    NodeEvent.objects.create(node_id=node_id, at=now, kind=kind, sentence=message, by=user_of(by))


def forget_events(*, now: datetime) -> int:
    """Delete the events that are older than anybody asks for; return how many there were."""
    deleted, _ = NodeEvent.objects.filter(at__lt=now - KEPT).delete()
    return deleted
