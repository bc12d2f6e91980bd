"""Take the counts of questions for each RRset from the nodes, and store them. Verbs."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from django.conf import settings

from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.zones.store import store_queries
from replication.errors import ReplicationError
from replication.wire.protocol import QueryReport

_ANSWER_SECONDS = 10.0

logger = logging.getLogger(__name__)


def take_reports(*, now: datetime) -> int:
    """Store a report of each node that answers queries. Return their number. If counting is off, delete all counts.

    A node whose report can't be stored sends it again. Only one worker runs this at a time.
    """
    if not settings.COUNT_QUERIES:
        store_queries.remove_all_counts(now=now)
        return 0
    store_queries.remove_counts(before=now - timedelta(days=store_queries.KEPT_DAYS))
    nodes = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_front=False, is_ring0=False)
    taken = store_queries.note_nodes(nodes={node.pk: node.name for node in nodes}, now=now)
    context = client_ssl_context(ensure_authority(now=now))

    def ask(node: Node) -> QueryReport | None:
        try:
            with client_of(node, context, answer_seconds=_ANSWER_SECONDS) as client:
                return client.query_report(taken[node.pk])
        except ReplicationError as exc:
            logger.warning("no counts of questions node=%s: %s", node.name, exc)
            return None

    count = 0
    with ThreadPoolExecutor(8, thread_name_prefix="query-reports") as pool:
        for node, report in zip(nodes, pool.map(ask, nodes), strict=True):
            if report is not None:
                store_queries.store_report(node_id=node.pk, report=report, now=now)
                count += 1
    return count
