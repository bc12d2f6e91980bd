"""API resources for a zone's history: list and read revisions, undo them, and restore the zone to a revision."""

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.accepted import answer_outcome, answer_publication
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_parameter
from dnspanel.api.v2.http.representation import change_json, revision_json, rrset_json
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, form_id_of, query_parameter
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.api.v2.resources.publications import publication_for
from dnspanel.api.v2.resources.publishing import Terms, publish
from dnspanel.api.v2.resources.restorations import answer_restored, select_zones, zones_gone_for_good
from dnspanel.api.v2.schema.fields import PAGED, page_of, read, text_parameter
from dnspanel.api.v2.schema.many_serializers import UndoneSerializer
from dnspanel.api.v2.schema.parsing import owner_of
from dnspanel.api.v2.schema.publication_serializers import RevisionDiffSerializer, RevisionSerializer, WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import WRITING
from dnspanel.api.v2.schema.zone_serializers import RRsetSerializer, UndoSerializer
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import CannotUndo, Conflicts, RevisionUnknown
from dnspanel.zones.log import history
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Channel, Publication, Revision, RevisionKind, Zone
from dnspanel.zones.plan.merge import Changes, Conflict, is_already_so
from dnspanel.zones.publishing import pieces, restore_zones, revision
from dnspanel.zones.publishing.zone_patches import CurrentRRsets, Patch
from dnspanel.zones.rights import access
from dnspanel.zones.store.stored_changes import change_of
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns.rrset import Change, Key, RRset
from replication.errors import BadName

MOST_CHANGES_LISTED = 1000
MOST_UNDONE = 10_000  # RRsets
_UNDONE = {202: WrittenSerializer, 200: WrittenSerializer}


class RevisionList(V2View):
    @api_operation(
        "listRevisions",
        {200: page_of(RevisionSerializer)},
        query_parameter("name", "Only revisions that changed an RRset with this owner name."),
        *PAGED,
    )
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List revisions.

        Lists the revisions of a zone, newest first, with time, author and number of RRsets. Needs the `read` right.

        With `name`, lists only revisions that changed this name. The list is then empty for a token that cannot see all
        RRsets that changed at that name.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        page = page_request(request, int)
        before = min(page.after[0], 2**31 - 1) if page.after else None
        filters = _filters(request, zone, self.actor)
        found = [] if filters is None else history.revisions_below(zone, before, page.limit + 1, filters)
        rows, more = cut(found, page.limit)
        items = [revision_json(zone.name, row, self.actor) for row in rows]
        return page_answer(request, items, (rows[-1].number,) if more else None)


class RevisionDetail(V2View):
    @api_operation("getRevision", {200: RevisionDiffSerializer})
    def get(self, request: Request, zone_name: str, number: int) -> HttpResponse:
        """Read a revision.

        Returns the changes in the revision, RRset by RRset, with the records before and after. At most 1,000 RRsets are
        listed; `left_out` is the number of others. Needs the `read` right. A change of only the SOA's serial is not
        listed, because every revision changes it.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        found = revision_of(zone, number)
        changes = filter_visible(history.revision_changes(revision=found), access.visibility_of(self.actor, zone))
        listed = [change_json(change) for change in changes[:MOST_CHANGES_LISTED]]
        body = {**revision_json(zone.name, history.history_row(found), self.actor), "changes": listed}
        return answer({**body, "left_out": len(changes) - len(listed)})


class RevisionRRsets(V2View):
    @api_operation("listRevisionRRsets", {200: page_of(RRsetSerializer)}, *PAGED)
    def get(self, request: Request, zone_name: str, number: int) -> HttpResponse:
        """List the RRsets of a revision.

        Lists the whole zone at the revision, in canonical order. Needs the `read` right.
        """
        zone = access.zone_for_reading(self.actor, zone_name)
        found = revision_of(zone, number)
        page = page_request(request, int)
        visibility = access.visibility_of(self.actor, zone)
        # A revision never changes, so the cursor is the number of RRsets before the page.
        start = page.after[0] if page.after else 0
        then = (
            r
            for r in history.rrsets_at(zone=zone, number=found.number)
            if visibility is None or visibility(r.name, r.type)
        )
        rows, more = cut(list(islice(then, max(0, start), max(0, start) + page.limit + 1)), page.limit)
        return page_answer(request, [rrset_json(rrset) for rrset in rows], (start + len(rows),) if more else None)


class RevisionUndo(V2View):
    # Unconditional: later changes by others are never undone.
    @api_operation("undoRevision", _UNDONE, *WRITING, request=UndoSerializer)
    def post(self, request: Request, zone_name: str, number: int) -> HttpResponse:
        """Undo a revision.

        Publishes a new revision that restores the RRsets to their state before the undone revision. Needs the rights
        `add`, `change` or `remove`. Returns 409 `changed-by-others` if the same RRsets were changed again later. `into:
        draft` puts the changes into your draft instead.
        """
        zone = access.zone_for_editing(self.actor, zone_name)
        found = revision_of(zone, number)
        return _undo(request, [found])


class PublicationUndo(V2View):
    @api_operation("undoPublication", {202: UndoneSerializer, 200: UndoneSerializer}, *WRITING, request=UndoSerializer)
    def post(self, request: Request, sequence: int) -> HttpResponse:
        """Undo a publication.

        Reverts the changes of the publication, in all its zones or in none. If a write was published in several
        publications, undoing any of them undoes the whole write. Needs the rights `add`, `change` or `remove` in each
        zone. `into: draft` puts the changes into your draft instead.

        Zones that the publication deleted are restored, as with `restoreZones`. This isn't possible with `into: draft`.
        A zone that cannot be restored is listed in `outcome`.
        """
        publication = publication_for(self.actor, sequence)
        parts = pieces.parts_of(publication)
        revisions = Revision.objects.filter(publication__in=parts).select_related("zone")
        found = list(revisions.order_by("zone_id", "number"))
        changes = [one for one in found if one.kind != RevisionKind.DELETE]
        if len({one.zone_id for one in changes}) > 1000:
            raise Problem("too-large", "At most 1,000 zones can be undone at once.")
        if len(changes) < len(found) or not found:
            return _undo_deletion(request, publication, changes)
        return _undo(request, [_editable(self.actor, one) for one in changes])


class ZoneRestoreTo(V2View):
    # Unconditional: the result doesn't depend on the zone's current state.
    @api_operation("restoreRevision", _UNDONE, *WRITING, request=UndoSerializer)
    def post(self, request: Request, zone_name: str, number: int) -> HttpResponse:
        """Restore a zone to a revision.

        Publishes the RRsets of the revision, and reverts all later changes. Needs the `add` right, `change` or
        `remove`, depending on the changes. `into: draft` puts the changes into your draft instead.
        """
        zone = access.zone_for_editing(self.actor, zone_name)
        found = revision_of(zone, number)
        body = read(UndoSerializer, request.data)
        if body["into"] == "draft":
            revision.restore_to(zone=zone, number=found.number, author=self.actor, now=timezone.now())
            return _answer_drafted(request)
        return answer_outcome(request, publish(request, [_patch_of_state(zone, found.number)], _terms(body)))


def _filters(request: Request, zone: Zone, actor: Actor) -> history.HistoryFilters | None:
    """Return the filters in the query, or None if the actor can't see all changes at the given name.

    Raise Problem for an invalid name.
    """
    if not (text := text_parameter(request.query_params, "name", longest=1100)):
        return history.EVERY_REVISION
    try:
        name = owner_of(text, zone.name)
    except BadName as exc:
        raise bad_parameter("name", str(exc), "bad-name") from exc
    if (visibility := access.visibility_of(actor, zone)) is not None:
        changes = StoredChange.objects.filter(revision__zone=zone, owner_key=relative_key(name, zone.name))
        types = changes.order_by("type").values_list("type", flat=True).distinct()
        if not all(visibility(name, type) for type in types):
            return None
    return history.HistoryFilters(name=name)


def revision_of(zone: Zone, number: int) -> Revision:
    """Return the zone's revision with this number. Raise RevisionUnknown (404) if it doesn't exist, or no longer."""
    revisions = Revision.objects.select_related("publication__author", "zone").filter(zone=zone)
    found = revisions.filter(number=number).first() if number < 2**31 else None
    if found is None:
        raise RevisionUnknown(zone.name, number, newest=zone.revision)
    return found


def patches_of_undo(actor: Actor, revisions: Iterable[Revision]) -> list[Patch]:
    """Return one patch per zone that undoes these revisions. `revisions` must be sorted by zone, then by number."""
    return [_patch_of_undo(actor, list(of_zone)) for _, of_zone in groupby(revisions, key=lambda one: one.zone_id)]


def _patch_of_undo(actor: Actor, revisions: Sequence[Revision]) -> Patch:
    """Return a patch that undoes revisions of one zone. RRsets that are already undone stay unchanged.

    Applying the patch raises Conflicts if an RRset has changed otherwise since these revisions. Raise CannotUndo if a
    revision isn't a change of RRsets. Raise RightMissing if the actor isn't allowed to see one of the RRsets, because a
    conflict would reveal it.
    """
    zone = revisions[0].zone
    for found in revisions:
        if found.kind != RevisionKind.CHANGE:
            raise CannotUndo(f"Revision {found.number} of {zone.name} did not change RRsets, so it cannot be undone.")
    undone = _changes(_stored_changes(revisions))
    access.refuse_unseen(actor, zone, undone)

    def decide(current: CurrentRRsets) -> Changes:
        changes: dict[Key, RRset | None] = {}
        conflicts = []
        for change in undone:
            theirs = current.get(change.key)
            if soa.same_to_dns(theirs, change.after):
                changes[change.key] = change.before
            elif not is_already_so(theirs, change.before):
                inverse = Change(*change.key, before=change.after, after=change.before)
                conflicts.append(Conflict(zone.name, inverse, theirs))
        if conflicts:
            raise Conflicts(conflicts)
        return changes

    return Patch(zone, decide, {change.name for change in undone})


def _stored_changes(revisions: Sequence[Revision]) -> "QuerySet[StoredChange]":
    """Return the stored changes of these revisions, limited to one more than can be undone.

    Each RRset occurs once, because revisions of one zone in the same write never change the same owner name.
    """
    found = StoredChange.objects.filter(revision__in=revisions)
    return found.order_by("revision__number", "owner_key", "type")[: MOST_UNDONE + 1]


def _undo(request: Request, revisions: Sequence[Revision]) -> HttpResponse:
    actor = actor_in(request)
    body = read(UndoSerializer, request.data)
    if body["into"] == "draft":
        revision.undo_revisions(revisions=revisions, author=actor, now=timezone.now())
        return _answer_drafted(request)
    return answer_outcome(request, publish(request, patches_of_undo(actor, revisions), _terms(body)))


def _undo_deletion(request: Request, publication: Publication, changes: Sequence[Revision]) -> HttpResponse:
    """Undo the publication's changes to RRsets, then restore the zones that the publication deleted.

    Raise CannotUndo for a draft, or if nothing is left to undo because the zones were permanently deleted.
    """
    actor, body = actor_in(request), read(UndoSerializer, request.data)
    if body["into"] == "draft":
        raise CannotUndo("A draft cannot restore deleted zones. Undo the deletion without a draft.")
    zones = select_zones(restore_zones.TrashSelection(publication=publication.sequence), actor)
    unknown = zones_gone_for_good(publication, actor)
    if not zones and not changes and restore_zones.is_out_of_trash(publication, timezone.now()):
        raise CannotUndo(f"The zones of publication {publication.sequence} were permanently deleted.")
    undone = None
    if changes:
        patches = patches_of_undo(actor, [_editable(actor, one) for one in changes])
        undone = publish(request, patches, _terms(body)).publication
    done = restore_zones.restore_zones(
        zones=zones,
        acting=Acting(actor, Channel.API, timezone.now(), body["reason"], None if changes else form_id_of(request)),
        joins=undone,
    )
    return answer_restored(request, done, unknown, undone)


def _patch_of_state(zone: Zone, number: int) -> Patch:
    """Return a patch that restores the zone to this revision. The patch is rejected if the zone has changed again."""
    since = StoredChange.objects.filter(revision__zone=zone, revision__number__gt=number)
    first = since.order_by("owner_key", "type", "revision__number").distinct("owner_key", "type")
    since_then = _changes(first[: MOST_UNDONE + 1])

    def decide(current: CurrentRRsets) -> Changes:
        return {c.key: c.before for c in since_then if not soa.same(current.get(c.key), c.before)}

    return Patch(zone, decide, {change.name for change in since_then}, at_revision=zone.revision)


def _changes(rows: Iterable[StoredChange]) -> list[Change]:
    """Return the rows' changes, except changes of only the SOA serial. Raise Problem for more than MOST_UNDONE rows."""
    found = list(rows)
    if len(found) > MOST_UNDONE:
        raise Problem("too-large", f"At most {MOST_UNDONE} RRsets can be undone at once. Use a draft.")
    return [change for change in map(change_of, found) if not soa.same(change.before, change.after)]


def _editable(actor: Actor, found: Revision) -> Revision:
    """Return the revision. Raise Unknown or Forbidden if the actor is not allowed to see or edit the revision's zone.

    Raise CannotUndo if the zone is in the trash.
    """
    access.zone_for_editing(actor, found.zone.name)
    if found.zone.deleted_at is not None:
        raise CannotUndo(f"{found.zone.name} is in the trash. Restore it first.")
    return found


def _terms(body: dict[str, Any]) -> Terms:
    return Terms(body["reason"], body["confirm"], body["accept_warnings"])


def _answer_drafted(request: Request) -> HttpResponse:
    """Return the response for changes that were put into the draft: no publication, and the draft's URL."""
    return answer_publication(request, None, {"zones": [], "warnings": []}, headers={"Location": "/api/v2/draft"})
