"""API resources for the settings of a front's dnsdist, and for the state of the nodes behind the front."""

from dataclasses import asdict, replace
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.view import V2View, answer, api_operation
from dnspanel.api.v2.resources.nodes import node_name
from dnspanel.api.v2.schema.fields import Integer, Members, Shape, read
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import fronts, node_lifecycle
from dnspanel.zones.rights import access
from replication.wire.front_messages import MOST_BACKENDS, MOST_WEIGHT, RANGES


def _most(name: str) -> int:
    return int(RANGES[name][1])


class FrontBackendSerializer(serializers.Serializer):
    """A node behind a front, with the state that the front's dnsdist reports."""

    name = serializers.CharField()
    address = serializers.CharField()
    weight = serializers.IntegerField(help_text="Relative share of the queries.")
    is_in = serializers.BooleanField(help_text="True if dnsdist sends queries to the node.")
    is_up = serializers.BooleanField(help_text="True if the node passes dnsdist's health check.")
    reason = serializers.CharField(help_text="Reason why the node is in or out of rotation.")
    sequence = serializers.IntegerField(help_text="Last publication that the node confirmed.")
    behind = serializers.IntegerField(help_text="Number of missing publications.")
    queries = serializers.IntegerField(help_text="Queries since the start of dnsdist.")
    qps = serializers.FloatField()
    drops = serializers.IntegerField(help_text="Number of queries without an answer.")
    latency_ms = serializers.FloatField()


class FrontSerializer(Shape):
    """The settings of a front (a dnsdist), and the state of the nodes behind it."""

    backends = Members(
        most=MOST_BACKENDS,
        child=Integer(min_value=1, max_value=MOST_WEIGHT),
        required=False,
        help_text=f"Weight of each node that gets queries, by name; at most {MOST_BACKENDS} nodes.",
    )
    minimum = Integer(
        required=False,
        min_value=1,
        max_value=_most("minimum"),
        help_text="Least number of answering nodes that stay in rotation, however far behind.",
    )
    most_behind = Integer(
        required=False,
        min_value=0,
        max_value=_most("most_behind"),
        help_text="Limit of missing publications. A node beyond it for `behind_seconds` gets no queries.",
    )
    behind_seconds = serializers.FloatField(
        required=False,
        min_value=RANGES["behind_seconds"][0],
        max_value=RANGES["behind_seconds"][1],
        help_text="Seconds for which a node can lack more than `most_behind` publications.",
    )
    queries_per_second = Integer(
        required=False,
        min_value=0,
        max_value=_most("queries_per_second"),
        help_text="Queries per second from one address over UDP; 0: no limit.",
    )
    cache_entries = Integer(
        required=False,
        min_value=0,
        max_value=_most("cache_entries"),
        help_text="Number of answers in dnsdist's cache; 0: no cache.",
    )
    nodes = FrontBackendSerializer(many=True, read_only=True, help_text="State in the agent's last report.")


class OneFront(V2View):
    @api_operation("getFront", FrontSerializer)
    def get(self, request: Request, name: str) -> HttpResponse:
        """Read a front.

        Returns the settings of the front's dnsdist and the state of the nodes behind the front. Needs the permission
        `fleet`.
        """
        access.require(self.actor, Permission.FLEET)
        return _answer(_front(name))

    @api_operation("changeFront", FrontSerializer, request=FrontSerializer)
    def patch(self, request: Request, name: str) -> HttpResponse:
        """Change a front.

        Sets the nodes that the front queries, and the front's limits. The front's agent applies the change within a
        second. Fields that the request body omits stay unchanged; `backends` is replaced as a whole. Needs the
        permission `nodes`.
        """
        access.require(self.actor, Permission.FLEET)
        node = _front(name)
        access.require(self.actor, Permission.NODES)
        values = read(FrontSerializer, request.data, partial=True)
        with conditional_write(request, f"front/{node.pk}", lambda: _set(node)):
            terms = replace(fronts.terms_of(node), **values)
            fronts.set_terms(node=node, terms=terms, now=timezone.now(), by=self.actor)
        return _answer(node)


def _front(name: str) -> Node:
    """Return the front with this name. Raise UnknownNode if no node has the name, or Problem if it isn't a front."""
    node = node_lifecycle.node_by_name(node_name(name))
    if not node.is_front:
        raise Problem("not-found", f"{name} is not a front.")
    return node


def _set(node: Node) -> dict[str, Any]:
    """Return the settings that a front's ETag covers, without the nodes' state, which changes every second."""
    return asdict(fronts.terms_of(node))


def _answer(node: Node) -> HttpResponse:
    report = fronts.report_of(node)
    is_set = _set(node)
    nodes = [asdict(backend) for backend in report.backends] if report else []
    for each in nodes:
        del each["spoken"]
    return answer(is_set | {"nodes": nodes}, headers={"ETag": tag_of(is_set)})
