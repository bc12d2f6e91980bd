"""API resources for nodes: their state, their statistics over time, and actions such as drain and retire."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.fault_texts import quote_text
from dnspanel.api.v2.http.pages import page_answer
from dnspanel.api.v2.http.problems import Problem, bad_choice, bad_parameter, bad_value
from dnspanel.api.v2.http.representation import code_of
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, no_content, query_parameter
from dnspanel.api.v2.schema.fields import Integer, Shape, Text, page_of, read
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import NOT_FOUND
from dnspanel.fleet import resync, telemetry
from dnspanel.fleet.errors import UnknownNode
from dnspanel.fleet.models import Node, NodeGroup, NodeState
from dnspanel.fleet.node_health import Word
from dnspanel.fleet.nodes import node_lifecycle, unjoined
from dnspanel.fleet.nodes.agent_upgrades import UpgradeState, upgrade_agent, upgrade_state
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.fleet.nodes.reported_setup import setup_differences
from dnspanel.fleet.reads.queries import NodeStatus, head, node_status, watched_statuses
from dnspanel.fleet.rollup import LEVELS, Level, points_of
from dnspanel.zones.rights import access

ACTS: dict[str, Callable[..., Any]] = {
    "approve": node_lifecycle.approve,
    "decline": node_lifecycle.decline,
    "drain": node_lifecycle.drain,
    "resume": node_lifecycle.resume,
    "retire": node_lifecycle.retire,
    "revoke": node_lifecycle.revoke,
    "resync": resync.resync,
    "check": resync.check_now,
    "upgrade": upgrade_agent,
}
# The fields that a node's tag covers. Statistics change every second, so the tag does not cover them.
_STABLE = ("name", "state", "dns_address", "dns_port", "agent_host", "agent_port", "schema", "fingerprint")


class LiveSerializer(serializers.Serializer):
    """The statistics of a node for the latest second.

    Unknown values are null.
    """

    at = serializers.IntegerField(help_text="Seconds since 1970.")
    qps = serializers.FloatField(allow_null=True)
    rcodes = serializers.DictField(child=serializers.FloatField(), help_text="Answers per second by response code.")
    latency_ms = serializers.FloatField(allow_null=True)
    cache_hit = serializers.FloatField(allow_null=True, help_text="Share of answers from the cache, from 0 to 1.")


class NodeSerializer(serializers.Serializer):
    """A node, its position in the change log and its live statistics."""

    name = serializers.CharField()
    slug = serializers.CharField(
        help_text="Name in paths. The name of a retired node ends in `_` and a number, because names can be used again."
    )
    is_front = serializers.BooleanField(help_text="True for a front (dnsdist). Its nodes are at `…/front`.")
    is_ring0 = serializers.BooleanField(help_text="The canary, which gets publications first and serves no clients.")
    state = serializers.ChoiceField(
        choices=NodeState.choices, help_text="Stage: waiting for approval, active, drained or retired."
    )
    health = serializers.ChoiceField(
        choices=[(code_of(word), code_of(word)) for word in Word], help_text="Health of the node, in one word."
    )
    sentence = serializers.CharField(help_text="Explanation of `health`.")
    dns_address = serializers.CharField(help_text="Address for DNS queries.")
    dns_port = serializers.IntegerField(help_text="Port for DNS queries.")
    agent_host = serializers.CharField(help_text="Name or address of the agent.")
    agent_port = serializers.IntegerField(help_text="Port of the agent.")
    schema = serializers.IntegerField(help_text="Version of the LMDB schema.")
    group = serializers.CharField(allow_null=True, help_text="Group for the order of publications; null: the last.")
    tags = serializers.ListField(child=serializers.CharField())
    public_addresses = serializers.ListField(
        child=serializers.CharField(), help_text="Addresses for resolvers; empty: `dns_address`."
    )
    drain_reason = serializers.CharField(help_text="Reason of the pause in updates.")
    drained_until = serializers.DateTimeField(
        allow_null=True, help_text="Time when updates continue; null: when a person resumes them."
    )
    powerdns = serializers.CharField(help_text="Running release of PowerDNS; empty: unknown.")
    agent = serializers.CharField(help_text="Version of the agent; empty: unknown.")
    agent_is_older = serializers.BooleanField(
        allow_null=True, help_text="True if the agent is older than the panel; null: unknown."
    )
    upgrade = serializers.ChoiceField(
        choices=[(str(state), str(state)) for state in UpgradeState],
        help_text="Upgrade of the agent to the panel's version; `unavailable`: the panel can't upgrade this agent.",
    )
    upgrade_message = serializers.CharField(help_text="Reason of `upgrade`; can be empty.")
    is_answering = serializers.BooleanField(help_text="True if PowerDNS answers with all data of the node's files.")
    setup_differences = serializers.ListField(
        child=serializers.CharField(), help_text="Differences of the server's setup from the panel's, in sentences."
    )
    remarks = serializers.ListField(
        child=serializers.CharField(), help_text="Remarks about the node, in a few words each."
    )
    sequence = serializers.IntegerField(help_text="Last publication that the node confirmed.")
    head = serializers.IntegerField(help_text="Newest publication.")
    lag = serializers.IntegerField(help_text="Number of missing publications.")
    lag_seconds = serializers.FloatField(help_text="Seconds for which publications have been missing.")
    contact_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last response to the panel.")
    acked_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last confirmation of a publication.")
    certificate_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="Expiry time of the client certificate."
    )
    fingerprint = serializers.CharField(
        allow_null=True,
        help_text="Fingerprint of the join request that waits for approval. Compare it with the agent's output.",
    )
    live = LiveSerializer(allow_null=True)


class PointSerializer(serializers.Serializer):
    """The statistics of a node for one second, minute or hour, as rates per second.

    If there is no data for this time, only the time is set.
    """

    at = serializers.IntegerField(help_text="Seconds since 1970.")
    qps = serializers.FloatField(allow_null=True)
    noerror = serializers.FloatField(allow_null=True)
    nxdomain = serializers.FloatField(allow_null=True)
    servfail = serializers.FloatField(allow_null=True)
    other = serializers.FloatField(allow_null=True, help_text="Answers with other response codes, per second.")
    latency_ms = serializers.FloatField(allow_null=True)
    cache_hit = serializers.FloatField(allow_null=True, help_text="Share of answers from the cache, from 0 to 1.")
    udp4 = serializers.FloatField(allow_null=True, help_text="Queries over UDP and IPv4, per second.")
    tcp4 = serializers.FloatField(allow_null=True, help_text="Queries over TCP and IPv4, per second.")
    udp6 = serializers.FloatField(allow_null=True, help_text="Queries over UDP and IPv6, per second.")
    tcp6 = serializers.FloatField(allow_null=True, help_text="Queries over TCP and IPv6, per second.")


class PointsSerializer(serializers.Serializer):
    """The statistics of a node over time, oldest first.

    To get newer data, send another request with `after` set to the last `at`.
    """

    now = serializers.FloatField()
    points = PointSerializer(many=True)


class NodeActSerializer(Shape):
    """The fields that actions on a node need."""

    fingerprint = Text(
        required=False, max_length=64, help_text="For `approve`: the fingerprint that the agent printed."
    )
    reason = Text(required=False, max_length=200, help_text="For `drain`: the reason.")
    until = serializers.DateTimeField(
        required=False, help_text="For `drain`: time when updates continue; omitted: when a person resumes them."
    )


class NodePatchSerializer(Shape):
    """The fields that can be changed in a node that has not joined.

    A node that has joined can be changed only on the panel's page.
    """

    name = Text(required=False, max_length=63)
    dns_address = Text(required=False, max_length=45, help_text="Address for DNS queries.")
    dns_port = Integer(required=False, help_text="Port for DNS queries.")
    agent_host = Text(required=False, max_length=253, help_text="Name or address of the agent.")
    agent_port = Integer(required=False, help_text="Port of the agent.")
    schema = Integer(required=False, help_text="Version of the LMDB schema.")
    group = Text(required=False, allow_null=True, max_length=63, help_text="Name of the group; null: the last.")
    tags = serializers.ListField(child=Text(max_length=32), required=False, max_length=100)


class Nodes(V2View):
    @api_operation("listNodes", page_of(NodeSerializer))
    def get(self, request: Request) -> HttpResponse:
        """List nodes.

        Lists all nodes except retired ones, with state, position and live statistics, on one page. Needs the permission
        `fleet`.
        """
        access.require(self.actor, Permission.FLEET)
        statuses = watched_statuses(now=timezone.now())
        return page_answer(request, _nodes_json(statuses))


class OneNode(V2View):
    @api_operation("getNode", NodeSerializer)
    def get(self, request: Request, name: str) -> HttpResponse:
        """Read a node.

        Returns the node's state, position and live statistics. Needs the permission `fleet`.
        """
        access.require(self.actor, Permission.FLEET)
        return _answer(_node_json(name))

    @api_operation("changeNode", NodeSerializer, request=NodePatchSerializer)
    def patch(self, request: Request, name: str) -> HttpResponse:
        """Change a node that has not joined.

        Changes the node's name, addresses, group or tags. An unused enrollment code becomes invalid. Returns 409 for a
        node that has joined. Needs the permission `nodes`.
        """
        actor, node = _to_change(request, name)
        values = read(NodePatchSerializer, request.data)
        if "group" in values:
            values["group"] = _group(values["group"])
        with conditional_write(request, f"node/{node.pk}", lambda: _stable(_node_json(name))):
            unchanged = {field: getattr(node, field) for field in NodePatchSerializer().fields if field not in values}
            described = node_lifecycle.NodeDescription(**unchanged, **values)
            changed = unjoined.change_node(node=node, described=described, now=timezone.now(), by=actor)
        return _answer(_node_json(changed.name))

    @api_operation("deleteNode", {204: None})
    def delete(self, request: Request, name: str) -> HttpResponse:
        """Delete a node that has not joined.

        The name of the node can be used again. Returns 409 for a node that has joined; use the action `retire` of
        `actOnNode` instead. Needs the permission `nodes`.
        """
        actor, node = _to_change(request, name)
        with conditional_write(request, f"node/{node.pk}", lambda: _stable(_node_json(name))):
            unjoined.remove_node(node=node, now=timezone.now(), by=actor)
        return no_content()


class NodePoints(V2View):
    @api_operation(
        "getNodePoints",
        PointsSerializer,
        query_parameter("after", "For `second`: only points after this Unix time.", {"type": "number", "minimum": 0}),
        query_parameter(
            "step",
            "Seconds of the last hour, minutes of the last day, or hours of the last 30 days.",
            {"type": "string", "enum": ["second", *LEVELS], "default": "second"},
        ),
    )
    def get(self, request: Request, name: str) -> HttpResponse:
        """Read the statistics of a node.

        Returns queries, response codes, latency and cache hits over the last hour, day or month, oldest first. Needs
        the permission `fleet`.
        """
        access.require(self.actor, Permission.FLEET)
        node = node_lifecycle.node_by_name(node_name(name))
        after, level = _after(request.query_params.get("after", "0")), _level(request.query_params.get("step", ""))
        points = points_of(node.pk, level, after=after)
        return answer({"now": timezone.now().timestamp(), "points": [point._asdict() for point in points]})


class NodeAct(V2View):
    """View that runs an action on a node, such as drain or retire."""

    conditional = True

    @api_operation(
        "actOnNode",
        NodeSerializer,
        OpenApiParameter("act", str, OpenApiParameter.PATH, enum=list(ACTS)),
        request=NodeActSerializer,
    )
    def post(self, request: Request, name: str, act: str) -> HttpResponse:
        """Approve, decline, drain, resume, resync, check, upgrade, revoke or retire a node.

        Needs the permission `nodes`. `approve` and `decline` decide on a node's request to join. `approve` needs the
        `fingerprint` that the node's agent printed. A drained node receives no changes and continues to serve its
        current data until `resume`.

        `resync` sends a whole snapshot. `check` makes the node read and compare every row. `upgrade` sends the agent's
        package of the panel's version; the node's field `upgrade` shows the result. `revoke` revokes the node's
        certificate. `retire` removes the node permanently.
        """
        actor, node = _to_change(request, name)
        values = read(NodeActSerializer, request.data)
        if act not in ACTS:
            raise Problem("not-found", f"There is no act {act[:40]}.")
        with conditional_write(request, f"node/{node.pk}", lambda: _stable(_node_json(name))):
            if act == "approve":
                _require_fingerprint(node, values.get("fingerprint"))
            drained = {"reason": values.get("reason", ""), "until": values.get("until")} if act == "drain" else {}
            ACTS[act](node=node, now=timezone.now(), by=actor, **drained)
        return _answer(_node_json(node.slug))


def node_name(name: str) -> str:
    """Return the name from a path. Raise UnknownNode for a NUL character, which PostgreSQL can't look up."""
    if "\0" in name:
        raise UnknownNode(ascii(name))
    return name


def _to_change(request: Request, name: str) -> tuple[Actor, Node]:
    """Return the caller and the node. Raise UnknownNode, or Forbidden without the permission `fleet` or `nodes`."""
    actor = actor_in(request)
    access.require(actor, Permission.FLEET)
    node = node_lifecycle.node_by_name(node_name(name))
    access.require(actor, Permission.NODES)
    return actor, node


def _group(name: str | None) -> NodeGroup | None:
    """Return the node group with this name, or None if `name` is None. Raise Problem for an unknown group."""
    if name is None:
        return None
    return first_or(
        NodeGroup.objects.filter(name=name),
        lambda: bad_value("/group", f"There is no node group {quote_text(name)}.", NOT_FOUND),
    )


def _answer(value: dict[str, Any]) -> HttpResponse:
    return answer(value, headers={"ETag": tag_of(_stable(value))})


def _stable(value: dict[str, Any]) -> dict[str, Any]:
    return {name: value[name] for name in _STABLE}


def _nodes_json(statuses: tuple[NodeStatus, ...]) -> list[dict[str, Any]]:
    live = telemetry.live_now([status.node.pk for status in statuses])
    newest = head().sequence
    return [_json(status, newest, live.get(status.node.pk)) for status in statuses]


def _node_json(name: str) -> dict[str, Any]:
    return _nodes_json((node_status(name=node_name(name), now=timezone.now()),))[0]


def _json(status: NodeStatus, newest: int, live: telemetry.LiveNow | None) -> dict[str, Any]:
    node = status.node
    reported = read_report(node)
    upgrade, upgrade_message = upgrade_state(node)
    waiting = node_lifecycle.request_of(node) if node.state == NodeState.AWAITING_APPROVAL else None
    return row_json(
        NodeSerializer,
        node,
        health=code_of(status.health.word),
        sentence=status.health.message,
        group=node.group.name if node.group else None,
        powerdns=reported.powerdns,
        agent=reported.agent,
        agent_is_older=reported.is_older,
        upgrade=str(upgrade),
        upgrade_message=upgrade_message,
        is_answering=reported.is_answering,
        setup_differences=list(setup_differences(node, is_rebuilding=hasattr(node, "bootstrap"))),
        remarks=list(reported.remarks),
        sequence=node.acked,
        head=newest,
        lag=status.health.lag,
        lag_seconds=status.health.lag_seconds,
        fingerprint=waiting.csr_sha256 if waiting else None,
        live=None if live is None else row_json(LiveSerializer, live, rcodes=dict(live.rcodes)),
    )


def _require_fingerprint(node: Any, sent: str | None) -> None:
    waiting = node_lifecycle.request_of(node)
    if waiting is not None and waiting.csr_sha256 != sent:
        raise bad_value("/fingerprint", "This is not the request's fingerprint. Send the one that the agent printed.")


def _level(text: str) -> Level | None:
    """Return the statistics level of the step, or None if the step is a second. Raise Problem if it is unknown."""
    if text not in {"", "second", *LEVELS}:
        raise bad_choice("step", text, ("second", *LEVELS))
    return LEVELS.get(text)


def _after(text: str) -> float:
    try:
        after = float(text)
    except ValueError:
        after = -1.0
    if not 0 <= after < 2**40:
        raise bad_parameter("after", "`after` must be a time in seconds since 1970.")
    return after
