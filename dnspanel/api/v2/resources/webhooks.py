"""API resources to list, create, change, test and delete webhooks, rotate secrets, and list and replay deliveries."""

from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import actor_form
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write, once
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.view import V2View, answer, api_operation, form_id_of, no_content, query_parameter
from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.fields import (
    PAGED,
    Choice,
    Flag,
    Integer,
    OptionalText,
    Shape,
    Text,
    ZoneName,
    choice_parameter,
    page_of,
    read,
)
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.texts import gettext
from dnspanel.webhooks import access, hooks
from dnspanel.webhooks.errors import WebhookUnknown
from dnspanel.webhooks.models import SUBSCRIBABLE, Delivery, DeliveryState, EventKind, Format, Webhook
from dnspanel.webhooks.sending_time import GATHERED

EVENTS = [(str(kind), kind.label) for kind in SUBSCRIBABLE]


class WebhookSerializer(Shape):
    """A webhook, which sends events to a URL or by mail to its owner."""

    id = serializers.IntegerField(read_only=True)
    format = Choice(choices=Format.choices, default=Format.EVENTS, help_text="Cannot be changed later.")
    url = OptionalText(
        max_length=2000, help_text="Public https URL, or one in a network that the panel allows; empty for mail."
    )
    events = serializers.ListField(child=Choice(choices=EVENTS), min_length=1, max_length=len(EVENTS))
    description = OptionalText(max_length=100)
    zones = serializers.ListField(
        child=ZoneName(),
        default=list,
        max_length=hooks.MOST_IN_SCOPE,
        help_text="Only publications that change one of these zones, or a zone of `tags` or `teams`. If all three are "
        "empty, all publications.",
    )
    tags = serializers.ListField(child=Text(max_length=40), default=list, max_length=hooks.MOST_IN_SCOPE)
    teams = serializers.ListField(
        child=Integer(), default=list, max_length=hooks.MOST_IN_SCOPE, help_text="Ids of teams."
    )
    gather_minutes = Integer(
        default=0, help_text=f"For people: minutes of events that make one message; {', '.join(map(str, GATHERED))}."
    )
    quiet_from = serializers.TimeField(
        allow_null=True, default=None, help_text="In the owner's time zone; events wait until `quiet_until`."
    )
    quiet_until = serializers.TimeField(allow_null=True, default=None)
    active = Flag(default=True, help_text="Switched off after days of failures; switching on resets the failures.")
    owner = serializers.IntegerField(read_only=True)
    created_by = ActorSerializer(help_text="Owner and creating token; the webhook ends with the token.")
    failing_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Start of the failures; null: no failures."
    )
    disabled_reason = serializers.CharField(read_only=True, help_text="Reason why it was switched off.")
    created_at = serializers.DateTimeField(read_only=True)


class NewWebhookSerializer(WebhookSerializer):
    """A new webhook with the secret that signs its requests.

    The secret is shown only once.
    """

    secret = serializers.CharField(read_only=True, allow_null=True)


class SecretSerializer(serializers.Serializer):
    """The new secret of a webhook.

    For a day, requests are signed with both the old and the new secret.
    """

    secret = serializers.CharField(allow_null=True)


class DeliverySerializer(serializers.Serializer):
    """One event for one webhook, and the result of the last attempt."""

    id = serializers.IntegerField()
    event = serializers.ChoiceField(choices=EventKind.choices)
    event_id = serializers.CharField(help_text="The `webhook-id` header, the same in every attempt and replay.")
    number = serializers.IntegerField(
        help_text="Count of the webhook's deliveries, from 1; a replay has the number of the first delivery."
    )
    state = serializers.ChoiceField(choices=DeliveryState.choices)
    attempts = serializers.IntegerField(help_text="Number of attempts so far.")
    next_at = serializers.DateTimeField(allow_null=True, help_text="Time of the next attempt; null: none.")
    attempted_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last attempt.")
    status = serializers.IntegerField(allow_null=True, help_text="HTTP status of the receiver's response.")
    error = serializers.CharField(help_text="Reason why the last attempt failed.")
    ms = serializers.FloatField(allow_null=True, help_text="Duration of the response, in milliseconds.")
    replay_of = serializers.IntegerField(allow_null=True, help_text="Id of the delivery that this one repeats.")
    created_at = serializers.DateTimeField()


class Webhooks(V2View):
    @api_operation("listWebhooks", page_of(WebhookSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List webhooks.

        Lists your own webhooks, newest first. With the permission `people`, lists everyone's webhooks. A token with
        limits sees only webhooks that it created.
        """
        found = access.webhooks_visible_to(self.actor)
        return page_by_id(request, found, each_as(webhook_json), newest_first=True)

    @api_operation("createWebhook", {201: NewWebhookSerializer}, request=WebhookSerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a webhook.

        The response includes the secret that signs the webhook's requests, or null for a format that is not signed. The
        secret is shown only once. The section `webhooks` of this document describes the requests. Needs the permission
        `read` or `fleet`, and a token that is not limited to names or types.
        """
        now = timezone.now()
        access.require_webhooks(self.actor)
        values = read(WebhookSerializer, request.data)
        terms = hooks.WebhookTerms(**{name: values[name] for name in hooks.WebhookTerms.__dataclass_fields__})
        new = hooks.create_webhook(terms=terms, by=self.actor, now=now, form_id=form_id_of(request))
        if not values["active"]:
            hooks.change_webhook(webhook=new.webhook, by=self.actor, now=now, active=False)
        value = webhook_json(new.webhook) | {"secret": new.secret if terms.format == Format.EVENTS else None}
        return once(value, secret="secret", Location=f"{request.path}/{new.webhook.pk}")


class OneWebhook(V2View):
    @api_operation("getWebhook", WebhookSerializer)
    def get(self, request: Request, webhook_id: int) -> HttpResponse:
        """Read a webhook.

        Returns the webhook's URL, events and state, without the secret.
        """
        return answer_with_tag(webhook_json(access.webhook_for(self.actor, webhook_id)))

    @api_operation("changeWebhook", WebhookSerializer, request=WebhookSerializer)
    def patch(self, request: Request, webhook_id: int) -> HttpResponse:
        """Change a webhook.

        Changes the webhook's settings, or switches the webhook on or off. The secret and all fields that the request
        body omits stay unchanged.
        """
        webhook = access.webhook_for(self.actor, webhook_id)
        values = read(WebhookSerializer, request.data, partial=True)
        with conditional_write(
            request, f"webhook/{webhook_id}", lambda: webhook_json(access.webhook_for(self.actor, webhook_id))
        ):
            hooks.change_webhook(webhook=webhook, by=self.actor, now=timezone.now(), **values)
        return answer_with_tag(webhook_json(access.webhook_for(self.actor, webhook_id)))

    @api_operation("deleteWebhook", {204: None})
    def delete(self, request: Request, webhook_id: int) -> HttpResponse:
        """Delete a webhook.

        Deletes the webhook and the log of its deliveries. Waiting deliveries are not sent.
        """
        webhook = access.webhook_for(self.actor, webhook_id)
        with conditional_write(
            request, f"webhook/{webhook_id}", lambda: webhook_json(access.webhook_for(self.actor, webhook_id))
        ):
            hooks.delete_webhook(webhook=webhook, by=self.actor, now=timezone.now())
        return no_content()


class WebhookTest(V2View):
    @api_operation("testWebhook", {202: DeliverySerializer}, request=None)
    def post(self, request: Request, webhook_id: int) -> HttpResponse:
        """Test a webhook.

        The panel soon sends a `ping` event. Returns the delivery. Use `listWebhookDeliveries` to see whether the event
        arrived.
        """
        webhook = access.webhook_for(self.actor, webhook_id)
        return _waits(request, hooks.send_ping(webhook=webhook, by=self.actor, now=timezone.now()))


class WebhookRotation(V2View):
    conditional = True

    @api_operation("rotateWebhookSecret", {201: SecretSerializer}, request=None)
    def post(self, request: Request, webhook_id: int) -> HttpResponse:
        """Replace the secret of a webhook.

        Returns the new secret, which is shown only once. For a day, requests are signed with both secrets.
        """
        webhook = access.webhook_for(self.actor, webhook_id)
        with conditional_write(
            request, f"webhook/{webhook_id}", lambda: webhook_json(access.webhook_for(self.actor, webhook_id))
        ):
            secret = hooks.rotate_secret(webhook=webhook, by=self.actor, now=timezone.now())
        return once({"secret": secret}, secret="secret")


class Deliveries(V2View):
    @api_operation(
        "listWebhookDeliveries",
        page_of(DeliverySerializer),
        query_parameter("state", "Only deliveries in this state.", enum=list(DeliveryState.values)),
        *PAGED,
    )
    def get(self, request: Request, webhook_id: int) -> HttpResponse:
        """List the deliveries of a webhook.

        Lists the deliveries of the last 30 days, newest first, with the receiver's response.
        """
        webhook = access.webhook_for(self.actor, webhook_id)
        found = Delivery.objects.select_related("event").filter(webhook=webhook)
        if state := choice_parameter(request.query_params, "state", DeliveryState.values):
            found = found.filter(state=state)
        return page_by_id(request, found, each_as(delivery_json), newest_first=True)


class Replay(V2View):
    @api_operation("replayWebhookDelivery", {202: DeliverySerializer}, request=None)
    def post(self, request: Request, webhook_id: int, delivery_id: int) -> HttpResponse:
        """Send a delivery again.

        The panel soon sends the same event again, with the same id, as a new delivery. Returns the new delivery.
        """
        delivery = access.delivery_for(self.actor, delivery_id)
        if delivery.webhook_id != webhook_id:
            raise WebhookUnknown(gettext("Delivery not found."))
        return _waits(request, hooks.replay_delivery(delivery=delivery, by=self.actor, now=timezone.now()))


def webhook_json(webhook: Webhook) -> dict[str, Any]:
    """Return the JSON form of a webhook, without its secret."""
    return row_json(WebhookSerializer, webhook, created_by=actor_form(webhook.owner.username, webhook.token))


def delivery_json(delivery: Delivery) -> dict[str, Any]:
    """Return the JSON form of a delivery."""
    return row_json(DeliverySerializer, delivery, event=delivery.event.kind, event_id=delivery.event.message_id)


def _waits(request: Request, delivery: Delivery) -> HttpResponse:
    """Return a 202 response with a waiting delivery. `Location` is the delivery log, which shows the result later."""
    webhook_path = request.path.partition(f"/{delivery.webhook_id}/")[0]
    return answer(
        delivery_json(delivery), 202, headers={"Location": f"{webhook_path}/{delivery.webhook_id}/deliveries"}
    )
