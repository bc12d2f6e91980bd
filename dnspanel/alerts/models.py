"""Tables for alerts, routes and their messages, and past measurements of nodes' disk space."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from dnspanel.accounts.secret_places import SecretField
from dnspanel.conditions import Severity
from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext_lazy


class Alert(models.Model):
    """A problem, from its detection to its end. `key` identifies the problem while it lasts."""

    key = models.TextField()  # for example "node.disk:ns1"
    kind = models.CharField(max_length=40)
    severity = models.CharField(max_length=10, choices=Severity)
    node = models.ForeignKey("fleet.Node", null=True, on_delete=models.CASCADE, related_name="alerts")
    sentence = MessageField()
    since = models.DateTimeField()
    seen_at = models.DateTimeField()
    over_at = models.DateTimeField(null=True)
    about = ArrayField(models.TextField(), default=list, db_default=[])  # its objects: `Condition.about`
    read_by = ArrayField(models.BigIntegerField(), default=list, db_default=[])  # ids of people who marked it as read
    muted_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["key"], condition=Q(over_at=None), name="alert_open_once")]
        indexes = [models.Index(fields=["-id"], name="alert_newest")]


class RouteKind(models.TextChoices):
    """The ways to notify users."""

    MAIL = "mail", gettext_lazy("mail")
    WEBHOOK = "webhook", gettext_lazy("signed webhook")


# The alerts that a route sends, by the lowest severity.
LEAST = (
    (Severity.INFO.value, gettext_lazy("everything")),
    (Severity.WARNING.value, gettext_lazy("warnings and critical alerts")),
    (Severity.CRITICAL.value, gettext_lazy("critical alerts only")),
)


class Route(models.Model):
    """A recipient of alerts. During the route's quiet hours, only critical alerts are sent."""

    name = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=10, choices=RouteKind)
    address = models.TextField()  # a mail address or a URL
    secret = SecretField(null=True)  # of a webhook route: `vault.encrypt_secret` of "whsec_…"
    least = models.CharField(max_length=10, choices=LEAST, default=Severity.INFO)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()


class Message(models.Model):
    """A message to a route. Sending is retried until the receiver accepts it or too many attempts have failed."""

    route = models.ForeignKey(Route, on_delete=models.CASCADE, related_name="messages")
    alert = models.ForeignKey(Alert, null=True, on_delete=models.CASCADE, related_name="messages")  # None: a test
    is_over = models.BooleanField(default=False)  # whether the message reports the end of the alert
    due_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    answer: "models.JSONField[Any]" = MessagesField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["route", "alert", "is_over"], condition=Q(alert__isnull=False), name="message_once"
            )
        ]
        indexes = [models.Index(fields=["due_at"], condition=Q(sent_at=None, failed_at=None), name="message_waiting")]


class DiskMark(models.Model):
    """The free space on a node's disk at one time. A few measurements a day show how fast the disk fills."""

    node = models.ForeignKey("fleet.Node", on_delete=models.CASCADE, related_name="disk_marks")
    at = models.DateTimeField()
    free_bytes = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["node", "at"], name="disk_mark_once")]
