"""API resources to create, list and read publish requests, and for actions such as approve, comment and publish.

A request is a draft that waits for approval or for a scheduled time.
"""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor, Permission, actor_form, person_form
from dnspanel.api.v2.http.dry_run import plans_answer
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import cut, page_answer, page_request
from dnspanel.api.v2.http.problems import Problem, bad_value
from dnspanel.api.v2.http.representation import plan_json
from dnspanel.api.v2.http.view import V2View, api_operation, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Flag,
    Moment,
    OptionalText,
    Shape,
    Text,
    choice_parameter,
    page_of,
    read,
)
from dnspanel.api.v2.schema.query_parameters import DRY_RUN, IDEMPOTENCY_KEY, IF_MATCH
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.api.v2.schema.zone_serializers import PlanSerializer, PlansSerializer
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.models import Channel, PublishRequest, RequestNote
from dnspanel.zones.requests import publish_requests, request_lists, request_status
from dnspanel.zones.rights import access


class NewRequestSerializer(Shape):
    """The draft that needs approval, and the options for publishing it."""

    name = OptionalText(max_length=named_drafts.LONGEST_NAME, help_text="Name for the waiting draft, if it has none.")
    draft = serializers.UUIDField(required=False, help_text="Key of a saved draft, instead of the current draft.")
    zones = serializers.ListField(
        child=Text(), required=False, min_length=1, max_length=1000, help_text="Zones to include; omitted: all."
    )
    reason = OptionalText(max_length=500, help_text="Reason, for the history.")
    accepted = serializers.ListField(
        child=Text(max_length=64), default=list, max_length=100, help_text="Codes of accepted warnings."
    )
    confirm = Flag(default=False, help_text="Confirms that a zone loses much.")
    publish_at = Moment(allow_null=True, default=None, help_text="Time of the automatic publication.")


class ListedRequestSerializer(Shape):
    """An approval request in a list: its author, state and outcome."""

    key = serializers.UUIDField(help_text="Id of the request in paths.")
    name = serializers.CharField()
    state = serializers.CharField(help_text="`open`, `published`, `declined`, `withdrawn` or `past-rules`.")
    asked_by = ActorSerializer(allow_null=True)
    asked_at = serializers.DateTimeField()
    reason = serializers.CharField(help_text="Reason given by the author.")
    publish_at = serializers.DateTimeField(allow_null=True)
    refusal = serializers.CharField(allow_null=True, help_text="Reason why it was not published at its time.")
    ended_at = serializers.DateTimeField(allow_null=True)
    ended_by = ActorSerializer(allow_null=True)
    publication = serializers.IntegerField(allow_null=True)
    taken_back = serializers.CharField(
        allow_null=True, help_text="Reason of a reversal: the canary could not answer with the publication."
    )


class RequestNoteSerializer(Shape):
    """A comment or a decision on a request."""

    actor = ActorSerializer(allow_null=True)
    at = serializers.DateTimeField(help_text="Time of the note.")
    verdict = serializers.CharField(help_text="`approve`, `decline` or `comment`.")
    text = serializers.CharField()
    stale = serializers.BooleanField(help_text="True for an approval of an older version.")


class DemandSerializer(Shape):
    """The approvals that one rule requires, and the people who have approved."""

    rule = serializers.IntegerField(help_text="Id of the approval rule.")
    reason = serializers.CharField(help_text="Reason of the rule.")
    needed = serializers.IntegerField(help_text="Number of required approvals.")
    given = serializers.IntegerField(help_text="Number of approvals so far.")
    who = serializers.CharField(help_text="Possible approvers, in words.")


class RequestSerializer(ListedRequestSerializer):
    """A request with its comments.

    An open request also has its changes.
    """

    digest = serializers.CharField(
        allow_null=True, help_text="Digest of the changes. `approve` approves exactly these."
    )
    demands = DemandSerializer(many=True)
    notes = RequestNoteSerializer(many=True)
    may_approve = serializers.BooleanField(help_text="True if the token can approve it.")
    may_publish = serializers.BooleanField(help_text="True if the token can publish it.")
    plans = PlanSerializer(many=True)


class RequestActSerializer(Shape):
    """The fields that actions on a request need."""

    digest = OptionalText(max_length=64, help_text="For `approve`: the reviewed digest.")
    text = OptionalText(
        max_length=publish_requests.LONGEST_TEXT, help_text="Comment; for `decline` and `past-rules` the reason."
    )
    publish_at = Moment(
        allow_null=True, default=None, help_text="For `plan`: time of the automatic publication; null: none."
    )


class RequestList(V2View):
    conditional = True

    @api_operation(
        "listRequests",
        page_of(ListedRequestSerializer),
        *PAGED,
        query_parameter("which", "Default: `mine`.", enum=["mine", "waiting", "past-rules"]),
    )
    def get(self, request: Request) -> HttpResponse:
        """List approval requests.

        `which` selects the list. `mine`: your own requests, newest first. `waiting`: the requests that wait for your
        approval. `past-rules`: the requests that bypassed the rules in the last 30 days. Needs the permission `read`.
        """
        page = page_request(request, int)
        access.require(self.actor, Permission.READ)
        which = choice_parameter(request.query_params, "which", ("mine", "waiting", "past-rules"))
        before = page.after[0] if page.after else None
        if which == "waiting":
            found = [each for each in request_lists.waiting_for(self.actor) if before is None or each.pk > before]
        elif which == "past-rules":
            since = timezone.now() - request_lists.PAST_RULES_LISTED
            past = request_lists.past_rules_lately(self.actor, since=since)
            found = [each for each in past if before is None or each.pk < before]
        else:
            found = request_lists.requests_of(self.actor, before=before, limit=page.limit + 1)
        rows, more = cut(found, page.limit)
        return page_answer(request, [_summary_json(each) for each in rows], (rows[-1].pk,) if more else None)

    @api_operation("createRequest", {201: RequestSerializer}, IDEMPOTENCY_KEY, request=NewRequestSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Request approval.

        Turns your draft, or a saved draft, into a request. The request waits for approval, for the time `publish_at`,
        or for both. If no rule requires approval, the request can be published at once or at its scheduled time. Needs
        the rights `add`, `change` or `remove` in its zones.
        """
        values = read(NewRequestSerializer, request.data)
        zones = values.get("zones")
        draft = values.get("draft")
        made = publish_requests.ask(
            author=self.actor,
            name=values["name"],
            named=None if draft is None else named_drafts.named_draft(self.actor, draft),
            zones=None if zones is None else [access.zone_for_editing(self.actor, name) for name in zones],
            terms=publish_requests.Terms(
                values["reason"],
                accepted=values["accepted"],
                confirmed=values["confirm"],
                publish_at=values["publish_at"],
            ),
            now=timezone.now(),
        )
        return answer_with_tag(request_json(self.actor, made.key), 201, Location=f"{request.path}/{made.key}")


class OneRequest(V2View):
    @api_operation("getRequest", RequestSerializer)
    def get(self, request: Request, key: UUID) -> HttpResponse:
        """Read an approval request.

        Returns the request's state, approvals and comments. An open request also has its changes and their `digest`,
        which `approve` needs.
        """
        return answer_with_tag(request_json(self.actor, key))


class RequestAct(V2View):
    """View that runs an action on an approval request, such as approve or publish."""

    conditional = True

    @api_operation(
        "actOnRequest",
        PolymorphicProxySerializer("RequestOrPlans", [RequestSerializer, PlansSerializer], None),
        OpenApiParameter(
            "act",
            str,
            OpenApiParameter.PATH,
            enum=["approve", "decline", "comment", "withdraw", "plan", "publish", "past-rules"],
        ),
        IF_MATCH,
        DRY_RUN,
        IDEMPOTENCY_KEY,
        request=RequestActSerializer,
    )
    def post(self, request: Request, key: UUID, act: str) -> HttpResponse:
        """Approve, decline, comment, withdraw, schedule or publish a request.

        `approve` and `decline` need the permission `approve`. `approve` also needs the `digest` of the changes that you
        have reviewed. `comment` needs `read`, and all other actions need `edit`. `plan` sets the time at which the
        request is published automatically.

        `publish` publishes the request in one publication, in the name of the person who requested approval.
        `past-rules` publishes the request in your name without approval; it needs the `govern` right and a reason.
        """
        if act not in _ACTS:
            raise Problem("not-found", f"There is no act {act[:40]}.")
        found = request_lists.request_for(self.actor, key)
        access.require(self.actor, _NEEDS.get(act, Permission.EDIT))
        values = read(RequestActSerializer, request.data)
        with conditional_write(request, f"request/{key}", lambda: request_json(self.actor, key)):
            _ACTS[act](self.actor, found, values)
        if (rehearsed := rehearsal.under_way()) is not None and act in _PUBLISHING:
            return plans_answer(request, rehearsed, {})
        return answer_with_tag(request_json(self.actor, key))


def _approve(actor: Actor, found: PublishRequest, values: Mapping[str, Any]) -> object:
    return publish_requests.approve(
        request=found, by=actor, seen=values["digest"], text=values["text"], now=timezone.now()
    )


def _publish(actor: Actor, found: PublishRequest, values: Mapping[str, Any]) -> object:
    return publish_requests.publish_request(request=found, by=actor, channel=Channel.API, now=timezone.now())


def _past_rules(actor: Actor, found: PublishRequest, values: Mapping[str, Any]) -> object:
    if not values["text"].strip():
        raise bad_value("/text", "`text` is required: the reason for bypassing the rules.", "required")
    return publish_requests.publish_request(
        request=found, by=actor, channel=Channel.API, now=timezone.now(), past_rules=values["text"]
    )


_PUBLISHING = ("publish", "past-rules")
_NEEDS = {"approve": Permission.APPROVE, "decline": Permission.APPROVE, "comment": Permission.READ}
_ACTS: dict[str, Callable[[Actor, PublishRequest, Mapping[str, Any]], object]] = {
    "approve": _approve,
    "decline": lambda actor, found, values: publish_requests.decline(
        request=found, by=actor, text=values["text"], now=timezone.now()
    ),
    "comment": lambda actor, found, values: publish_requests.comment(
        request=found, by=actor, text=values["text"], now=timezone.now()
    ),
    "withdraw": lambda actor, found, values: publish_requests.withdraw(request=found, by=actor, now=timezone.now()),
    "plan": lambda actor, found, values: publish_requests.publish_at_time(
        request=found, by=actor, publish_at=values["publish_at"], now=timezone.now()
    ),
    "publish": _publish,
    "past-rules": _past_rules,
}


def _summary_json(found: PublishRequest) -> dict[str, Any]:
    return row_json(
        ListedRequestSerializer,
        found,
        asked_by=actor_form(found.author.username, found.token) if found.author else None,
        refusal=found.refusal or None,
        ended_by=person_form(found.ended_by),
        taken_back=(found.publication.failed_reason or None) if found.publication else None,
    )


def request_json(actor: Actor, key: UUID) -> dict[str, Any]:
    """Return the JSON form of a request. Raise the errors of `request_for`."""
    found = request_lists.request_for(actor, key)
    status = request_status.status_of(found, actor) if found.is_open else None
    stale = {each.note.pk for each in status.approvals if each.is_stale} if status is not None else set()
    notes = [_note(note, is_stale=note.pk in stale) for note in request_lists.notes_of(found)]
    return {**_summary_json(found), **_status(actor, status), "notes": notes}


def _status(actor: Actor, status: request_status.RequestStatus | None) -> dict[str, Any]:
    if status is None:
        return {"digest": None, "demands": [], "may_approve": False, "may_publish": False, "plans": []}
    visible = access.zones_visible_to(actor).in_bulk([plan.zone.pk for plan in status.plans])
    return {
        "digest": status.digest,
        "demands": [
            row_json(DemandSerializer, each.rule, rule=each.rule.pk, given=each.given, who=each.who)
            for each in status.demands
        ],
        "may_approve": status.may_approve,
        "may_publish": status.may_publish,
        "plans": [
            plan_json(plan, access.visibility_of(actor, plan.zone)) for plan in status.plans if plan.zone.pk in visible
        ],
    }


def _note(note: RequestNote, *, is_stale: bool) -> dict[str, Any]:
    actor = actor_form(note.by.username, note.token) if note.by else None
    return row_json(RequestNoteSerializer, note, actor=actor, stale=is_stale)
