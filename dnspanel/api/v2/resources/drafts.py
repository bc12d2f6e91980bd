"""API resources to read, edit, review, publish and discard the draft of a token's owner, and to resolve conflicts.

A token works in its owner's draft within its scope. Zones and RRsets outside the scope are hidden from the token and
stay in the draft.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Right
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import plans_json
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, fresh_enough, tag_of
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.http.representation import operation_json, time_json
from dnspanel.api.v2.http.view import V2View, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.api.v2.resources.rrsets import at_path
from dnspanel.api.v2.schema.draft_serializers import (
    DraftedSerializer,
    DraftSerializer,
    OperationSerializer,
    PublishDraftSerializer,
    ResolveSerializer,
)
from dnspanel.api.v2.schema.fields import PAGED, page_of, read, text_parameter
from dnspanel.api.v2.schema.parsing import Faults, read_rrset
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, IDEMPOTENCY_KEY, IF_CHANGED, IF_MATCH
from dnspanel.api.v2.schema.zone_serializers import PlansSerializer
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.named_drafts import NamedDraft
from dnspanel.zones.errors import Conflicts
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Channel, Operation, Publication, Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access
from replication.codec.keys import relative_key
from replication.dns.rrset import Key, RRset

MOST_OPERATIONS = 10_000
ZONE = query_parameter("zone", "Only changes in this zone.")


class DraftDetail(V2View):
    @api_operation("getDraft", {200: DraftSerializer}, IF_CHANGED)
    def get(self, request: Request) -> HttpResponse:
        """Read the draft.

        Returns the zones that your draft changes and the number of changed RRsets in each. Each person has one draft,
        which the person's tokens and the panel's pages share.
        """
        body = _draft_json(self.actor)
        return fresh_enough(request, tag_of(body)) or answer_with_tag(body)

    @api_operation("discardDraft", {204: None}, IF_MATCH, ZONE)
    def delete(self, request: Request) -> HttpResponse:
        """Discard the draft.

        Deletes all changes from your draft, or only the changes to one zone (`zone`). Nothing is published.
        """
        chosen = _zone_chosen(request, self.actor)
        with _draft_write(request, self.actor):
            for operation in _operations(self.actor):
                if chosen is None or operation.zone_id == chosen.pk:
                    draft.drop_operation(
                        author=self.actor, zone=operation.zone, name=operation.name, type=operation.type
                    )
        return no_content()


class DraftOperations(V2View):
    @api_operation("listDraftOperations", {200: page_of(OperationSerializer)}, *PAGED, ZONE)
    def get(self, request: Request) -> HttpResponse:
        """List the changes in the draft.

        The changes are grouped by zone. Names are in natural order: host2 before host10.
        """
        page_of_request = page_request(request, str, str)
        chosen = _zone_chosen(request, self.actor)
        zones = [chosen] if chosen is not None else list(dict.fromkeys(o.zone for o in _operations(self.actor)))
        found: list[tuple[Zone, rrset_pages.RRsetRow, str]] = []
        after_zone, after = page_of_request.after or ("", "")
        for zone in zones:
            if zone.name >= after_zone and len(found) <= page_of_request.limit:
                start = after if zone.name == after_zone else ""
                found += _rows(self.actor, zone, start, page_of_request.limit + 1 - len(found))
        rows, more = cut(found, page_of_request.limit)
        items = [operation_json(zone.name, row) for zone, row, _ in rows]
        return page_answer(request, items, (rows[-1][0].name, rows[-1][2]) if more else None)


class DraftRRset(V2View):
    @api_operation("getDraftRRset", {200: OperationSerializer})
    def get(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Read an RRset in the draft.

        Returns the draft's version of this RRset and the published version. Needs the `read` right.
        """
        zone, key = at_path(request, zone_name, owner, type_name)
        return answer_with_tag(_operation_json(self.actor, zone, key))

    @api_operation("setDraftRRset", {200: OperationSerializer}, IF_MATCH, request=DraftedSerializer)
    def put(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Put an RRset into the draft.

        Saves the given records in your draft. With `wanted: null`, publishing the draft deletes the RRset. Needs the
        rights `add`, `change` or `remove`. `base_revision` is the zone revision that your change is based on. If
        someone else has published a change to the RRset since then, your change becomes a conflict and does not
        overwrite theirs.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        body, rrset = _read_drafted(request, zone, key)
        now, base = timezone.now(), body.get("base_revision")
        with _operation_write(request, self.actor, zone, key):
            if rrset is None:
                draft.delete_rrset(author=self.actor, zone=zone, name=key[0], type=key[1], now=now, base_revision=base)
            else:
                draft.replace_rrset(author=self.actor, zone=zone, rrset=rrset, now=now, base_revision=base)
        return answer_with_tag(_operation_json(self.actor, zone, key))

    @api_operation("discardDraftRRset", {204: None}, IF_MATCH)
    def delete(self, request: Request, zone_name: str, owner: str, type_name: str) -> HttpResponse:
        """Drop an RRset from the draft.

        Deletes the change from your draft. The published RRset stays.
        """
        zone, key = at_path(request, zone_name, owner, type_name, to_change=True)
        with _operation_write(request, self.actor, zone, key):
            if not draft.drop_operation(author=self.actor, zone=zone, name=key[0], type=key[1]):
                raise Problem("not-found", "The draft does not change this RRset.")
        return no_content()


class DraftPlan(V2View):
    @api_operation("getDraftPlan", {200: PlansSerializer}, ZONE)
    def get(self, request: Request) -> HttpResponse:
        """Review the draft.

        Returns the changes that publishing the draft would make in each zone, the rules that the draft breaks, and the
        draft's conflicts. Nothing is changed.
        """
        plans = revision.preview(author=self.actor, zones=_zones_to_publish(request, self.actor, None))
        return answer(plans_json(plans, self.actor))


class DraftPublish(V2View):
    conditional = True

    @api_operation(
        "publishDraft", {202: WrittenSerializer, 200: WrittenSerializer}, *CHANGING, request=PublishDraftSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Publish the draft.

        Publishes the draft, or only its changes to some zones, in one publication with one revision per zone. If any
        change is rejected, nothing is published. Needs the rights `add`, `change` or `remove`. `If-Match` accepts the
        draft's `ETag`.
        """
        body = read(PublishDraftSerializer, request.data)
        with _draft_write(request, self.actor):
            publication = publish_seen(
                request, self.actor, body, _zones_to_publish(request, self.actor, body.get("zones"))
            )
        return answer_publication(request, publication, {"zones": moved_by(publication, self.actor), "warnings": []})


class ConflictResolve(V2View):
    conditional = True

    @api_operation("resolveConflict", {200: OperationSerializer}, IF_MATCH, IDEMPOTENCY_KEY, request=ResolveSerializer)
    def post(self, request: Request, operation_id: int) -> HttpResponse:
        """Resolve a conflict in the draft.

        A change conflicts if someone else has published a different change to the same RRset. `theirs` drops your
        change, `mine` replaces the published change with yours, and `both` keeps the records of both changes.
        """
        operation = next((o for o in _operations(self.actor) if o.pk == operation_id), None)
        if operation is None:
            raise Problem("not-found", f"There is no operation {operation_id} in the draft.")
        key = operation.name, operation.type
        choice = read(ResolveSerializer, request.data)["choice"]
        with _operation_write(request, self.actor, operation.zone, key):
            draft.resolve(author=self.actor, operation_id=operation.pk, choice=choice, now=timezone.now())
        return answer_with_tag(_operation_json(self.actor, operation.zone, key))


def _draft_write(request: Request, actor: Actor) -> AbstractContextManager[None]:
    return conditional_write(request, f"draft/{actor.user.pk}", lambda: _draft_json(actor))


def _operation_write(request: Request, actor: Actor, zone: Zone, key: Key) -> AbstractContextManager[None]:
    """Return a `conditional_write` for one change in the draft, which locks the whole draft and checks If-Match."""
    return conditional_write(request, f"draft/{actor.user.pk}", lambda: _operation_json(actor, zone, key))


def publish_seen(
    request: Request,
    actor: Actor,
    body: Mapping[str, Any],
    zones: Sequence[Zone] | None,
    *,
    of: NamedDraft | None = None,
) -> Publication:
    """Publish the draft's changes to these zones, or those of the named draft `of`, with the options in `body`.

    `body` has the shape of `PublishDraftSerializer`. Raise the same errors as `revision.publish`, but leave out
    conflicts on RRsets that the actor is not allowed to see.
    """
    try:
        return revision.publish(
            acting=Acting(actor, Channel.API, timezone.now(), form_id=form_id_of(request)),
            zones=zones,
            of=of,
            consent=revision.Consent(
                reason=body["reason"],
                accept_warnings=body["accept_warnings"] or body.get("accepted", ()),
                confirmed=body["confirm"],
            ),
        )
    except Conflicts as exc:
        raise _seen_conflicts(actor, exc) from exc


def _operations(actor: Actor) -> list[Operation]:
    """Return the draft's changes to visible RRsets in zones that the actor is allowed to edit, sorted by zone.

    Raise Problem if there are more than MOST_OPERATIONS.
    """
    visible = access.zones_within_reach(actor, Right.READ).filter(deleted_at=None)
    operations = Operation.objects.filter(draft__author=actor.user, zone__in=visible).select_related("zone")
    found = list(operations.order_by("zone__name", "owner_key", "type")[: MOST_OPERATIONS + 1])
    if len(found) > MOST_OPERATIONS:
        raise Problem("too-large", f"The draft has more than {MOST_OPERATIONS} operations. Use the pages of the panel.")
    by_zone = {operation.zone_id: operation.zone for operation in found}
    visibilities = {
        pk: access.visibility_of(actor, zone) for pk, zone in by_zone.items() if access.may_edit_zone(actor, zone)
    }
    return [o for o in found if o.zone_id in visibilities and filter_visible([o], visibilities[o.zone_id])]


def _draft_json(actor: Actor) -> dict[str, Any]:
    """Return the numbers of changes that the actor can see in the draft, for each zone and in total.

    `digest` identifies these changes. It changes whenever one of them changes.
    """
    operations = _operations(actor)
    zones: dict[str, dict[str, Any]] = {}
    for operation in operations:
        zone = operation.zone.name
        counts = zones.setdefault(zone, {"zone": zone, "added": 0, "changed": 0, "deleted": 0})
        counts["added" if operation.base is None else "deleted" if operation.wanted is None else "changed"] += 1
    digest = tag_of([[o.pk, time_json(o.at), o.wanted] for o in operations]).strip('"')
    return {"zones": list(zones.values()), "operations": len(operations), "digest": digest}


def _operation_json(actor: Actor, zone: Zone, key: Key) -> dict[str, Any]:
    row = rrset_pages.rrset_row(zone=zone, author=actor.user, name=key[0], type=key[1])
    return operation_json(zone.name, row)


def _rows(actor: Actor, zone: Zone, after: str, limit: int) -> list[tuple[Zone, rrset_pages.RRsetRow, str]]:
    """Return the draft's changes in one zone, each with its cursor for paging. Omit changes hidden from the actor."""
    page = rrset_pages.rrset_page(
        zone=zone, author=actor.user, filters=rrset_pages.RRsetFilter(in_draft=True), after=after, limit=limit
    )
    visibility = access.visibility_of(actor, zone)
    rows = [row for row in page.rows if visibility is None or visibility(*row.change.key)]
    return [(zone, row, f"{relative_key(row.change.name, zone.name).hex()}-{row.change.type}") for row in rows]


def _read_drafted(request: Request, zone: Zone, key: Key) -> tuple[dict[str, Any], RRset | None]:
    """Return the body of a PUT, and its RRset (None for a deletion). Raise Problem if the body is invalid."""
    value = request.data
    if not isinstance(value, dict):
        return read(DraftedSerializer, value), None  # raises ValidationError
    body = read(DraftedSerializer, {**value, "wanted": None} if "wanted" in value else value)
    if value["wanted"] is None:
        return body, None
    faults = Faults()
    rrset = read_rrset(value["wanted"], zone.name, "/wanted", faults, key)
    faults.refuse()
    return body, rrset


def _zone_chosen(request: Request, actor: Actor) -> Zone | None:
    name = text_parameter(request.query_params, "zone", longest=1100)
    return access.zone_for_reading(actor, name) if name else None


def _zones_to_publish(request: Request, actor: Actor, named: Sequence[str] | None) -> list[Zone]:
    """Return the named zones. If `named` is None, return the query's zone, or else all zones with visible changes."""
    if named is not None:
        return [access.zone_for_editing(actor, name) for name in named]
    chosen = _zone_chosen(request, actor)
    return [chosen] if chosen is not None else list({o.zone_id: o.zone for o in _operations(actor)}.values())


def _seen_conflicts(actor: Actor, exc: Conflicts) -> Conflicts:
    """Return the error without conflicts on RRsets that the actor is not allowed to see."""
    zones = {c.zone_name: access.zone_for_reading(actor, c.zone_name) for c in exc.conflicts}
    return Conflicts(
        [c for c in exc.conflicts if filter_visible([c.change], access.visibility_of(actor, zones[c.zone_name]))]
    )
