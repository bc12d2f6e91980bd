"""API resources to list a zone's RRsets, and read and change one at a time. `changes` changes many in one request."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v2.http.accepted import answer_outcome
from dnspanel.api.v2.http.etag import Condition, condition_in, fresh_enough, require_rrset, rrset_tag
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_parameter, violations_at
from dnspanel.api.v2.http.representation import optional_rrset_json, rrset_json
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, query_parameter
from dnspanel.api.v2.resources.publishing import TERMS, publish, terms_of_query
from dnspanel.api.v2.schema.fields import PAGED, page_of, search_parameter, text_parameter
from dnspanel.api.v2.schema.parsing import Faults, absent, owner_of, read_patch, read_rrset, type_of
from dnspanel.api.v2.schema.publication_serializers import RRsetWrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, IF_CHANGED, IF_NONE_MATCH
from dnspanel.api.v2.schema.zone_serializers import (
    ListedRRsetSerializer,
    RRsetContentSerializer,
    RRsetPatchSerializer,
    RRsetSerializer,
)
from dnspanel.database.statement_time import searching_for
from dnspanel.zones.errors import RuleViolations
from dnspanel.zones.lists.find_rrsets import BEFORE_ALL, StoredKey, between, last_compared
from dnspanel.zones.lists.rrset_pages import finds_in
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.merge import Changes
from dnspanel.zones.publishing.zone_patches import CurrentRRsets, Outcome, Patch, Step, remove_rrset, replace_with
from dnspanel.zones.rights import access
from dnspanel.zones.search import rrset_conditions
from dnspanel.zones.search.terms import parse
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset, parse_notes
from replication.errors import BadName, BadRdata

# One statement reads the RRset and the revision. Otherwise the tag could combine an RRset with a later revision.
_COLUMNS = ("owner_key", "zone__revision", "name", "type", "ttl", "rdata", "disabled", "comment", "notes")
_WRITTEN = {202: RRsetWrittenSerializer, 200: RRsetWrittenSerializer}


class RRsetList(V2View):
    @api_operation(
        "listRRsets",
        {200: page_of(ListedRRsetSerializer)},
        *PAGED,
        query_parameter("q", "Search, as in the filter of the panel's record table."),
        query_parameter("type", "Record type, or several types separated by commas."),
        query_parameter("name", "Only RRsets with this owner name."),
    )
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List RRsets.

        Lists the RRsets of a zone in canonical order. Needs the `read` right. A token that is limited to names or types
        gets only RRsets within these limits. A page can have fewer items than `limit` even if more follow, so read
        pages until `next` is null. For each page, `q` is compared with at most 30,000 RRsets.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        page = page_request(request, str, int)
        rrsets, start = _filter_rrsets(request, zone), _key_in(page.after)
        search = parse(search_parameter(request))
        with searching_for(bool(search)):
            known = access.zones_seen_by(self.actor)
            rrsets = rrset_conditions.fitting(rrsets, search, known) if finds_in(zone, search) else rrsets.none()
            last = last_compared(zone, start) if search else None
            found = between(rrsets, start, last).order_by("owner_key", "type").values_list(*_COLUMNS)
            rows, more = cut(list(found[: page.limit + 1]), page.limit)
        visibility = access.visibility_of(self.actor, zone)
        items = [_listed_json(row) for row in rows if visibility is None or visibility(row[2], row[3])]
        behind = (bytes(rows[-1][0]), rows[-1][3]) if more else last
        return page_answer(request, items, (behind[0].hex(), behind[1]) if behind else None)


class RRsetDetail(V2View):
    @api_operation("getRRset", {200: RRsetSerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Read an RRset.

        Returns the RRset's published records. Needs the `read` right. Send the `ETag` as `If-Match` to change only what
        you have read.
        """
        zone, key = at_path(request, zone_name, owner, type_name)
        found = _stored_rrset(zone, key)
        if found is None:
            raise absent(key)
        rrset, tag = found
        return fresh_enough(request, tag) or answer(rrset_json(rrset), headers={"ETag": tag})

    @api_operation("setRRset", _WRITTEN, *CHANGING, IF_NONE_MATCH, *TERMS, request=RRsetContentSerializer)
    def put(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Create or replace an RRset.

        Publishes the given records as one revision, and replaces all existing records of the RRset. Needs the right
        `add` for a new RRset and `change` for an existing one. With `If-Match`, writes only if the RRset hasn't changed
        since you read it. With `If-None-Match: *`, writes only if the RRset does not exist.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        faults = Faults()
        rrset = read_rrset(request.data, zone.name, "", faults, key)
        faults.refuse()
        assert rrset is not None
        return _publish_step(request, zone, key, replace_with(rrset), mine=rrset_json(rrset))

    @api_operation("changeRRset", _WRITTEN, *CHANGING, *TERMS, request=RRsetPatchSerializer)
    def patch(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Change an RRset.

        Changes the TTL, the comment or single records, and publishes the result as one revision. Needs the right
        `change`, or `remove` if no record is left, which deletes the RRset. `add` and `remove` are applied while the
        zone is locked, so simultaneous changes by others are kept.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        step = read_patch(request.data, key, zone.name)
        return _publish_step(request, zone, key, step, mine=request.data)

    @api_operation("deleteRRset", _WRITTEN, *CHANGING, *TERMS)
    def delete(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Delete an RRset.

        Removes all records of the RRset and publishes the zone as one revision. Needs the `remove` right. Returns 404
        if the RRset does not exist.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)

        def remove_present(now: RRset | None) -> RRset | None:
            if now is None:
                raise absent(key)
            return remove_rrset(now)

        return _publish_step(request, zone, key, remove_present, mine=None)


def conditional_patch(zone: Zone, key: Key, step: Step, condition: Condition, mine: Any) -> Patch:
    """Return a patch that changes one RRset. Applying the patch raises Problem (412) unless the condition holds."""

    def decide(at_name: CurrentRRsets) -> Changes:
        current = at_name.get(key)
        require_rrset(condition, zone, key, current, mine)
        return {key: step(current)}

    return Patch(zone, decide, {key[0]})


def _publish_step(request: Request, zone: Zone, key: Key, step: Step, *, mine: Any) -> HttpResponse:
    """Publish a change to one RRset and return the response with the resulting RRset."""
    patch = conditional_patch(zone, key, step, condition_in(request), mine)
    try:
        outcome = publish(request, [patch], terms_of_query(request))
    except RuleViolations as exc:
        raise violations_at(
            exc, lambda violation: _place_in(request.data, is_of_this_name=violation.name == key[0])
        ) from exc
    found = _result(outcome, zone, key)
    headers = {"ETag": found[1]} if found else {}
    return answer_outcome(
        request, outcome, headers=headers, extensions={"rrset": optional_rrset_json(found[0] if found else None)}
    )


def _place_in(body: Any, *, is_of_this_name: bool) -> str | None:
    """Return a JSON pointer to the part of the body that breaks a rule, or None for a deletion, which has no body.

    The part is the field with the records if they break the rule at this name, and otherwise the whole body.
    """
    if not isinstance(body, dict) or not body:
        return None
    return next((f"/{name}" for name in ("rdata", "add", "remove") if is_of_this_name and name in body), "")


def _result(outcome: Outcome, zone: Zone, key: Key) -> tuple[RRset, str] | None:
    """Return the RRset after the publication, and its ETag. Return None if the RRset was deleted.

    The RRset is read from the database only if the plan doesn't include it.
    """
    if not outcome.plans:
        return _stored_rrset(zone, key)
    plan = outcome.plans[0]
    if key == (zone.name, rdtypes.SOA):
        after = plan.soa_after if plan.changes else plan.soa_before
    else:
        after = next((c.after for c in (*plan.changes, *plan.already_so) if c.key == key), None)
    return None if after is None else (after, rrset_tag(after, plan.zone.revision + bool(plan.changes)))


def at_path(
    request: Request, zone_name: str, owner: str, type_name: str, *, to_change: bool = False
) -> tuple[Zone, Key]:
    """Return the zone and the RRset key from a URL path.

    Raise Unknown, Forbidden or RightMissing if the actor lacks access, and Problem (404) for an invalid or hidden
    RRset.
    """
    actor = actor_in(request)
    zone = access.zone_for_editing(actor, zone_name) if to_change else access.zone_for_reading(actor, zone_name)
    try:
        key = owner_of(owner, zone.name), type_of(type_name)
    except (BadName, BadRdata) as exc:
        raise Problem("not-found", str(exc)) from exc
    visibility = access.visibility_of(actor, zone)
    if visibility is not None and not visibility(*key):
        # Responses to writes show the previous RRset, so a token that can't read an RRset isn't allowed to write it.
        raise access.RightMissing(Right.CHANGE, zone.name, *key) if to_change else absent(key)
    return zone, key


def require_published(zone: Zone, key: Key) -> None:
    """Raise Problem (404) unless the RRset is published."""
    if _stored_rrset(zone, key) is None:
        raise absent(key)


def _stored_rrset(zone: Zone, key: Key) -> tuple[RRset, str] | None:
    """Return the published RRset and its ETag, or None if the RRset isn't published."""
    rows = StoredRRset.objects.filter(zone=zone, owner_key=relative_key(key[0], zone.name), type=key[1])
    row = rows.values_list(*_COLUMNS).first()
    if row is None:
        return None
    rrset = _rrset(row)
    return rrset, rrset_tag(rrset, row[1])


def _rrset(row: Any) -> RRset:
    _, _, name, type_, ttl, rdata_texts, disabled, comment, notes = row
    return RRset(name, type_, ttl, tuple(rdata_texts), tuple(disabled), comment, parse_notes(notes))


def _listed_json(row: Any) -> dict[str, Any]:
    rrset = _rrset(row)
    return {**rrset_json(rrset), "etag": rrset_tag(rrset, row[1])}


def _filter_rrsets(request: Request, zone: Zone) -> QuerySet[StoredRRset]:
    rrsets = StoredRRset.objects.filter(zone=zone)
    query = request.query_params
    if name := text_parameter(query, "name", longest=1100):
        try:
            rrsets = rrsets.filter(owner_key=relative_key(owner_of(name, zone.name), zone.name))
        except BadName as exc:
            raise bad_parameter("name", str(exc), "bad-name") from exc
    if types := text_parameter(query, "type"):
        try:
            rrsets = rrsets.filter(type__in=[rdtypes.type_from_text(text.strip()) for text in types.split(",")])
        except BadRdata as exc:
            raise bad_parameter("type", str(exc), "bad-type") from exc
    return rrsets


def _key_in(after: tuple[Any, ...]) -> StoredKey:
    """Return the RRset key in a cursor, or BEFORE_ALL if there is no cursor. Raise Problem if the cursor is invalid."""
    if not after:
        return BEFORE_ALL
    try:
        owner_key = bytes.fromhex(after[0])
    except ValueError as exc:
        raise Problem("bad-cursor", "This cursor is not from this list.") from exc
    return owner_key, min(max(after[1], 0), 65_536)
