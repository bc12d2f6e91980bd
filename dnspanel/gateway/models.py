"""Models of the gateway: accepted signed messages, stored as long as their signatures are valid."""

from django.db import models


class TakenMessage(models.Model):
    """An accepted signed message. `rcode` is the stored answer to an UPDATE. Written by `seen_updates`.

    `rcode` is null for transfers, and for an UPDATE without an answer or with the answer SERVFAIL.
    """

    id = models.UUIDField(primary_key=True)  # from its key, its id and its signature
    until = models.DateTimeField(db_index=True)  # afterwards the signature is too old anyway
    rcode = models.SmallIntegerField(null=True)
