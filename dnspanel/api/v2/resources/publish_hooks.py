"""API resources to list, create, change, test and delete publish hooks, rotate their secrets, and show their health.

Callers need the `govern` right over the zones of a hook.
"""

from contextlib import AbstractContextManager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.view import V2View, answer, api_operation, no_content
from dnspanel.api.v2.resources.publish_rules import ScopedSerializer, page_of_rules, scope_in, scope_json
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import PAGED, Choice, Integer, OptionalText, Text, page_of, read
from dnspanel.api.v2.schema.query_parameters import IF_MATCH
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.address_guard import LONGEST_URL
from dnspanel.webhooks.place_publish_hooks import LEAST_SECONDS, LONGEST_NAME, MOST_SECONDS, HookTerms
from dnspanel.zones.governance.hook_health import summary_of
from dnspanel.zones.governance.publish_rules import scope_of
from dnspanel.zones.models import HookReply, PublishHook, WhenSilent


class NewPublishHookSerializer(ScopedSerializer):
    """A publish hook to create: its URL, zones and settings."""

    name = OptionalText(
        max_length=LONGEST_NAME,
        help_text="Name, shown to people whose change the hook refuses; they never see the URL.",
    )
    url = Text(max_length=LONGEST_URL, help_text="URL for questions, sent as signed POST.")
    seconds = Integer(
        default=5, min_value=LEAST_SECONDS, max_value=MOST_SECONDS, help_text="Time limit of an answer, in seconds."
    )
    when_silent = Choice(
        choices=WhenSilent.choices,
        default=WhenSilent.REFUSE,
        help_text="Handling of a publication without a valid answer.",
    )


class PublishHookSerializer(NewPublishHookSerializer):
    """A publish hook, without its secret."""

    id = serializers.IntegerField()
    placed_by = ActorSerializer(allow_null=True)
    placed_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(allow_null=True, help_text="Start of the failures; null: no failures.")


class HookHealthSerializer(serializers.Serializer):
    """The health of a publish hook: its last reply and its failures."""

    questioned_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last question, including tests.")
    ms = serializers.FloatField(allow_null=True, help_text="Duration of the last answer, in milliseconds.")
    failing_since = serializers.DateTimeField(allow_null=True, help_text="Start of the failures; null: no failures.")
    failures = serializers.IntegerField(help_text="Number of failures since the last answer.")
    error = serializers.CharField(help_text="Reason of the last failure.")
    median_ms = serializers.FloatField(allow_null=True, help_text="Median duration of the answers in `replies`.")


class HookReplySerializer(serializers.Serializer):
    """A reply of a publish hook."""

    at = serializers.DateTimeField(help_text="Time of the answer.")
    answer = serializers.ChoiceField(choices=HookReply.Word.choices, help_text="Answer of the hook.")
    reason = serializers.CharField(help_text="Reason from the hook; without an answer, the failure.")
    ticket = serializers.CharField(help_text="Ticket in the answer.")
    ms = serializers.FloatField(help_text="Duration of the answer, in milliseconds.")
    zones = serializers.IntegerField(help_text="Number of zones in the question.")
    test = serializers.BooleanField(help_text="True if the question was a test.")


class HookHealthAndRepliesSerializer(HookHealthSerializer):
    """The health of a publish hook, and the hook's last replies, newest first."""

    replies = HookReplySerializer(many=True)


class HookTestSerializer(serializers.Serializer):
    """The publish hook's reply to an example question."""

    answer = serializers.ChoiceField(choices=HookReply.Word.choices, help_text="Answer of the hook.")
    reason = serializers.CharField(help_text="Reason from the hook; without an answer, the failure.")
    ticket = serializers.CharField(help_text="Ticket in the answer.")
    ms = serializers.FloatField(help_text="Duration of the answer, in milliseconds.")


class HookSecretSerializer(serializers.Serializer):
    """The new secret of a publish hook.

    The old secret works for another day.
    """

    secret = serializers.CharField(allow_null=True, help_text="Shown only once.")


class PlacedPublishHookSerializer(PublishHookSerializer):
    """A new publish hook with its secret.

    The secret is shown only once.
    """

    secret = serializers.CharField(allow_null=True, help_text="Key that signs questions and answers. Shown only once.")


class PublishHooks(V2View):
    @api_operation("listPublishHooks", page_of(PublishHookSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List publish hooks.

        Lists hooks for zones that the token can govern, newest first.
        """
        return page_of_rules(request, place_publish_hooks.hooks(self.actor), _hook)

    @api_operation("createPublishHook", {201: PlacedPublishHookSerializer}, request=NewPublishHookSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a publish hook.

        From then on, the panel sends a question to the hook's URL before each publication in the hook's zones. The
        panel publishes a change only after a signed approval of exactly that change, or, if `when_silent` is `pass`,
        without a valid answer. Needs the `govern` right. The response includes the secret, which is shown only once.
        """
        values = read(NewPublishHookSerializer, request.data)
        made = place_publish_hooks.add_hook(
            scope=scope_in(self.actor, values),
            terms=_terms(values),
            reason=values["reason"],
            author=self.actor,
            now=timezone.now(),
        )
        value = {**_hook(made.hook), "secret": made.secret}
        return once(value, secret="secret", Location=f"{request.path}/{made.hook.pk}")


class OnePublishHook(V2View):
    @api_operation("getPublishHook", PublishHookSerializer)
    def get(self, request: Request, hook_id: int) -> HttpResponse:
        """Read a publish hook.

        Returns the hook's zones, URL and settings, without the secret. Needs the `govern` right.
        """
        return answer_with_tag(_hook(place_publish_hooks.hook_for(self.actor, hook_id)))

    @api_operation("changePublishHook", PublishHookSerializer, IF_MATCH, request=NewPublishHookSerializer)
    def patch(self, request: Request, hook_id: int) -> HttpResponse:
        """Change a publish hook.

        The secret and all fields that the request body omits stay unchanged. Earlier replies of the hook become
        invalid. Needs the `govern` right.
        """
        hook = place_publish_hooks.hook_for(self.actor, hook_id)
        given = read(NewPublishHookSerializer, request.data, partial=True)
        with _guard_write(request, self.actor, hook_id):
            hook = place_publish_hooks.hook_for(self.actor, hook_id)
            values = {**_hook(hook), **given}
            changed = place_publish_hooks.change_hook(
                hook=hook,
                scope=scope_in(self.actor, values) if _SCOPE & given.keys() else scope_of(hook),
                terms=_terms(values),
                reason=values["reason"],
                author=self.actor,
                now=timezone.now(),
            )
        return answer_with_tag(_hook(changed))

    @api_operation("deletePublishHook", {204: None}, IF_MATCH)
    def delete(self, request: Request, hook_id: int) -> HttpResponse:
        """Delete a publish hook.

        The panel no longer sends questions to the hook. Changes that the hook refused can then be published without it.
        Needs the `govern` right.
        """
        place_publish_hooks.hook_for(self.actor, hook_id)
        with _guard_write(request, self.actor, hook_id):
            place_publish_hooks.lift_hook(hook_id=hook_id, author=self.actor, now=timezone.now())
        return no_content()


class PublishHookRotation(V2View):
    conditional = True

    @api_operation("rotatePublishHookSecret", {201: HookSecretSerializer}, request=None)
    def post(self, request: Request, hook_id: int) -> HttpResponse:
        """Replace the secret of a publish hook.

        Returns the new secret, which is shown only once. For a day, the panel signs questions with both secrets, and
        the hook can sign replies with either secret. Needs the `govern` right.
        """
        place_publish_hooks.hook_for(self.actor, hook_id)
        with _guard_write(request, self.actor, hook_id):
            made = place_publish_hooks.rotate_secret(hook_id=hook_id, author=self.actor, now=timezone.now())
        return once({"secret": made.secret}, secret="secret")


class PublishHookTest(V2View):
    @api_operation("testPublishHook", HookTestSerializer, request=None)
    def post(self, request: Request, hook_id: int) -> HttpResponse:
        """Test a publish hook.

        Sends an example question with `"test": true` and returns the hook's reply. Nothing is published. Needs the
        right `govern`.
        """
        place_publish_hooks.hook_for(self.actor, hook_id)
        found = place_publish_hooks.try_hook(hook_id=hook_id, author=self.actor, clock=timezone.now)
        told = found.fault or found.reason
        return answer({"answer": found.word, "reason": told, "ticket": found.ticket, "ms": round(found.ms, 1)})


class PublishHookHealth(V2View):
    @api_operation("getPublishHookHealth", HookHealthAndRepliesSerializer)
    def get(self, request: Request, hook_id: int) -> HttpResponse:
        """Read the health of a publish hook.

        Returns the hook's failures and its last replies (at most 50), each with its time. Needs the `govern` right.
        """
        hook = place_publish_hooks.hook_for(self.actor, hook_id)
        replies = place_publish_hooks.replies_of(hook)
        median, listed = summary_of(replies).median_ms, [_reply(reply) for reply in replies]
        return answer(row_json(HookHealthAndRepliesSerializer, hook, median_ms=median, replies=listed))


_SCOPE = frozenset({"zone", "tag", "team"})


def _terms(values: dict[str, Any]) -> HookTerms:
    return HookTerms(**{name: values[name] for name in HookTerms.__dataclass_fields__})


def _guard_write(request: Request, actor: Actor, hook_id: int) -> AbstractContextManager[None]:
    return conditional_write(
        request, f"publish-hook/{hook_id}", lambda: _hook(place_publish_hooks.hook_for(actor, hook_id))
    )


def _hook(hook: PublishHook) -> dict[str, Any]:
    return row_json(PublishHookSerializer, hook, **scope_json(hook))


def _reply(reply: HookReply) -> dict[str, Any]:
    return row_json(HookReplySerializer, reply, answer=reply.word, ms=round(reply.ms, 1), test=reply.is_test)
