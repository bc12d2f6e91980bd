"""Resources that compare a signed zone with the DS at its parent and with each node's answers."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission, Right
from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.view import V2View, answer, api_operation
from dnspanel.api.v2.schema.dnssec_answer_serializers import (
    DnssecNodeSerializer,
    ParentCheckSerializer,
    UnprovenZoneSerializer,
)
from dnspanel.api.v2.schema.fields import PAGED, page_of, stamp
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.fleet.ask_parent import ask_parent
from dnspanel.fleet.dnssec.node_answers import ask_nodes
from dnspanel.fleet.models import ParentState, UnprovenZone
from dnspanel.fleet.reads.parent_check import parent_of
from dnspanel.fleet.reads.queries import node_statuses, unproven_for
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access


class DnssecParent(V2View):
    # Unconditional: the earlier result does not matter.
    @api_operation("getDnssecParent", {200: ParentCheckSerializer})
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read the DS records at the parent zone.

        Returns the last answers of all the parent zone's name servers. The panel queries these servers once a day, or
        once an hour while a problem exists. Needs the `read` right.
        """
        return answer(_parent_json(access.zone_for_reading(self.actor, zone_name), self.actor))

    @api_operation("checkDnssecParent", {202: ParentCheckSerializer}, request=None)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Check the parent zone now.

        A worker queries all of the parent zone's name servers. Read the result with `getDnssecParent` until `waiting`
        is false. Needs the `dnssec` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        ask_parent(zone=zone, now=timezone.now(), by=self.actor)
        return answer(_parent_json(zone, self.actor), status=202, headers={"Location": request.path})


class DnssecNodes(V2View):
    @api_operation("listDnssecNodes", page_of(DnssecNodeSerializer))
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Check a zone on every node.

        Queries every node over DNS for the zone's DNSKEY and SOA records and validates them. Returns the key tags, the
        serial, and the time when the SOA's signature expires. Needs the `read` right. The response takes up to three
        seconds if a node doesn't respond.
        """
        page_request(request)
        zone, now = access.zone_for_reading(self.actor, zone_name), timezone.now()
        last = queries.last_change_of(zone)
        statuses = node_statuses(now=now)
        having = {status.node.name for status in statuses if last and status.has_acked(last.publication_id)}
        found = [
            row_json(
                DnssecNodeSerializer,
                each,
                has_last_change=None if last is None else each.node in having,
                key_tags=list(each.tags),
            )
            for each in ask_nodes(zone, now=now)
        ]
        return page_answer(request, found, None)


class UnprovenZones(V2View):
    @api_operation("listUnprovenZones", page_of(UnprovenZoneSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List zones that do not validate on a node.

        Lists zones that stopped validating on a node without a publication as the cause, oldest finding first. Until a
        zone validates on the node again, the panel sends the zone's changes to that node without the validation check.
        Needs the permission `read`. Only zones that the token can read are listed.
        """
        page = page_request(request, int)
        access.require(self.actor, Permission.READ)
        rows, more = unproven_for(self.actor, after=page.after[0] if page.after else 0, limit=page.limit)
        return page_answer(request, [_unproven_json(row) for row in rows], (rows[-1].pk,) if more else None)


def _unproven_json(row: UnprovenZone) -> dict[str, Any]:
    return row_json(UnprovenZoneSerializer, row, zone=row.zone.name, node=row.node.name)


def _parent_json(zone: Zone, actor: Actor) -> dict[str, Any]:
    view, _ = parent_of(zone, actor, timezone.now())
    check = view.check
    found = check.found if check else {}
    return {
        "zone": zone.name,
        "state": check.state if check else str(ParentState.UNKNOWN),
        "message": view.message,
        "parent": view.name or None,
        "servers": [{"server": server, "ds": list(ds)} for server, ds in found.get("servers", {}).items()],
        "ds_ttl": found.get("ttl"),
        "since": stamp(check.since) if check else None,
        "known_at": stamp(check.known_at) if check else None,
        "checked_at": stamp(check.checked_at) if check else None,
        "silent": check.silent if check else "",
        "silent_since": stamp(check.silent_since) if check else None,
        "waiting": view.is_waiting,
    }
