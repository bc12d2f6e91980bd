"""Maintain the log according to the nodes' needs. The package `publish` doesn't depend on nodes."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import Min, Q

from dnspanel.fleet.models import Bootstrap, Node, NodeState
from dnspanel.fleet.nodes.fronts import follow_schemas
from dnspanel.fleet.push import acks
from dnspanel.fleet.rollout.gates import with_limit
from dnspanel.publish.files.snapshots import due_schemas, make_snapshot
from dnspanel.publish.reading.schemas import keep_schemas, schemas_in_use
from dnspanel.publish.storage.consolidate import consolidate
from dnspanel.publish.storage.prune import prune_log
from dnspanel.zones.models import LogHead
from replication.errors import ReplicationError

ACKS_KEPT = timedelta(days=30)

logger = logging.getLogger(__name__)


def maintain_log(*, now: datetime) -> None:
    """Maintain the log: follow the nodes' schemas, make due snapshots, merge segments, delete old segments and acks.

    If making a snapshot, merging or pruning fails, for example because storage is unreachable, the other steps still
    run. The next call repeats the step.
    """
    schemas = schemas_of_nodes()
    follow_schemas(schemas=schemas)
    keep_schemas(schemas=schemas, now=now)
    for schema in due_schemas(schemas=schemas_in_use(), now=now):
        _attempt("a snapshot", lambda schema=schema: make_snapshot(schema=schema, now=now))  # type: ignore[misc]
    _attempt("merging", lambda: consolidate(up_to=lowest_limit(), now=now))
    _attempt("pruning", lambda: prune_log(needed=needed_by_schema(), now=now))
    acks.forget_acks(before=now - ACKS_KEPT)


def schemas_of_nodes() -> set[int]:
    """Return the schemas that nodes, except fronts, use now or will use after a requested snapshot."""
    present = Node.objects.filter(is_front=False).exclude(state=NodeState.RETIRED).values_list("schema", flat=True)
    return {*present, *Bootstrap.objects.values_list("schema", flat=True)}


def needed_by_schema() -> dict[int, int]:
    """Return the sequence that every node has reached in the current epoch, keyed by schema.

    Nodes without a position or in another epoch don't count: they get a snapshot and need no earlier segments.
    """
    head = LogHead.objects.get()
    takes_more = Q(state__in=(NodeState.ACTIVE, NodeState.DRAINED), epoch=head.epoch)
    slowest = Node.objects.filter(takes_more).order_by().values_list("schema").annotate(Min("acked"))
    return dict(slowest)


def lowest_limit() -> int | None:
    """Return the lowest limit of any node, or None if no node has a limit."""
    nodes = with_limit(Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED)))
    limits = [limit for limit in nodes.values_list("limit", flat=True) if limit is not None]
    return min(limits, default=None)


def _attempt(what: str, act: Callable[[], object]) -> None:
    try:
        act()
    except (ReplicationError, OSError) as exc:
        logger.warning("%s is put off: %s", what, exc)
