"""Tables for the questions that nodes count for each RRset. They are empty unless PANEL_COUNT_QUERIES is set."""

from django.contrib.postgres.indexes import BrinIndex
from django.db import models


class QueriedRRset(models.Model):
    """The number of questions that all nodes got for an RRset on one day (UTC). Written by `store_queries`."""

    pk = models.CompositePrimaryKey("zone_id", "owner_key", "type", "day")
    zone_id = models.IntegerField()
    owner_key = models.BinaryField()
    type = models.IntegerField()
    day = models.DateField()
    times = models.BigIntegerField()

    class Meta:
        indexes = [BrinIndex(fields=["day"], name="queried_day")]


class CountingNode(models.Model):
    """A node that has counted every query from `since` to `until`, without `missed_seconds`."""

    node_id = models.BigIntegerField(primary_key=True)
    name = models.TextField()
    taken = models.TextField(default="")  # id of the last stored report
    since = models.DateTimeField()
    until = models.DateTimeField()
    missed_seconds = models.FloatField(default=0)
    problem = models.TextField(default="")  # of its last report, in English
    has_left = models.BooleanField(default=False)  # True: the node no longer answers

    def __str__(self) -> str:
        return self.name
