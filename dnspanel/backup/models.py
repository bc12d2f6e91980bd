"""When the panel was last backed up: what an alert asks for."""

from django.db import models


class Backup(models.Model):
    """An archive that was completely written. The panel does not know where it went from there."""

    at = models.DateTimeField(db_index=True)
    epoch = models.UUIDField()
    sequence = models.BigIntegerField()  # the head of the log in it
    size = models.BigIntegerField()
    file = models.TextField(blank=True, default="")  # its name where it was written; empty for a pipe
    seconds = models.FloatField()
