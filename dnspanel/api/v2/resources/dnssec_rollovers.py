"""API resources to start, read and cancel a zone's DNSSEC key rollover, and to list the rollovers in progress."""

from typing import Any
from uuid import uuid4

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission, Right, person_form
from dnspanel.api.v2.http.etag import fresh_enough, tag_of
from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.problems import faults_at
from dnspanel.api.v2.http.representation import code_of, zone_url
from dnspanel.api.v2.http.view import V2View, answer, api_operation
from dnspanel.api.v2.resources.dnssec import acting, answer_publications
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.schema.fields import PAGED, page_of, read
from dnspanel.api.v2.schema.query_parameters import IF_CHANGED, WRITING
from dnspanel.api.v2.schema.rollover_serializers import (
    NewRolloverSerializer,
    RolloverCancelSerializer,
    RolloverKindSerializer,
    RolloverSerializer,
    RolloverWrittenSerializer,
)
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.first_rows import first_or
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries, rollover_queries
from dnspanel.zones.dnssec.rollover_stages import EMERGENCY, Kind
from dnspanel.zones.errors import BadKey, RolloverUnknown
from dnspanel.zones.models import Publication, Rollover, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import rollovers

_REASON = TERMS[0]
_PAGE = page_of(RolloverSerializer)  # one class for both lists, because names in the document must be unique


class RolloversUnderWay(V2View):
    @api_operation("listRollovers", _PAGE, *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List DNSSEC rollovers in progress.

        Lists rollovers in zones that the token can read, oldest first. Needs the permission `read`.
        """
        page = page_request(request, int)
        access.require(self.actor, Permission.READ)
        after = page.after[0] if page.after else 0
        rows, more = rollover_queries.under_way(self.actor, after=after, limit=page.limit)
        found = [rollover_json(row, self.actor) for row in rows]
        return page_answer(request, found, (rows[-1].pk,) if more else None)


class RolloverKinds(V2View):
    @api_operation("listRolloverKinds", page_of(RolloverKindSerializer))
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the kinds of DNSSEC rollovers.

        If the zone's keys do not allow a kind of rollover, the kind includes the reason. An allowed emergency rollover
        includes the damage that it would cause. Needs the `read` right.
        """
        page_request(request)
        zone, now = access.zone_for_reading(self.actor, zone_name), timezone.now()
        kinds = [
            {
                "kind": str(kind),
                "refusal": refusal or None,
                "emergency_breaks": None
                if refusal or kind not in EMERGENCY
                else rollovers.breakage(zone=zone, kind=kind, now=now),
            }
            for kind, refusal in rollover_queries.kinds_of(queries.signing_of(zone)).items()
        ]
        return page_answer(request, kinds, None)


class ZoneRollovers(V2View):
    # Unconditional: a zone has at most one active rollover.
    @api_operation("listZoneRollovers", _PAGE, *PAGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List the DNSSEC rollovers of a zone.

        Lists all rollovers of the zone, newest first, with the state of each. Needs the `read` right.
        """
        page = page_request(request, int)
        zone = access.zone_for_reading(self.actor, zone_name)
        before = page.after[0] if page.after else None
        rows, more = rollover_queries.of_zone(zone, before=before, limit=page.limit)
        found = [rollover_json(row, self.actor) for row in rows]
        return page_answer(request, found, (rows[-1].pk,) if more else None)

    @api_operation(
        "createRollover",
        {202: RolloverWrittenSerializer, 201: RolloverWrittenSerializer},
        *WRITING,
        _REASON,
        request=NewRolloverSerializer,
    )
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Start a DNSSEC rollover.

        Publishes the first step. The panel carries out the other steps automatically. Before each step, it waits until
        every node serves the previous step, caches have dropped the older data, and the parent zone has the needed DS.
        Needs the `dnssec` right. Use `getRollover` to see what the rollover waits for.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        body = read(NewRolloverSerializer, request.data)
        by = _findable(acting(request, terms_of_query(request).reason))
        with faults_at("/bits", "bad-key", BadKey):
            row = rollovers.begin(
                zone=zone,
                kind=Kind(body["kind"]),
                acting=by,
                algorithm=body["algorithm"],
                bits=body["bits"],
                emergency=body["emergency"],
            )
        value = rollover_json(row, self.actor)
        headers = {"ETag": tag_of(value), "Location": f"{zone_url(zone.name)}/dnssec/rollovers/{row.pk}"}
        return answer_publications(request, _publications(by), {"rollover": value}, status=201, headers=headers)


class OneRollover(V2View):
    @api_operation("getRollover", {200: RolloverSerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str, rollover_id: int) -> HttpResponse:
        """Read a DNSSEC rollover.

        Returns the rollover's step, the reason for waiting and the earliest time of the next step. Also returns the
        nodes that are behind, and the DS records to add or remove at the parent. Needs the `read` right.
        """
        row = _rollover(access.zone_for_reading(self.actor, zone_name), rollover_id)
        value = rollover_json(row, self.actor)
        tag = tag_of(value)
        return fresh_enough(request, tag) or answer(value, headers={"ETag": tag})


class RolloverCancel(V2View):
    # Unconditional: the panel checks the rollover's current state.
    @api_operation(
        "cancelRollover",
        {202: RolloverWrittenSerializer, 200: RolloverWrittenSerializer},
        *WRITING,
        _REASON,
        request=RolloverCancelSerializer,
    )
    def post(self, request: Request, zone_name: str, rollover_id: int) -> HttpResponse:
        """Cancel a DNSSEC rollover.

        Returns to the previous keys in several steps. These steps wait in the same way as the steps of the rollover.
        Needs the `dnssec` right. The panel refuses to cancel if returning to the previous keys is not safe.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        body = read(RolloverCancelSerializer, request.data)
        _rollover(zone, rollover_id)
        by = _findable(acting(request, terms_of_query(request).reason))
        rollovers.cancel(zone=zone, acting=by, withdrawn=body["withdrawn"], rollover_id=rollover_id)
        more = {"rollover": rollover_json(_rollover(zone, rollover_id), self.actor)}
        return answer_publications(request, _publications(by), more)


def rollover_json(row: Rollover, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of a rollover and its state."""
    knows = access.may_know_author(actor)
    return row_json(
        RolloverSerializer,
        row,
        zone=row.zone.name,
        emergency=row.is_emergency,
        steps=[{"step": str(step), "state": code_of(state)} for step, state in rollover_queries.steps_of(row)],
        stuck=row.is_stuck,
        started_by=person_form(row.started_by) if knows else None,
        cancelled=row.is_cancelled,
    )


def _findable(by: Acting) -> Acting:
    """Return `by` with a form id for finding the request's publications later. Create a random id if `by` has none."""
    return by if by.form_id is not None else Acting(by.author, by.channel, by.now, by.reason, uuid4())


def _publications(by: Acting) -> list[Publication]:
    return list(Publication.objects.filter(form_id=by.form_id))


def _rollover(zone: Zone, rollover_id: int) -> Rollover:
    return first_or(
        Rollover.objects.filter(zone=zone, pk=rollover_id).select_related("zone", "started_by"), RolloverUnknown
    )
