"""Set up nodes for ALIAS and LUA, which PowerDNS computes, and explain why nodes can't answer them. Verbs.

A node restarts its PowerDNS when its resolver or its LUA setting changes. Nodes are changed one after another, ring 0
first. The run stops at the first PowerDNS that doesn't start again.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.fleet import events
from dnspanel.fleet.models import Node, NodeEvent, NodeGroup, NodeState
from dnspanel.fleet.node_health import OFFLINE_AFTER
from dnspanel.fleet.nodes.authority import client_of, client_ssl_context, ensure_authority
from dnspanel.fleet.nodes.reported import describe_computed, reported_types
from dnspanel.texts import gettext, joined
from dnspanel.zones.rules.computed_types import COMPUTED, SET_UP
from replication.dns import rdata, rdtypes
from replication.errors import NotServed, ReplicationError
from replication.wire.protocol import ComputedTypes

_MOST_NAMED = 3
_EVENT = "computed"

logger = logging.getLogger(__name__)


def choices_of(nodes: Sequence[Node]) -> dict[int, ComputedTypes]:
    """Return settings for computed types, keyed by node id. Ring 0 and groups without a resolver use the fleet's."""
    groups: dict[int | None, str] = {group.pk: group.resolver for group in NodeGroup.objects.order_by("order")}
    last = next(reversed(groups.values()), "")  # nodes without a group belong to the last one
    resolvers = {None: last, **groups}
    return {
        node.pk: ComputedTypes(
            (not node.is_ring0 and resolvers[node.group_id]) or settings.ALIAS_RESOLVER, settings.ALLOW_LUA_RECORDS
        )
        for node in nodes
    }


def set_up(*, now: datetime) -> list[str]:
    """Apply the chosen settings to every active node that reported recently. Return the names of the changed nodes.

    If another worker runs this, return an empty list. If a node's agent refuses or can't be reached, the next call
    tries again. If a PowerDNS doesn't start again, the remaining nodes are left for later.
    """
    with hold_lock(Lock.COMPUTED_TYPES) as is_mine:
        return [node.name for node in _set_up(now)] if is_mine else []


def _set_up(now: datetime) -> Iterator[Node]:
    heard = list(_answering_nodes().filter(reported_at__gt=now - OFFLINE_AFTER, state=NodeState.ACTIVE))
    choices = choices_of(heard)
    due = [node for node in heard if node.report.get("takes_computed_types") and _is_due(node, choices[node.pk])]
    if not due:
        return
    context = client_ssl_context(ensure_authority(now=now))
    for node in due:
        chosen = choices[node.pk]
        try:
            with client_of(node, context) as client:
                client.choose_computed_types(chosen)
        except NotServed as exc:
            logger.error("PowerDNS did not come back node=%s: %s", node.name, exc)
            message = gettext(
                "PowerDNS didn’t restart correctly after ALIAS and LUA were set up: {exc}. No other nodes will be "
                "set up."
            ).format(exc=exc)
            _note_once(node, message, now)
            return
        except ReplicationError as exc:
            logger.warning("cannot set up ALIAS and LUA node=%s: %s", node.name, exc)
        else:
            # Without this, the node would be due again until its agent is asked for its status.
            report = {**node.report, "computed_types": chosen.to_json(), "serves_stored_keys": True}
            Node.objects.filter(pk=node.pk).update(report=report)
            message = gettext("PowerDNS reconfigured: {types}.").format(types=describe_computed(chosen))
            _note_once(node, message, now)
            yield node


def _note_once(node: Node, message: str, now: datetime) -> None:
    """Record an event for the node, unless it repeats the last one. Failed attempts repeat every few seconds."""
    latest = NodeEvent.objects.filter(node=node, kind=_EVENT).order_by("-id").first()
    if latest is None or latest.sentence != message:
        events.note(node_id=node.pk, kind=_EVENT, message=message, now=now)


def reasons_against(types: Collection[int]) -> dict[int, str]:
    """Return a clause, with node names, for each type that some nodes can't answer.

    If no node answers queries yet, return one only for ALIAS, if no resolver is configured.
    """
    concerned = SET_UP.intersection(types)
    nodes = list(_answering_nodes()) if concerned else []
    found = {}
    for type in sorted(concerned):
        if not nodes and type == rdtypes.ALIAS and not settings.ALIAS_RESOLVER:
            found[type] = gettext(
                "ALIAS queries aren’t answered because no resolver is configured (PANEL_ALIAS_RESOLVER)"
            )
        problems = [(node.name, problem) for node in nodes if (problem := _problem(node, type))]
        if problems:
            named = [joined("", (name, " (", problem, ")")) for name, problem in problems[:_MOST_NAMED]]
            if len(problems) > _MOST_NAMED:
                named.append(gettext("and {count} more").format(count=len(problems) - _MOST_NAMED))
            found[type] = gettext("some nodes don’t answer {type}: {nodes}").format(
                type=rdata.type_to_text(type), nodes=joined(", ", named)
            )
    return found


def answer_who_asks(*, types: Collection[int], **_: Any) -> dict[int, str]:
    """Return `reasons_against` in response to a signal of `zones`, because that package doesn't depend on nodes."""
    return reasons_against(types)


def _problem(node: Node, type: int) -> str:
    """Return the reason why this node can't answer the type, or "" if it can."""
    report: dict[str, Any] = node.report
    if not report:
        return gettext("no report yet")
    if type not in COMPUTED:
        return "" if report.get("serves_stored_keys") else gettext("direct-dnskey=yes is not set in PowerDNS")
    if "computed_types" not in report:
        return gettext("the agent is too old")
    found = reported_types(node)
    if found is None:
        return gettext("no report from PowerDNS yet")
    if type == rdtypes.LUA:
        return "" if found.lua else gettext("LUA is off")
    return str(report.get("resolver_problem", "")) if found.resolver else gettext("no resolver configured")


def _is_due(node: Node, choice: ComputedTypes) -> bool:
    """Return True if the node must be set up.

    This includes nodes that don't serve stored keys, because an older agent wrote a pdns.conf without direct-dnskey.
    """
    found = reported_types(node)
    return found is not None and (found != choice or node.report.get("serves_stored_keys") is False)


def _answering_nodes() -> "QuerySet[Node]":
    """Select the nodes that answer DNS queries, with ring 0 first."""
    nodes = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_front=False)
    return nodes.order_by("-is_ring0", "name")
