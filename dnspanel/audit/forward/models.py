"""The destinations of the audit log and their progress. `destinations` and `deliver_acts` write them."""

from django.db import models

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy


class Kind(models.TextChoices):
    """The protocol of a destination."""

    SYSLOG = "syslog", gettext_lazy("Syslog over TLS")
    OTLP = "otlp", gettext_lazy("OpenTelemetry")


# Columns of a destination that has not failed since its last success.
WELL = {"failing_since": None, "failures": 0, "resting_until": None, "error": ""}


class Destination(models.Model):
    """A server that gets every act of the audit log, in the order of the chain."""

    name = models.CharField(max_length=40, unique=True)
    kind = models.CharField(max_length=6, choices=Kind)
    address = models.TextField()  # "logs.example:6514", or the URL of a collector
    ca = models.TextField(blank=True)  # PEM; "": the certificate authorities that the system knows
    certificate = models.TextField(blank=True)  # PEM, with which the panel shows who it is; "": none
    key = SecretField(null=True)  # `vault.encrypt_secret` of its PEM
    headers = SecretField(null=True)  # `vault.encrypt_secret` of lines "Name: value"
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField(null=True)  # or switched, after it was made
    # Counts changes of what is above: what was sent before one of them does not count for what is after.
    version = models.IntegerField(default=1)
    # The number in the chain up to which it confirmed everything, and when it did last.
    sent_to = models.BigIntegerField(default=0)
    sent_at = models.DateTimeField(null=True)
    # Since its last success: when it began to fail, how often, until when it is left alone, and why.
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    resting_until = models.DateTimeField(null=True)
    error = MessageField(blank=True)
    # What it took and would not keep, in its own words; it must not be sent that again.
    rejected_at = models.DateTimeField(null=True)
    rejected = MessageField(blank=True)
