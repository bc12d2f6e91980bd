"""Tables for the APIs: remembered responses for retries, and PowerDNS zone attributes that API v1 stores."""

from typing import Any

from django.db import models

from dnspanel.accounts.models import Token
from dnspanel.zones.models import Zone


class RememberedAnswer(models.Model):
    """The response to a request with an Idempotency-Key. `status` is null while the request is in progress."""

    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    request_sha256 = models.BinaryField()  # of method, path and body, to reject the key for other requests
    at = models.DateTimeField(db_index=True)
    status = models.SmallIntegerField(null=True)
    headers: "models.JSONField[Any]" = models.JSONField(default=dict)
    body = models.BinaryField(default=b"")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="remembered_answer_unique")]


class PowerdnsZone(models.Model):
    """Attributes that API v1 clients set, stored for reading back. Zones without such attributes have no row."""

    zone = models.OneToOneField(Zone, on_delete=models.CASCADE, primary_key=True, related_name="powerdns")
    kind = models.CharField(max_length=16, default="Native")
    account = models.CharField(max_length=40, blank=True)
    catalog = models.TextField(blank=True)
    api_rectify = models.BooleanField(default=False)
    masters: "models.JSONField[Any]" = models.JSONField(default=list)
    metadata: "models.JSONField[Any]" = models.JSONField(default=dict)  # kind → list of values
    # "name type" → the RRset's comments in PowerDNS's format. The RRset itself has only their text.
    comments: "models.JSONField[Any]" = models.JSONField(default=dict)
