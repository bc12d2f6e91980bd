"""Models for the times of the panel's backups, which an alert checks."""

from django.db import models


class Backup(models.Model):
    """An archive that was completely written. The place where it is stored isn't recorded."""

    at = models.DateTimeField(db_index=True)
    epoch = models.UUIDField()
    sequence = models.BigIntegerField()  # the highest sequence in the archive
    size = models.BigIntegerField()
    file = models.TextField(blank=True, default="")  # the file name at the time of the backup; empty for a pipe
    seconds = models.FloatField()
