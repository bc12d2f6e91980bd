"""`/statistics`: PowerDNS's counters, summed over all active nodes except the canary and fronts.

Counters start when the panel begins to collect them. They are reset to 0 when the panel's Redis is emptied, like a
server's counters when it restarts. The latency is the average of these nodes, and the uptime is the minimum.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Permission
from dnspanel.api.v1.view import PowerdnsView, Refusal, actor_in, answer, flag_in
from dnspanel.fleet import telemetry
from dnspanel.fleet.models import Node, NodeState
from dnspanel.zones.rights import access

_COUNTERS = {
    "udp-queries": "udp",
    "tcp-queries": "tcp",
    "packetcache-hit": "packet_hits",
    "packetcache-miss": "packet_misses",
    "query-cache-hit": "query_hits",
    "query-cache-miss": "query_misses",
    "noerror-packets": "rcode:NOERROR",
    "nxdomain-packets": "rcode:NXDOMAIN",
    "servfail-packets": "rcode:SERVFAIL",
    "real-memory-usage": "memory_bytes",
}
# PowerDNS's texts for the response codes in a `Sample`.
_RCODES = {
    "NOERROR": "No Error",
    "FORMERR": "Form Error",
    "SERVFAIL": "Server Failure",
    "NXDOMAIN": "Non-Existent domain",
    "NOTIMP": "Not Implemented",
    "REFUSED": "Query Refused",
    "NOTAUTH": "Not Authoritative",
}


class Statistics(PowerdnsView):
    """All statistics, or only the one selected by `statistic`. Rings aren't included."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        access.require(actor_in(request), Permission.FLEET)
        flag_in(request, "includerings", default=True)
        totals = fleet_totals()
        values = fleet_values(totals)
        if name := request.GET.get("statistic", ""):
            if name not in values:
                raise Refusal(422, "Unknown statistic name")
            return answer([_item(name, values[name])])
        rcodes = {"name": "response-by-rcode", "type": "MapStatisticItem", "value": _by_rcode(totals)}
        return answer([*(_item(name, value) for name, value in sorted(values.items())), rcodes])


def fleet_totals() -> list[dict[str, int]]:
    """Return the counters of active nodes. The canary, fronts, and nodes that haven't reported are left out."""
    nodes = list(
        Node.objects.filter(state=NodeState.ACTIVE, is_ring0=False, is_front=False).values_list("pk", flat=True)
    )
    return list(telemetry.totals(nodes).values())


def fleet_values(totals: list[dict[str, int]]) -> dict[str, int]:
    """Return the fleet's value of each statistic, keyed by PowerDNS's name."""
    values = {name: sum(node.get(field, 0) for node in totals) for name, field in _COUNTERS.items()}
    values["uptime"] = min((node["uptime"] for node in totals), default=0)
    values["latency"] = sum(node["latency_us"] for node in totals) // len(totals) if totals else 0
    return values


def _by_rcode(totals: list[dict[str, int]]) -> list[dict[str, str]]:
    sums: Counter[str] = Counter()
    for node in totals:
        sums.update({field[6:]: answers for field, answers in node.items() if field.startswith("rcode:")})
    return [{"name": _RCODES.get(rcode, rcode), "value": str(answers)} for rcode, answers in sorted(sums.items())]


def _item(name: str, value: int) -> Mapping[str, Any]:
    return {"name": name, "type": "StatisticItem", "value": str(value)}
