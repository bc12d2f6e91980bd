"""API resources to list, save, review, publish, resume, release and delete saved drafts.

A token sees saved drafts that belong to its owner or are shared with its owner. The token's scope must cover at least
one change in the draft.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission, person_form
from dnspanel.api.v2.http.accepted import answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import plans_json
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.view import V2View, answer, api_operation, no_content
from dnspanel.api.v2.resources.drafts import publish_seen
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.draft_serializers import PublishDraftSerializer
from dnspanel.api.v2.schema.fields import PAGED, Flag, OptionalText, Shape, Text, page_of, read
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, IDEMPOTENCY_KEY, IF_MATCH
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.zone_serializers import PlansSerializer
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.errors import DraftUnknown
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access


class NamedDraftSerializer(Shape):
    """A saved draft.

    All counts cover only zones and RRsets that the token can see.
    """

    key = serializers.UUIDField(help_text="Id of the draft in paths.")
    name = serializers.CharField()
    owned_by = ActorSerializer(allow_null=True, help_text="Owner of the draft.")
    held_by = ActorSerializer(allow_null=True, help_text="Person who works in it now; null: no one.")
    may_edit = serializers.BooleanField(help_text="True if the caller can resume and publish it.")
    operations = serializers.IntegerField(help_text="Number of changed RRsets.")
    zones = serializers.IntegerField()
    changed_at = serializers.DateTimeField()


class NewNamedDraftSerializer(Shape):
    """The name for the saved draft, and the zones whose changes to save."""

    name = Text(max_length=named_drafts.LONGEST_NAME)
    zones = serializers.ListField(
        child=Text(), required=False, min_length=1, max_length=1000, help_text="Zones to save; omitted: all."
    )


class TakeUpSerializer(Shape):
    """The action for unnamed changes in the current draft.

    The changes are saved under a name, or moved into the resumed draft.
    """

    aside = OptionalText(
        max_length=named_drafts.LONGEST_NAME, help_text="Name under which to save the unnamed changes."
    )
    merge = Flag(default=False, help_text="Move the unnamed changes into the resumed draft.")


class NamedDraftList(V2View):
    conditional = True

    @api_operation("listNamedDrafts", page_of(NamedDraftSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List saved drafts.

        Lists drafts that you have saved under a name, and drafts that others share with you, newest first. Needs the
        permission `read`.
        """
        page = page_request(request, int)
        access.require(self.actor, Permission.READ)
        before = page.after[0] if page.after else None
        found = named_drafts.named_draft_page(self.actor, before=before, limit=page.limit + 1)
        rows, more = cut(found, page.limit)
        items = [_json(named) for named in rows if named.changes]
        return page_answer(request, items, (rows[-1].draft.pk,) if more else None)

    @api_operation("createNamedDraft", {201: NamedDraftSerializer}, IDEMPOTENCY_KEY, request=NewNamedDraftSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Save the draft under a name.

        Moves your draft, or only its changes to some zones, to a saved draft with the given name. Needs the rights
        `add`, `change` or `remove` in these zones.
        """
        values = read(NewNamedDraftSerializer, request.data)
        zones = _zones(self.actor, values.get("zones"))
        made = named_drafts.put_aside(author=self.actor, name=values["name"], now=timezone.now(), zones=zones)
        return answer_with_tag(_json(_visible_draft(self.actor, made.key)), 201, Location=f"{request.path}/{made.key}")


class OneNamedDraft(V2View):
    @api_operation("getNamedDraft", NamedDraftSerializer)
    def get(self, request: Request, key: UUID) -> HttpResponse:
        """Read a saved draft.

        Returns the draft's name, owner and number of changes. Needs the permission `read`.
        """
        return answer_with_tag(_json(_visible_draft(self.actor, key)))

    @api_operation("discardNamedDraft", {204: None}, IF_MATCH)
    def delete(self, request: Request, key: UUID) -> HttpResponse:
        """Delete a saved draft.

        Deletes the draft and all its changes, and withdraws its approval request. Nothing is published. Only the
        draft's owner can delete it. Needs the permission `edit`.
        """
        named = _to_change(self.actor, key)
        with _write(request, self.actor, key):
            named_drafts.discard_named(by=self.actor, named=named, now=timezone.now())
        return no_content()


class NamedDraftPlan(V2View):
    @api_operation("getNamedDraftPlan", PlansSerializer)
    def get(self, request: Request, key: UUID) -> HttpResponse:
        """Review a saved draft.

        Returns the changes that publishing the draft would make in each zone, the rules that the draft breaks, and the
        draft's conflicts. Nothing is changed. Needs the permission `read`.
        """
        plans = revision.preview(author=self.actor, of=_visible_draft(self.actor, key))
        return answer(plans_json(plans, self.actor))


class NamedDraftPublish(V2View):
    conditional = True

    @api_operation(
        "publishNamedDraft", {202: WrittenSerializer, 200: WrittenSerializer}, *CHANGING, request=PublishDraftSerializer
    )
    def post(self, request: Request, key: UUID) -> HttpResponse:
        """Publish a saved draft.

        Publishes the changes that the token can see, in one publication, or nothing. `zones` limits this to some zones.
        Needs the rights `add`, `change` or `remove`. The draft is deleted if no changes are left in it.
        """
        named = _to_change(self.actor, key)
        body = read(PublishDraftSerializer, request.data)
        zones = _zones(self.actor, body.get("zones"))
        with _write(request, self.actor, key):
            publication = publish_seen(request, self.actor, body, zones, of=named)
        return answer_publication(request, publication, {"zones": moved_by(publication, self.actor), "warnings": []})


class NamedDraftTakeUp(V2View):
    conditional = True

    @api_operation("resumeNamedDraft", NamedDraftSerializer, IF_MATCH, IDEMPOTENCY_KEY, request=TakeUpSerializer)
    def post(self, request: Request, key: UUID) -> HttpResponse:
        """Resume a saved draft.

        Makes the saved draft your current draft, at `/draft`. Needs the permission `edit`. If you were working in
        another saved draft, that draft is released. If your current draft has unnamed changes, the body must either
        save them under a name (`aside`) or move them into the resumed draft (`merge`).
        """
        named = _to_change(self.actor, key)
        values = read(TakeUpSerializer, request.data)
        with _write(request, self.actor, key):
            named_drafts.take_up(author=self.actor, named=named, now=timezone.now(), **values)
        return answer_with_tag(_json(_visible_draft(self.actor, key)))


class NamedDraftPutBack(V2View):
    """View that releases a saved draft, which lets someone else resume it."""

    conditional = True

    @api_operation("releaseNamedDraft", NamedDraftSerializer, IF_MATCH, IDEMPOTENCY_KEY, request=None)
    def post(self, request: Request, key: UUID) -> HttpResponse:
        """Release a saved draft.

        Someone else can then resume the draft. Only the owner and the person who is working in the draft can release
        it. Needs the permission `edit`.
        """
        named = _to_change(self.actor, key)
        with _write(request, self.actor, key):
            named_drafts.put_back(by=self.actor, named=named, now=timezone.now())
        return answer_with_tag(_json(_visible_draft(self.actor, key)))


def _visible_draft(actor: Actor, key: UUID) -> named_drafts.NamedDraft:
    """Return the saved draft. Raise DraftUnknown if the token can't see any change in the draft."""
    access.require(actor, Permission.READ)
    named = named_drafts.named_draft(actor, key)
    if not named.changes:
        raise DraftUnknown
    return named


def _to_change(actor: Actor, key: UUID) -> named_drafts.NamedDraft:
    """Return the saved draft. Raise Forbidden if the actor lacks `edit`, and DraftUnknown if the draft is hidden."""
    named = _visible_draft(actor, key)
    access.require(actor, Permission.EDIT)
    return named


def _zones(actor: Actor, names: Sequence[str] | None) -> list[Zone] | None:
    return None if names is None else [access.zone_for_editing(actor, name) for name in names]


def _write(request: Request, actor: Actor, key: UUID) -> Any:
    return conditional_write(request, f"draft/{key}", lambda: _json(_visible_draft(actor, key)))


def _json(named: named_drafts.NamedDraft) -> dict[str, Any]:
    return row_json(
        NamedDraftSerializer,
        named.draft,
        owned_by=person_form(named.draft.owner),
        held_by=person_form(named.draft.author),
        may_edit=named.may_edit,
        operations=named.changes,
        zones=named.zones,
    )
