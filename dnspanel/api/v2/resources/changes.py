"""Resources that change many RRsets in one or many zones, in one request.

All changes or none are published, except for PublishedInPart. Every error has a pointer to its place in the body.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.accepted import answer_outcome, answer_publication
from dnspanel.api.v2.http.etag import condition_in, require, zone_tag
from dnspanel.api.v2.http.fault_texts import join_limited, must_be
from dnspanel.api.v2.http.problems import Problem, RequestFault, bad_value, problem_of, violations_at
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation
from dnspanel.api.v2.resources.publish_requests import RequestSerializer, request_json
from dnspanel.api.v2.resources.publishing import Terms, all_patches, publish, terms_in
from dnspanel.api.v2.resources.zones import zone_json
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.parsing import Faults, Order, read_orders
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, WRITING
from dnspanel.api.v2.schema.zone_serializers import MOST_CHANGES, BulkSerializer, ChangesSerializer
from dnspanel.transfer import zone_text
from dnspanel.transfer.documents import ReadyRRset
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Forbidden, GuardHolds, RevisionMoved, RightMissing, RuleViolations, Unknown, ZoneError
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.requests import publish_requests
from dnspanel.zones.rights import access
from replication.dns import names
from replication.dns.rrset import Key
from replication.errors import BadName

MOST_ZONES = 1000
_OF_ZONE = ("at_revision", "changes", "zone", "zone_file")
_TERMS = frozenset({"reason", "confirm", "accept_warnings", "ptr"})
_ANSWERS = {202: WrittenSerializer, 200: WrittenSerializer}
_INTO = ("publication", "request")


@dataclass(frozen=True, slots=True)
class ZoneRequest:
    """The requested changes to one zone, or the zone's complete new content, and their pointer in the body."""

    zone: Zone
    orders: Sequence[Order]
    pointer: str  # to the zone's object: "" or "/zones/3"
    at_revision: int | None
    content: Mapping[Key, ReadyRRset] | None = None


class ZoneChanges(V2View):
    conditional = True

    @api_operation("changeRRsets", _ANSWERS, *CHANGING, request=ChangesSerializer)
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Change RRsets of a zone.

        Publishes either all changes as one revision, or none. Needs the rights `add`, `change` or `remove`, depending
        on each change. Several changes to the same RRset are applied in the given order. `If-Match` takes the zone's
        `ETag`.

        A request for more than 2,000 RRsets is checked as a whole, but published in several publications, which
        `publications` lists. If someone else changes the same records in between, the status is 409, and only some of
        them were published.
        """
        zone = access.zone_for_editing(self.actor, zone_name)
        condition = condition_in(request)
        require(
            condition,
            zone_tag(zone.revision, zone.tags, zone.team_id, zone.default_ttl),
            theirs=partial(zone_json, zone, self.actor),
            mine=request.data,
        )
        faults = Faults()
        body = _body(request.data, {"changes"}, faults)
        terms = terms_in(body, faults)
        orders = read_orders(
            body.get("changes"), zone.name, "/changes", faults, most=MOST_CHANGES, default_ttl=zone.default_ttl
        )
        faults.refuse()
        at_revision = zone.revision if condition.match else None
        return _carry_out(request, [ZoneRequest(zone, orders, "", at_revision)], terms)


class Bulk(V2View):
    # Unconditional: each zone can have `at_revision` instead.
    @api_operation("changeRRsetsInZones", {**_ANSWERS, 201: RequestSerializer}, *WRITING, request=BulkSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Change RRsets of several zones, or replace zones with zone files.

        Checks all changes to all zones first. Each rejected change has an entry in `errors` with a pointer. If one
        change is rejected, nothing is published. Needs the rights `add`, `change` or `remove` in each zone.

        Up to 2,000 RRsets are published in one publication. A larger write takes several publications, which
        `publications` lists. Undoing one of these publications undoes the whole write.

        With `into` = `request`, nothing is published. The changes become a request with the given `name`, and the
        status is 201. If there is nothing to change, no request is created.
        """
        faults = Faults()
        body = _body(request.data, {"zones", "into", "name"}, faults)
        terms = terms_in(body, faults)
        into, name = body.get("into", _INTO[0]), body.get("name", "")
        if into not in _INTO:
            faults.at("/into", must_be("/into", f"one of {join_limited(_INTO)}"))
        if not isinstance(name, str):
            faults.wrong("/name", name, "a string")
        requests = _read_zones(self.actor, body.get("zones"), faults)
        faults.refuse()
        return _carry_out(request, requests, terms, name if into == "request" else None)


def _carry_out(
    request: Request, requests: Sequence[ZoneRequest], terms: Terms, request_name: str | None = None
) -> HttpResponse:
    """Publish the changes, or request approval for them named `request_name`."""
    patches = [_patch(zone_request) for zone_request in requests]
    try:
        if request_name is None:
            return answer_outcome(request, publish(request, patches, terms))
        return _request_approval(request, all_patches(request, patches, terms), terms, request_name)
    except ZoneError as exc:
        raise _problem_with_pointers(exc, requests) from exc


def _request_approval(request: Request, patches: Sequence[zone_patches.Patch], terms: Terms, name: str) -> HttpResponse:
    actor = actor_in(request)
    plans = zone_patches.preview_patches(patches=patches, author=actor)
    zones = [draft.ZoneChanges(plan.zone, plan.changes, plan.zone.revision) for plan in plans if plan.changes]
    if not zones:
        return answer_publication(request, None, {"zones": [], "warnings": []})
    made = publish_requests.ask_for_changes(
        author=actor,
        name=name,
        zones=zones,
        terms=publish_requests.Terms(terms.reason, confirmed=terms.confirm),
        now=timezone.now(),
    )
    return answer(request_json(actor, made.key), 201, headers={"Location": f"/api/v2/requests/{made.key}"})


def _patch(zone_request: ZoneRequest) -> zone_patches.Patch:
    zone, content = zone_request.zone, zone_request.content
    if content is not None:
        decide = partial(zone_text.changes_to_zone_file, zone.name, content)
        return zone_patches.Patch(zone, decide, None, zone_request.at_revision)
    steps = [(order.key, order.step) for order in zone_request.orders]
    return zone_patches.patch_of_steps(zone_request.zone, steps, at_revision=zone_request.at_revision)


def _body(value: Any, members: set[str], faults: Faults) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise bad_value("", must_be("", f"an object with the members {join_limited(sorted(members | _TERMS))}"))
    faults.unknown("", value, members | _TERMS)
    return value


def _read_zones(actor: Actor, value: Any, faults: Faults) -> list[ZoneRequest]:
    """Parse the requested changes of each zone. Finds the zones with one query. Add each error to `faults`."""
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ZONES:
        faults.wrong_list("/zones", value, "zones", 1, MOST_ZONES)
        return []
    named = {f"/zones/{index}": _zone_name(each, f"/zones/{index}", faults) for index, each in enumerate(value)}
    visible = access.zones_visible_to(actor).filter(name__in={name for name in named.values() if name})
    zones = {zone.name: zone for zone in visible}
    left = MOST_CHANGES
    requests: dict[str, ZoneRequest] = {}
    for each, (pointer, name) in zip(value, named.items(), strict=True):
        zone = _usable_zone(actor, zones, name, pointer, requests, faults)
        if zone is not None:
            at_revision = _at_revision(each, pointer, faults)
            if "zone_file" in each:
                content = _read_zone_file(actor, zone, each, pointer, faults)
                requests[zone.name] = ZoneRequest(zone, (), pointer, at_revision, content)
                continue
            orders = read_orders(
                each.get("changes"), zone.name, f"{pointer}/changes", faults, most=left, default_ttl=zone.default_ttl
            )
            left -= len(orders)
            requests[zone.name] = ZoneRequest(zone, orders, pointer, at_revision)
    return list(requests.values())


def _read_zone_file(
    actor: Actor, zone: Zone, value: Mapping[str, Any], pointer: str, faults: Faults
) -> Mapping[Key, ReadyRRset]:
    """Return the RRsets of the zone file. Add each error to `faults`, with its line and column in the file."""
    text, pointer_of_text = value["zone_file"], f"{pointer}/zone_file"
    if "changes" in value:
        faults.at(pointer, "Send either `changes` or `zone_file`.", NOT_TOGETHER)
    elif access.visibility_of(actor, zone) is not None:
        # Otherwise, the write would remove records that the token can't see, or reveal them.
        faults.at(pointer_of_text, f"A zone file needs a token that can see all of {zone.name}.", "forbidden")
    elif not isinstance(text, str) or len(text) > zone_text.LONGEST_TEXT:
        faults.wrong(pointer_of_text, text, f"a string of at most {zone_text.LONGEST_TEXT:,} characters")
    else:
        content, found = zone_text.read_zone_file(zone.name, text)
        for fault in found:
            place = f"Line {fault.line}, column {fault.column}: " if fault.line else ""
            faults.at(pointer_of_text, f"{place}{fault.reason}", fault.code)
        return content
    return {}


def _zone_name(value: Any, pointer: str, faults: Faults) -> str | None:
    if not isinstance(value, dict):
        faults.at(pointer, must_be(pointer, f"an object with the members {join_limited(_OF_ZONE)}"))
        return None
    faults.unknown(pointer, value, _OF_ZONE)
    name = value.get("zone")
    if not isinstance(name, str):
        faults.wrong(f"{pointer}/zone", name, "the name of a zone")
        return None
    try:
        return names.parse(name)
    except BadName as exc:
        faults.at(f"{pointer}/zone", str(exc), "bad-name")
        return None


def _usable_zone(
    actor: Actor,
    zones: Mapping[str, Zone],
    name: str | None,
    pointer: str,
    requests: Mapping[str, ZoneRequest],
    faults: Faults,
) -> Zone | None:
    """Return the zone if it exists, the actor is allowed to edit it, and it occurs only once in the body.

    Otherwise, add the error to `faults` and return None.
    """
    if name is None:
        return None
    zone = zones.get(name)
    if zone is None:
        faults.at(f"{pointer}/zone", f"Zone not found: {name}", "not-found")
    elif name in requests:
        faults.at(f"{pointer}/zone", f"{name} is listed twice. Put all its changes into one item.", "twice")
    elif not access.may_edit_zone(actor, zone):
        faults.at(f"{pointer}/zone", f"You are not allowed to change records of {name}.", "forbidden")
    else:
        return zone
    return None


def _at_revision(value: Mapping[str, Any], pointer: str, faults: Faults) -> int | None:
    number = value.get("at_revision")
    if number is not None and (type(number) is not int or not 0 <= number < 2**31):
        faults.at(f"{pointer}/at_revision", "`at_revision` must be the number of a revision.")
        return None
    return number


def _problem_with_pointers(exc: ZoneError, requests: Sequence[ZoneRequest]) -> Problem:
    """Return the problem for an error, with pointers to the items that caused it."""
    if isinstance(exc, RuleViolations):
        return violations_at(exc, lambda violation: _violating(requests, violation.name, violation.type))
    problem = problem_of(exc)
    assert problem is not None
    if not problem.errors:
        problem.errors = list(_faults_of(exc, requests, problem))
    return problem


def _faults_of(exc: ZoneError, requests: Sequence[ZoneRequest], problem: Problem) -> list[RequestFault]:
    by_name = {zone_request.zone.name: zone_request for zone_request in requests}
    match exc:
        case RightMissing() if exc.zone_name in by_name and exc.name:
            zone_request = by_name[exc.zone_name]
            return [RequestFault("forbidden", str(exc), pointer=_pointer(zone_request, exc.name, exc.type))]
        case Forbidden():
            return []
        case Unknown() if exc.name in by_name:
            return [RequestFault("not-found", str(exc), pointer=f"{by_name[exc.name].pointer}/zone")]
        case RevisionMoved() if exc.zone_name in by_name:
            return [
                RequestFault("precondition-failed", str(exc), pointer=f"{by_name[exc.zone_name].pointer}/at_revision")
            ]
        case GuardHolds():
            return [
                RequestFault("needs-confirmation", reason, pointer=by_name[each.name].pointer)
                for each in exc.zones
                if each.name in by_name
                for reason in each.reasons
            ]
    return list(problem.errors)


def _violating(requests: Sequence[ZoneRequest], name: str, type: int) -> str:
    """Return the pointer to the requested change that breaks a rule.

    The violating RRset can also be a neighbor of a changed RRset. If no change to the violating RRset was requested,
    return the pointer to the closest enclosing zone, or "" if no requested zone encloses it.
    """
    for zone_request in requests:
        if any(order.key == (name, type) for order in zone_request.orders):
            return _pointer(zone_request, name, type)
    around = [zone_request for zone_request in requests if names.is_within(name, zone_request.zone.name)]
    return max(around, key=lambda zone_request: len(zone_request.zone.name)).pointer if around else ""


def _pointer(zone_request: ZoneRequest, name: str, type: int) -> str:
    """Return the pointer to the last requested change to this RRset, or to the zone if no change was requested."""
    found = [order.pointer for order in zone_request.orders if order.key == (name, type)]
    return found[-1] if found else zone_request.pointer
