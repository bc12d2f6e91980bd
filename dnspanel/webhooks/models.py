"""Webhooks, what happened, and who was told. Models store and constrain; `hooks`, `notice` and `deliver` write."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class EventKind(models.TextChoices):
    """What a webhook can be told about; the value is the `type` of its payload."""

    SAVED = "publication.saved", "A publication was saved"
    EVERYWHERE = "publication.everywhere", "Every node answers with a publication"
    NODE = "node.state", "A node's state changed"
    IMPORT = "import.finished", "An import ended"
    PING = "ping", "A test that somebody asked for"


# What one may subscribe to; a ping comes only when asked for.
SUBSCRIBABLE = (EventKind.SAVED, EventKind.EVERYWHERE, EventKind.NODE, EventKind.IMPORT)


class Webhook(models.Model):
    """A URL that is told of events: of what its owner may see, and no more than its token may, if one made it."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    # The token that made it; the webhook ends with it (or with the one that it was rotated to).
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.CASCADE, related_name="webhooks")
    url = models.TextField()
    events = ArrayField(models.CharField(max_length=32))  # sorted EventKind values
    description = models.CharField(max_length=100, blank=True)
    secret = models.BinaryField()  # `vault.encrypt_secret` of "whsec_…"
    # After a rotation both sign, until this time.
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    # Since its last success: when it began to fail, how often, and until when it is left alone.
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    resting_until = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = models.TextField(blank=True)
    # Given by the form: the same form sent twice is one webhook.
    form_id = models.UUIDField(null=True, unique=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="webhook_of_owner")]


class Event(models.Model):
    """Something that happened, once: `subject` keeps it from being noticed twice. `uid` is its `webhook-id`."""

    uid = models.UUIDField(unique=True)
    kind = models.CharField(max_length=32, choices=EventKind)
    subject = models.TextField(unique=True)
    at = models.DateTimeField()
    facts: "models.JSONField[Any]" = models.JSONField(default=dict)  # what `payload` needs and nothing else keeps

    @property
    def message_id(self) -> str:
        """The `webhook-id` under which receivers know it, in every attempt and replay."""
        return f"evt_{self.uid.hex}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "waiting"
    DELIVERED = "delivered", "delivered"
    FAILED = "failed", "failed"


class Delivery(models.Model):
    """One event for one webhook, until it is delivered or given up; what the last attempt came to."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    created_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField(null=True)  # null once it is over
    attempted_at = models.DateTimeField(null=True)
    status = models.IntegerField(null=True)  # of HTTP; null: no answer
    answer = models.TextField(blank=True)  # the beginning of the answer's body
    error = models.TextField(blank=True)  # why the last attempt failed, in words
    ms = models.FloatField(null=True)
    replay_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="replays")

    class Meta:
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
            models.Index(fields=["webhook", "next_at"], name="delivery_waiting", condition=Q(state="waiting")),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]


class Watch(models.Model):
    """How far events have been noticed: one row, locked by whoever looks."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    saved = models.BigIntegerField()  # the last sequence of which webhooks were told that it is saved
    everywhere = models.BigIntegerField()  # the same for every node's answer
    looked_at = models.DateTimeField()  # imports that ended before were noticed

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="watch_single")]


class NodeWatch(models.Model):
    """The state of a node that webhooks were told last, and another one that has been seen since."""

    node = models.OneToOneField("fleet.Node", on_delete=models.CASCADE, primary_key=True, related_name="+")
    told = models.CharField(max_length=32, blank=True)  # `health.Word`; "": none yet
    seen = models.CharField(max_length=32)
    seen_since = models.DateTimeField()
