"""Set the nodes and limits of fronts (dnsdist in front of nodes), and send these settings to their agents. Verbs.

All other code treats a front as a node: it enrolls, receives publications, acknowledges them and can be drained.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Author, Permission, user_of
from dnspanel.accounts.audit import audit
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import not_found
from dnspanel.fleet.errors import BadFront, WrongState
from dnspanel.fleet.models import Front, FrontBackend, Node, NodeState
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.signals import fronts_changed
from dnspanel.texts import gettext
from dnspanel.zones.rights import access
from replication.errors import ReplicationError
from replication.wire.front_messages import (
    MOST_BACKENDS,
    RANGES,
    Backend,
    Endpoint,
    FrontReport,
    FrontSettings,
    Told,
    front_report_in,
    is_weight,
)

ANSWER_SECONDS = 5.0
# A report's settings can be older than the last sent settings by this time.
REPORT_DELAY = timedelta(seconds=10)
# An agent that has been silent for this long is not tried every second.
HEARD_WITHIN = timedelta(seconds=15)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """The settings of a front, as in `FrontSettings`. `backends` maps the names of its nodes to their weights."""

    backends: Mapping[str, int] = field(default_factory=dict)
    minimum: int = 1
    most_behind: int = 0
    behind_seconds: float = 1.0
    queries_per_second: int = 0
    cache_entries: int = 0


def terms_of(node: Node) -> Terms:
    """Return the settings of this front. Raise WrongState for a node that isn't a front."""
    return _terms(_front_of(node, Front.objects.all()))


def set_terms(*, node: Node, terms: Terms, now: datetime, by: Author) -> None:
    """Change the settings of the front. The front's agent receives them within a second.

    Raise Forbidden if not permitted, BadFront for an invalid setting, or WrongState if the node isn't a front.
    """
    access.require(by, Permission.NODES)
    _check(terms)
    with transaction.atomic():
        front = _front_of(node, Front.objects.select_for_update())
        before = asdict(_terms(front))
        nodes = {each.name: each for each in _possible_backends().filter(name__in=terms.backends)}
        if unknown := [name for name in terms.backends if name not in nodes]:
            raise BadFront(
                "backends",
                not_found(
                    gettext("Node {unknown} wasn’t found or can’t be used by a front.").format(unknown=unknown[0])
                ),
            )
        FrontBackend.objects.filter(front=front).delete()
        FrontBackend.objects.bulk_create(
            FrontBackend(front=front, node=nodes[name], weight=weight) for name, weight in terms.backends.items()
        )
        Front.objects.filter(pk=front.pk).update(**{name: getattr(terms, name) for name in RANGES})
        after = asdict(terms)
        differing = [name for name in after if before[name] != after[name]]
        if differing:
            audit.record(
                action="front.change",
                by=by,
                now=now,
                target=node.name,
                before={name: before[name] for name in differing},
                after={name: after[name] for name in differing},
            )
        transaction.on_commit(lambda: fronts_changed.send_robust(sender=None), robust=True)
    logger.info("set front=%s by=%s", node.name, user_of(by) or "command line")


def backend_choices() -> Sequence[Node]:
    """Return the nodes that a front can send queries to, ordered by name."""
    return list(_possible_backends().order_by("name"))


def settings_of(fronts: Sequence[Front]) -> dict[int, FrontSettings]:
    """Return the settings to send to these fronts' agents, keyed by node id. Use a constant number of queries."""
    rows = FrontBackend.objects.filter(front__in=fronts).select_related("node").order_by("node__name")
    backends: dict[int, list[Backend]] = {front.pk: [] for front in fronts}
    for row in rows:
        if row.node.state != NodeState.RETIRED:
            endpoint = Endpoint(str(row.node.dns_address), row.node.dns_port)
            out = Told.of(_reason_out(row.node))
            backends[row.front_id].append(Backend(row.node.name, endpoint, row.weight, out.clause, out.spoken))
    return {
        front.pk: FrontSettings(tuple(backends[front.pk]), **{name: getattr(front, name) for name in RANGES})
        for front in fronts
    }


def push_settings(*, now: datetime) -> int:
    """Send changed settings to the fronts' agents. Return the number of agents that received them.

    If nothing changed, this takes two queries. The next call tries again if an agent can't be reached.
    """
    fronts = list(
        Front.objects.filter(node__state__in=(NodeState.ACTIVE, NodeState.DRAINED))
        .select_related("node")
        .order_by("pk")
    )
    if not fronts:
        return 0
    expected, sent = settings_of(fronts), 0
    for front in fronts:
        if _has(front, expected[front.pk], now):
            continue
        try:
            _push(front, expected[front.pk])
        except ReplicationError as exc:
            logger.warning("front=%s does not have its settings yet: %s", front.node.name, exc)
            continue
        Front.objects.filter(pk=front.pk).update(pushed=expected[front.pk].digest, pushed_at=now)
        sent += 1
    return sent


def follow_schemas(*, schemas: Collection[int]) -> None:
    """Switch fronts to segments of a schema that nodes use. Fronts can read every schema, and store no data."""
    if schemas:
        Node.objects.filter(is_front=True).exclude(schema__in=schemas).update(schema=min(schemas))


def report_of(node: Node) -> FrontReport | None:
    """Return the front's last report on its nodes, or None if it is missing or unreadable."""
    return front_report_in(node.report)


def _has(front: Front, expected: FrontSettings, now: datetime) -> bool:
    """Return True if no settings have to be sent: the agent already has the expected ones, or is silent."""
    node = front.node
    if node.contact_at is None or now - node.contact_at > HEARD_WITHIN or not node.certificate_sha256:
        return True
    if front.pushed != expected.digest:
        return False
    is_news = node.reported_at and front.pushed_at and node.reported_at - front.pushed_at > REPORT_DELAY
    reported = report_of(node)
    return not (is_news and reported is not None and reported.settings != expected.digest)


def _push(front: Front, expected: FrontSettings) -> None:
    node, context = front.node, client_ssl_context(ensure_authority(now=front.node.created_at))
    with client_of(node, context, answer_seconds=ANSWER_SECONDS) as client:
        client.set_up_front(expected)
    logger.info("settings pushed front=%s backends=%s", node.name, len(expected.backends))


def _reason_out(node: Node) -> str:
    """Return a sentence that explains why fronts must not use this node, or "" if the node's answers decide."""
    if node.state == NodeState.DRAINED:
        return (
            gettext("The node is drained. Reason: {drain_reason}").format(drain_reason=node.drain_reason)
            if node.drain_reason
            else gettext("The node is drained.")
        )
    if node.state != NodeState.ACTIVE:
        return gettext("The node is not enrolled.")
    if node.refusal or node.other_machine:
        return gettext("The node rejects updates. Reason: {reason}").format(
            reason=node.refusal or gettext("two machines use this node’s identity")
        )
    return ""


def _possible_backends() -> "QuerySet[Node]":
    return Node.objects.filter(is_front=False, is_ring0=False).exclude(state=NodeState.RETIRED)


def _terms(front: Front) -> Terms:
    # Retired nodes are excluded, because a node in the fleet can have the same name.
    backends = front.backends.exclude(node__state=NodeState.RETIRED)
    weights = backends.order_by("node__name").values_list("node__name", "weight")
    return Terms(dict(weights), **{name: getattr(front, name) for name in RANGES})


def _front_of(node: Node, rows: "QuerySet[Front]") -> Front:
    return first_or(rows.filter(node=node), lambda: WrongState(node.name, gettext("is not a front")))


def _check(terms: Terms) -> None:
    """Raise BadFront for the first invalid setting."""
    if len(terms.backends) > MOST_BACKENDS:
        raise BadFront(
            "backends", gettext("A front can use at most {most_backends} nodes.").format(most_backends=MOST_BACKENDS)
        )
    for name, weight in terms.backends.items():
        if not is_weight(weight):
            raise BadFront(
                "backends", gettext("The weight of {name} must be a number from 1 to 1000.").format(name=name)
            )
    for name, (lowest, highest) in RANGES.items():
        if not lowest <= getattr(terms, name) <= highest:
            raise BadFront(
                name,
                gettext("Enter a number from {lowest:g} to {highest:,.10g}.").format(lowest=lowest, highest=highest),
            )
