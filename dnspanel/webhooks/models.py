"""The tables of webhooks, events and deliveries. `hooks`, `collect_events` and `deliver_events` write them."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext_lazy


class EventKind(models.TextChoices):
    """The kind of an event. The value is the field `event` in the payload."""

    SAVED = "publication.saved", gettext_lazy("Publication saved")
    EVERYWHERE = "publication.everywhere", gettext_lazy("Publication on all nodes")
    TAKEN_BACK = ("publication.taken_back", gettext_lazy("Publication reverted because nodes couldn’t serve it"))
    OPENED = "request.opened", gettext_lazy("Approval requested")
    ENDED = "request.ended", gettext_lazy("Request published, declined or withdrawn")
    NODE = "node.state", gettext_lazy("Node state changed")
    IMPORT = "import.finished", gettext_lazy("Import ended")
    ALERT = "alert.raised", gettext_lazy("Alert raised, or now critical")
    ALERT_OVER = "alert.over", gettext_lazy("Alert resolved")
    PING = "ping", gettext_lazy("Test event")


# The events that a webhook can subscribe to. A ping is sent only on request.
SUBSCRIBABLE = (
    EventKind.SAVED,
    EventKind.EVERYWHERE,
    EventKind.TAKEN_BACK,
    EventKind.OPENED,
    EventKind.ENDED,
    EventKind.NODE,
    EventKind.IMPORT,
    EventKind.ALERT,
    EventKind.ALERT_OVER,
)


class Format(models.TextChoices):
    """The format in which a webhook receives events."""

    EVENTS = "events", gettext_lazy("Signed events for programs")
    MAIL = "mail", gettext_lazy("Email to you")
    SLACK = "slack", "Slack"
    MATTERMOST = "mattermost", "Mattermost"
    TEAMS = "teams", "Microsoft Teams"


# The formats for people: events within a short time become one message.
READ_BY_PEOPLE = frozenset({Format.MAIL, Format.SLACK, Format.MATTERMOST, Format.TEAMS})


class Webhook(models.Model):
    """A receiver of events: a URL, or the owner's email address. It gets only events that the owner is allowed to see.

    If a token created the webhook, it gets only events that the token is also allowed to see.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    # The token that created the webhook. The webhook ends with it, or with the token that replaced it by rotation.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.CASCADE, related_name="webhooks")
    format = models.CharField(max_length=12, choices=Format, default=Format.EVENTS, db_default=Format.EVENTS)
    url = models.TextField()  # "" for mail, which goes to the owner's current address
    events = ArrayField(models.CharField(max_length=32))  # sorted EventKind values
    # The filters for publications and requests: zone names, tags and ids of teams. An event passes if it matches one of
    # these filters, or if all three are empty.
    zones = ArrayField(models.TextField(), default=list, db_default=[])
    tags = ArrayField(models.TextField(), default=list, db_default=[])
    teams = ArrayField(models.IntegerField(), default=list, db_default=[])
    # For messages to people: how long events are gathered, and the quiet hours, after which messages are sent.
    gather_minutes = models.IntegerField(default=0, db_default=0)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    description = models.CharField(max_length=100, blank=True)
    secret = SecretField()  # `vault.encrypt_secret` of "whsec_…"
    # The secret before a rotation. Until this time, payloads are signed with both.
    old_secret = SecretField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)
    last_number = models.BigIntegerField(default=0, db_default=0)  # of its deliveries, from `numbers`
    created_at = models.DateTimeField()
    # Since the last success: the first failure, the number of failures, and the end of the current pause.
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    resting_until = models.DateTimeField(null=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_reason = MessageField(blank=True)
    # The form's one-time id: submitting a form twice creates only one webhook.
    form_id = models.UUIDField(null=True, unique=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="webhook_of_owner")]

    @property
    def receiver(self) -> str:
        """The URL or, for email, the owner's current address. Reading the address loads the owner."""
        return (self.owner.email or "") if self.format == Format.MAIL else self.url


class Event(models.Model):
    """An event to deliver to webhooks. The unique `subject` prevents duplicates. `uid` is used for the `webhook-id`."""

    uid = models.UUIDField(unique=True)
    kind = models.CharField(max_length=32, choices=EventKind)
    subject = models.TextField(unique=True)
    at = models.DateTimeField()
    facts: "models.JSONField[Any]" = MessagesField(default=dict)  # data for `payload` that isn't stored elsewhere

    @property
    def message_id(self) -> str:
        """The event's `webhook-id`, which is the same for every attempt and replay."""
        return f"evt_{self.uid.hex}"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", gettext_lazy("waiting")
    DELIVERED = "delivered", gettext_lazy("delivered")
    FAILED = "failed", gettext_lazy("failed")


class Delivery(models.Model):
    """The delivery of one event to one webhook, with its state and the outcome of the last attempt."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="deliveries")
    number = models.BigIntegerField()  # 1, 2, 3 … for each webhook; a replay has the number of the original
    state = models.CharField(max_length=9, choices=DeliveryState, default=DeliveryState.WAITING)
    created_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField(null=True)  # null if no attempt is planned
    attempted_at = models.DateTimeField(null=True)
    status = models.IntegerField(null=True)  # HTTP status; null: no answer
    answer = models.TextField(blank=True)  # the beginning of the answer's body
    error = MessageField(blank=True)  # why the last attempt failed
    ms = models.FloatField(null=True)
    replay_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="replays")

    class Meta:
        indexes = [
            models.Index(fields=["webhook", "-id"], name="delivery_of_webhook"),
            models.Index(fields=["webhook", "number"], name="delivery_waiting", condition=models.Q(state="waiting")),
            models.Index(fields=["created_at"], name="delivery_age"),
        ]


class Watch(models.Model):
    """The position up to which events have been collected. A process locks the table's only row while it collects."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    saved = models.BigIntegerField()  # the last sequence for which SAVED events were collected
    everywhere = models.BigIntegerField()  # the last sequence for which EVERYWHERE events were collected
    looked_at = models.DateTimeField()  # time of the last check; later checks start shortly before it

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="watch_single")]


class NodeWatch(models.Model):
    """The node state that was last sent to webhooks, and the state that was last observed."""

    node = models.OneToOneField("fleet.Node", on_delete=models.CASCADE, primary_key=True, related_name="+")
    told = models.CharField(max_length=32, blank=True)  # `health.Word`; "": none was sent
    seen = models.CharField(max_length=32)
    seen_since = models.DateTimeField()
