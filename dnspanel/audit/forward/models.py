"""Models for the destinations of the audit log and their progress. `destinations` and `deliver_acts` write them."""

from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy as _


class Kind(models.TextChoices):
    """The protocol of a destination."""

    SYSLOG = "syslog", _("Syslog over TLS")
    OTLP = "otlp", _("OpenTelemetry")


# The values of the failure columns of a destination that has not failed since its last success.
WELL = {"failing_since": None, "failures": 0, "resting_until": None, "error": ""}


class Destination(models.Model):
    """A server that receives every entry of the audit log, in the order of the chain."""

    name = models.CharField(max_length=40, unique=True)
    kind = models.CharField(max_length=6, choices=Kind)
    address = models.TextField()  # "logs.example:6514", or the URL of an OpenTelemetry collector
    ca = models.TextField(blank=True)  # PEM; "": the certificate authorities of the system
    certificate = models.TextField(blank=True)  # PEM of the panel's client certificate; "": none
    key = SecretField(null=True)  # `vault.encrypt_secret` of its PEM
    headers = SecretField(null=True)  # `vault.encrypt_secret` of lines "Name: value"
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField(null=True)  # including switches on or off; null: none
    # Counts changes of the columns above. The result of a delivery is stored only if the version hasn't changed since.
    version = models.IntegerField(default=1)
    # The number of the last entry that the destination confirmed, and the time of the confirmation.
    sent_to = models.BigIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    # Since the last success: the first failure, the number of failures, the end of the current pause, and the reason.
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    resting_until = models.DateTimeField(null=True)
    error = MessageField(blank=True)
    # The time and reason of the last rejected entries. Rejected entries must not be sent again.
    rejected_at = models.DateTimeField(null=True)
    rejected = MessageField(blank=True)
