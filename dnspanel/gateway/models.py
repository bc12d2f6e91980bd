"""What the gateway remembers: which signed messages it took, for as long as their signatures are good."""

from django.db import models


class TakenMessage(models.Model):
    """One signed message that was taken; null `rcode`: its answer is not known (yet). `seen_updates` writes it."""

    id = models.UUIDField(primary_key=True)  # of its key, its id and its signature
    until = models.DateTimeField(db_index=True)  # from then on the signature is too old anyway
    rcode = models.SmallIntegerField(null=True)
