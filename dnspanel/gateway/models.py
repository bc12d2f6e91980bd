"""Models of the gateway: accepted signed messages, stored as long as their signatures are valid."""

from django.db import models


class TakenMessage(models.Model):
    """An accepted signed message. `rcode` is null until the message is answered. Written by `seen_updates`."""

    id = models.UUIDField(primary_key=True)  # from its key, its id and its signature
    until = models.DateTimeField(db_index=True)  # afterwards the signature is too old anyway
    rcode = models.SmallIntegerField(null=True)
