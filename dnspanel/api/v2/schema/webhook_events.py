"""Describe the `webhooks` of the OpenAPI document: each event's request, and the receiver's response.

`dnspanel.webhooks.payload` creates the bodies. A test delivers an event of each kind and validates the body against
these schemas.
"""

from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.plumbing import build_mocked_view
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.webhooks.access import NEEDED
from dnspanel.webhooks.models import EventKind
from dnspanel.webhooks.payload import MOST_ZONES
from dnspanel.zones.models import Channel, RevisionKind

Schema = dict[str, Any]
HEADERS: dict[str, tuple[str, str]] = {
    "webhook-id": (
        "Id of the event, as in `event_id`, in every attempt and replay. Ignore events whose id you already received.",
        "evt_10f51d0966a54c7f9d0e4ab1c5b6f1d2",
    ),
    "webhook-timestamp": ("Time of this attempt, in seconds since 1970. Refuse old requests.", "1795262400"),
    "webhook-signature": (
        "`v1,` and the Base64 of HMAC-SHA256 over `webhook-id.webhook-timestamp.body`. The key is the webhook's secret "
        "without `whsec_`, decoded from Base64. After a rotation there are two signatures, separated by a space; one "
        "must match. Libraries for Standard Webhooks check signatures.",
        "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
    ),
}
_ANSWERS = {
    "2XX": "The event was received. The panel ignores the body.",
    "410": "The panel switches the webhook off and stops sending events to it.",
    "default": "The panel retries for a day, at growing intervals and not before `Retry-After`. It switches off a "
    "webhook that fails for three days.",
}


class ChangedZoneSerializer(serializers.Serializer):
    """A publication's change to one zone."""

    zone = serializers.CharField()
    kind = serializers.ChoiceField(choices=RevisionKind.choices, help_text="Kind of change to the zone.")
    revision = serializers.IntegerField()
    serial = serializers.IntegerField()
    added = serializers.IntegerField(help_text="Number of RRsets that were added.")
    changed = serializers.IntegerField(help_text="Number of RRsets that changed.")
    removed = serializers.IntegerField(help_text="Number of RRsets that were removed.")


class PublicationDataSerializer(serializers.Serializer):
    """A publication, with the zones that the webhook's owner can read."""

    sequence = serializers.IntegerField()
    epoch = serializers.UUIDField(help_text="Epoch of the log. Changes if a backup is restored.")
    at = serializers.DateTimeField(help_text="Time of the publication.")
    actor = ActorSerializer()
    channel = serializers.ChoiceField(choices=Channel.choices, help_text="Origin of the change.")
    reason = serializers.CharField(allow_blank=True, help_text="Reason given by the author.")
    url = serializers.CharField(help_text="Path of the publication, relative to `panel`.")
    part_of = serializers.IntegerField(
        allow_null=True, help_text="First publication of a write in several; null: the write was one publication."
    )
    zone_count = serializers.IntegerField(help_text="Number of changed zones.")
    zones = ChangedZoneSerializer(many=True, help_text=f"The first {MOST_ZONES} zones by name.")


class NodeTimeSerializer(serializers.Serializer):
    """The time when a node first served a publication."""

    node = serializers.CharField()
    reached_at = serializers.DateTimeField(allow_null=True)
    ms = serializers.FloatField(allow_null=True, help_text="Milliseconds since the publication.")


class EverywhereDataSerializer(PublicationDataSerializer):
    """A publication that has arrived on every node."""

    everywhere_at = serializers.DateTimeField(help_text="Time when the last node confirmed it.")
    nodes = NodeTimeSerializer(many=True, allow_null=True, help_text="null without the permission `fleet`.")


class TakenBackStateSerializer(serializers.Serializer):
    """The time, the publication and the reason of a reversal."""

    at = serializers.DateTimeField()
    sequence = serializers.IntegerField(allow_null=True, help_text="Publication that reverted it.")
    reason = serializers.CharField(allow_blank=True, help_text="Empty if the owner does not see all zones.")


class TakenBackDataSerializer(PublicationDataSerializer):
    """A publication that was reverted because the canary couldn't serve it."""

    taken_back = TakenBackStateSerializer()


class RequestDataSerializer(serializers.Serializer):
    """An approval request."""

    key = serializers.UUIDField(help_text="Id of the request in paths.")
    name = serializers.CharField(allow_blank=True)
    state = serializers.CharField(help_text="`open`, or the outcome.")
    asked_by = ActorSerializer(allow_null=True)
    ended_by = ActorSerializer(allow_null=True)
    reason = serializers.CharField(allow_blank=True, help_text="Reason given by the author.")
    publish_at = serializers.DateTimeField(allow_null=True, help_text="Time of the automatic publication.")
    url = serializers.CharField(help_text="Path of the request, relative to `panel`.")
    zone_count = serializers.IntegerField(help_text="Number of zones in the request.")
    zones = serializers.ListField(child=serializers.CharField(), help_text=f"The first {MOST_ZONES} zones by name.")


class NodeDataSerializer(serializers.Serializer):
    """A node whose state changed."""

    node = serializers.CharField()
    state = serializers.CharField(help_text="Health of the node, in one word.")
    was = serializers.CharField(allow_null=True, help_text="Previous state; null: unknown.")
    since = serializers.DateTimeField()
    sentence = serializers.CharField(help_text="Explanation of the state.")
    acked = serializers.IntegerField(help_text="Last publication that the node confirmed.")
    lag = serializers.IntegerField(help_text="Number of missing publications.")


class ImportDataSerializer(serializers.Serializer):
    """An import that has ended."""

    id = serializers.IntegerField()
    title = serializers.CharField()
    source = serializers.CharField()
    state = serializers.CharField(help_text="Final state.")
    created_by = ActorSerializer(allow_null=True)
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    zone_count = serializers.IntegerField(help_text="Number of zones.")
    records = serializers.IntegerField()
    errors = serializers.IntegerField()
    published = serializers.IntegerField(help_text="Number of published zones.")
    failure = serializers.CharField(allow_blank=True, help_text="Reason of a failure; empty: none.")


class AlertDataSerializer(serializers.Serializer):
    """An alert that was raised or has ended."""

    id = serializers.IntegerField()
    key = serializers.CharField(help_text="Key of the subject: the same in each alert about it.")
    kind = serializers.CharField()
    severity = serializers.CharField(help_text="`info` (no act is needed), `warning` or `critical`.")
    sentence = serializers.CharField(help_text="Problem, in words.")
    since = serializers.DateTimeField()


class PingDataSerializer(serializers.Serializer):
    """A test delivery."""

    message = serializers.CharField()


EVENTS: dict[EventKind, tuple[str, str, type[serializers.Serializer[Any]]]] = {
    EventKind.SAVED: ("Publication saved", "The nodes are receiving it.", PublicationDataSerializer),
    EventKind.EVERYWHERE: ("Publication on all nodes", "Once per publication.", EverywhereDataSerializer),
    EventKind.TAKEN_BACK: (
        "A publication was taken back",
        "The canary could not answer with it, so its changes were reverted.",
        TakenBackDataSerializer,
    ),
    EventKind.OPENED: ("Approval was requested", "Someone created an approval request.", RequestDataSerializer),
    EventKind.ENDED: (
        "An approval request ended",
        "The request was published, declined or withdrawn.",
        RequestDataSerializer,
    ),
    EventKind.NODE: (
        "The state of a node changed",
        "Sent after the node has been in the new state for some seconds.",
        NodeDataSerializer,
    ),
    EventKind.IMPORT: ("Import ended", "The import was published, failed or was cancelled.", ImportDataSerializer),
    EventKind.ALERT: ("An alert was raised", "Also sent when an alert becomes critical.", AlertDataSerializer),
    EventKind.ALERT_OVER: ("Alert resolved", "The problem no longer exists.", AlertDataSerializer),
    EventKind.PING: ("A test", "Sent by `testWebhook`, regardless of the webhook's events.", PingDataSerializer),
}


def add_webhooks(result: Schema, generator: SchemaGenerator, **more: Any) -> Schema:
    """Add the webhook requests and their schemas (hook of drf-spectacular).

    The setting of drf-spectacular for webhooks can't be used, because it is read after the components are built.
    """
    view = build_mocked_view("POST", "/", extend_schema(), generator.registry)  # serializers are resolved by a view
    result["webhooks"] = {
        str(kind): {"post": _operation(kind, view.schema.resolve_serializer(_body(kind), "response").ref)}
        for kind in EVENTS
    }
    result["components"] = generator.registry.build({})
    return result


def _operation(kind: EventKind, body: Schema) -> Schema:
    summary, more, _ = EVENTS[kind]
    needed = f" The owner of the webhook needs the permission `{NEEDED[kind].name.lower()}`." if kind in NEEDED else ""
    return {
        "operationId": f"on{_name(kind)}",
        "summary": summary,
        "description": f"{more}{needed} The body has only data that the owner can read.",
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": text,
                "schema": {"type": "string"},
                "example": example,
            }
            for name, (text, example) in HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {status: {"description": text} for status, text in _ANSWERS.items()},
    }


def _body(kind: EventKind) -> type[serializers.Serializer[Any]]:
    """Return a serializer for the whole body of this kind of event."""
    data = EVENTS[kind][2]
    word = extend_schema_field({"type": "string", "const": str(kind)})(type("Word", (serializers.CharField,), {}))
    members = {
        "__doc__": f"The body of `{kind}`.",
        "event": word(),
        "event_id": serializers.CharField(help_text="Id, the same in every attempt and replay; also in `webhook-id`."),
        "number": serializers.IntegerField(help_text="Count of the webhook's events, from 1."),
        "timestamp": serializers.DateTimeField(help_text="Time of the event."),
        "panel": serializers.URLField(help_text="URL of the panel; paths in `data` are relative to it."),
        "data": data(),
    }
    shape: type[serializers.Serializer[Any]] = type(f"{_name(kind)}EventSerializer", (serializers.Serializer,), members)
    return shape


def _name(kind: EventKind) -> str:
    """Return the event kind in CamelCase: PublicationTakenBack for `publication.taken_back`."""
    return "".join(word.capitalize() for word in str(kind).replace(".", "_").split("_"))
