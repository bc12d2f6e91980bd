"""Resources that read and change how one or many zones are signed.

Also compares a signed zone with the DS at its parent and with each node's answers.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_form
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import is_dry_run
from dnspanel.api.v2.http.etag import condition_in, fresh_enough, require, tag_of
from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, RequestFault, bad_value, faults_at, needs_confirmation, problem_of
from dnspanel.api.v2.http.representation import time_json
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.schema.dnssec_answer_serializers import (
    DnssecNodeSerializer,
    ParentCheckSerializer,
    UnprovenZoneSerializer,
)
from dnspanel.api.v2.schema.dnssec_serializers import (
    BulkSigningSerializer,
    KeySerializer,
    SigningPatchSerializer,
    SigningPlansSerializer,
    SigningSerializer,
    SigningWrittenSerializer,
    denial_json,
    requested_signing,
)
from dnspanel.api.v2.schema.fields import PAGED, page_of, read, stamp
from dnspanel.api.v2.schema.parsing import Faults
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, IF_CHANGED, WRITING
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.fleet.ask_parent import ask_parent
from dnspanel.fleet.dnssec.node_answers import ask_nodes
from dnspanel.fleet.models import ParentState, UnprovenZone
from dnspanel.fleet.reads.parent_check import parent_of
from dnspanel.fleet.reads.queries import node_statuses, unproven_for
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.signing_state import KeyState, KeyView, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_polling
from dnspanel.zones.errors import BadKey, GuardedZone
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import preview, sign
from dnspanel.zones.signing.presigned import drop_signatures, signatures_end
from dnspanel.zones.signing.signalling import has_signalling, set_signalling
from dnspanel.zones.store import find_zones
from replication.dns import names
from replication.errors import BadName

# Creating an RSA key takes 0.1 s, while the zones are locked.
MOST_WITH_RSA = 20

_REASON = TERMS[0]


class ZoneDnssec(V2View):
    @api_operation("getZoneDnssec", {200: SigningSerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read how a zone is signed.

        Returns the zone's keys, without their private parts, and the DS records for the parent zone. Needs the right
        `read`.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        state = queries.signing_of(zone)
        headers = {"ETag": state_tag(state)}
        return fresh_enough(request, headers["ETag"]) or answer(signing_json(zone, state, self.actor), headers=headers)

    @api_operation(
        "changeZoneDnssec",
        {202: SigningWrittenSerializer, 200: SigningWrittenSerializer},
        *CHANGING,
        _REASON,
        request=SigningPatchSerializer,
    )
    def patch(self, request: Request, zone_name: str) -> HttpResponse:
        """Change how a zone is signed.

        Signs the zone, or stops signing it, and sets NSEC or NSEC3 and the CDS and CDNSKEY records. The change is one
        publication, or two if it replaces one NSEC3 chain with another. Needs the `dnssec` right. Fields that the
        request body omits stay unchanged.

        The panel rejects NSEC3 and CDS without keys. It also rejects a change if it would make validating resolvers
        that know the parent zone's DS records reject the zone. Asking the parent to delete its DS needs `confirm`, and
        is rejected while a rollover needs that DS. A zone that is served with the signatures from its source accepts
        only `{"signed": false}`, which removes the signatures.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        values = _take_confirmation(read(SigningPatchSerializer, request.data), [zone])
        by = acting(request, terms_of_query(request).reason)
        in_transaction = condition_on(request, zone, state_tag, lambda state: signing_json(zone, state, self.actor))
        if values == {"signed": False} and queries.signing_of(zone).presigned:
            dropped = drop_signatures(zones=[zone], acting=by, in_transaction=in_transaction)
            publications = [dropped] if dropped else []
        else:
            with faults_at("/new_keys/bits", "bad-key", BadKey):
                publications = sign.settle(
                    zone=zone, requested=requested_signing(values), acting=by, in_transaction=in_transaction
                )
        if "signalling" in values:
            set_signalling(zones=[zone], signals=values["signalling"], acting=by)
        state = queries.signing_of(zone)
        return answer_publications(
            request, publications, {"dnssec": signing_json(zone, state, self.actor)}, headers={"ETag": state_tag(state)}
        )


class BulkDnssec(V2View):
    # Unconditional: the result doesn't depend on the previous state.
    @api_operation(
        "changeDnssecOfZones",
        {
            202: WrittenSerializer,
            200: PolymorphicProxySerializer("WrittenOrSigningPlans", [WrittenSerializer, SigningPlansSerializer], None),
        },
        *WRITING,
        request=BulkSigningSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Change how zones are signed.

        Does the same as `changeZoneDnssec` for up to 1,000 zones (20 with new RSA keys) in one publication. If one zone
        is rejected, no zone changes. Needs the `dnssec` right for each zone. Every rejected zone has an entry in
        `errors`. With `dry_run`, nothing is changed, and `plans` has the outcome for each zone.

        A change from one NSEC3 chain to another takes two publications. `{"signed": false}` removes the signatures of
        zones that are served with the signatures from their source. The request must then contain only such zones.
        """
        body = read(BulkSigningSerializer, request.data)
        zones = _zones_named(self.actor, body["zones"])
        requested = requested_signing(_take_confirmation(body, zones))
        algorithm = key_material.ALGORITHMS[requested.new_keys.algorithm]
        if requested.signed and algorithm.startswith("RSA") and len(zones) > MOST_WITH_RSA:
            detail = f"RSA keys take long to create. Send at most {MOST_WITH_RSA} zones at once."
            raise bad_value("/new_keys/algorithm", detail)
        drops = requested == sign.RequestedSigning(signed=False) and "signalling" not in body
        drops = drops and queries.presigned_zones([zone.pk for zone in zones]) == {zone.pk for zone in zones}
        if drops:
            plans = preview.plan_dropping(zones=zones, person=self.actor)
        else:
            plans = preview.plan_signing(zones=zones, requested=requested, person=self.actor)
        if is_dry_run(request):
            return answer({"plans": [_plan_json(plan) for plan in plans]})
        _refuse(plans)
        if drops:
            dropped = drop_signatures(zones=zones, acting=acting(request, body["reason"]))
            return answer_publications(request, [dropped] if dropped else [], {})
        with faults_at("/new_keys/bits", "bad-key", BadKey):
            publications = sign.settle_zones(zones=zones, requested=requested, acting=acting(request, body["reason"]))
        if "signalling" in body:
            set_signalling(zones=zones, signals=body["signalling"], acting=acting(request, body["reason"]))
        return answer_publications(request, publications, {})


def _take_confirmation(values: dict[str, Any], zones: Sequence[Zone]) -> dict[str, Any]:
    """Return the values without `confirm`. Raise Problem if `cds` removes the DS at the parent without `confirm`."""
    cds = values.get("cds")
    if cds == [0] and not values.get("confirm"):
        reason = "A parent zone that reads CDS records deletes its DS, and this zone becomes insecure."
        waiting = [GuardedZone(zone.name, (reason,), 0, zone.rrset_count) for zone in zones]
        rehearsal.hold(needs_confirmation(reason, waiting, reasons=[reason]))
    return {name: value for name, value in values.items() if name != "confirm"}


def acting(request: Request, reason: str = "") -> Acting:
    """Return this request's author, channel, time, reason and publication id."""
    return Acting(actor_in(request), Channel.API, timezone.now(), reason=reason, form_id=form_id_of(request))


def condition_on(
    request: Request, zone: Zone, tag: Callable[[SigningState], str | None], theirs: Callable[[SigningState], Any]
) -> Callable[[], None]:
    """Return a function that locks the zone, and raises Problem (412) unless the request's condition holds.

    The caller must run the function inside the write's transaction.
    """
    condition = condition_in(request)

    def hold() -> None:
        find_zones.lock_zones([zone.pk])
        state = queries.signing_of(zone)
        if not condition.holds(tag(state)):
            require(condition, tag(state), theirs=theirs(state), mine=request.data or None)

    return hold


def answer_publications(
    request: Request,
    publications: Sequence[Publication],
    more: Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return the response to a change of a zone's signing, which can take several publications.

    If there are none, use the publication of an earlier attempt with the same Idempotency-Key.
    """
    form_id = form_id_of(request)
    if not publications and form_id is not None:
        # Nothing to change, perhaps because an earlier attempt of this request has published the change.
        publications = list(Publication.objects.filter(form_id=form_id))
    last = publications[-1] if publications else None
    zones = [] if last is None else moved_by(last, actor_in(request))
    return answer_publication(request, last, {"zones": zones, "warnings": [], **more}, status=status, headers=headers)


def state_tag(state: SigningState) -> str:
    """Return the ETag of a zone's signing state."""
    return tag_of(state.to_json())


def key_tag(key: KeyState | KeyView) -> str:
    """Return the ETag of a DNSSEC key."""
    return tag_of([key.id, key.active, key.published])


def signing_json(zone: Zone, state: SigningState, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of a zone's signing state, with its keys."""
    keys = queries.keys_of(zone, state)
    return {
        "zone": zone.name,
        "signed": state.is_signed,
        "presigned": state.presigned,
        "signatures_end": time_json(ends) if state.presigned and (ends := signatures_end(zone)) else None,
        "denial": denial_json(state.nsec3) if state.has_chain else None,
        "cds": [int(text) for text in state.cds.split(",") if text.isdecimal()],
        "cdnskey": state.cdnskey,
        "polling": describe_polling(state),
        "signalling": has_signalling(zone),
        "ds": [each for key in keys if key.published for each in _ds_json(zone, key)],
        "keys": [key_json(key, actor) for key in keys],
        "changed": _changed_json(zone, actor),
    }


def key_json(key: KeyView, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of a key, without its private part."""
    return row_json(
        KeySerializer,
        key,
        role=key.role.value,
        algorithm_name=key.mnemonic,
        created_by=actor_form(key.created_by) if key.created_by and access.may_know_author(actor) else None,
        etag=key_tag(key),
    )


def _ds_json(zone: Zone, key: KeyView) -> Iterator[dict[str, Any]]:
    for text in key.ds:
        digest_type = int(text.split()[2])
        yield {"key": key.id, "digest_type": digest_type, "rdata": text, "record": f"{zone.name} IN DS {text}"}


def _changed_json(zone: Zone, actor: Actor) -> dict[str, Any] | None:
    last = queries.last_change_of(zone)
    if last is None:
        return None
    publication = last.publication
    knows = access.may_know_author(actor, publication.token_id)
    username = publication.author.username if publication.author else None
    return {
        "revision": last.number,
        "sequence": publication.sequence,
        "at": time_json(publication.at),
        "actor": actor_form(username, publication.token) if knows else None,
    }


def _plan_json(plan: preview.SigningPlan) -> dict[str, Any]:
    return {
        "zone": plan.zone.name,
        "changes": plan.changes,
        "signed": plan.after.is_signed,
        "denial": denial_json(plan.after.nsec3) if plan.after.keys else None,
        "drops_signatures": plan.before.presigned and not plan.after.presigned,
        "refusal": None if plan.refusal is None else str(plan.refusal),
    }


def _refuse(plans: Sequence[preview.SigningPlan]) -> None:
    """Raise the problem of the first rejected zone, if any, with a pointer to every rejected zone."""
    refused = [(index, plan.refusal) for index, plan in enumerate(plans) if plan.refusal is not None]
    if not refused:
        return
    problems = [(index, problem_of(refusal)) for index, refusal in refused]
    faults = [RequestFault(one.code, one.detail, pointer=f"/zones/{index}") for index, one in problems if one]
    more = f" And {len(faults) - 1} more zones are refused." if len(faults) > 1 else ""
    raise Problem(faults[0].code, faults[0].detail + more, faults)


def _zones_named(actor: Actor, named: Sequence[str]) -> list[Zone]:
    """Return the zones with these names, in this order. Uses one query.

    Raise Problem with a pointer to each name that is unknown or listed twice.
    """
    canonical = [_canonical(text) for text in named]
    found = {zone.name: zone for zone in access.zones_visible_to(actor).filter(name__in=filter(None, canonical))}
    faults = Faults()
    for index, name in enumerate(canonical):
        if name is None or name not in found:
            faults.at(f"/zones/{index}", f"Zone not found: {named[index]}", "not-found")
        elif name in canonical[:index]:
            faults.at(f"/zones/{index}", "The zone is listed twice.", "twice")
    faults.refuse()
    return [found[name] for name in canonical if name is not None]


def _canonical(text: str) -> str | None:
    try:
        return names.parse(text)
    except BadName:
        return None


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
