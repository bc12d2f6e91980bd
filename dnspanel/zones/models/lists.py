"""Tables for saved views, and for zones that a person pinned or opened."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower

from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.zone import Zone


class ViewPage(models.TextChoices):
    """The pages that can have saved views."""

    ZONES = "zones", _("zones")
    SEARCH = "search", _("search")
    RECORDS = "records", _("records in a zone")


class SavedView(models.Model):
    """A person's named search, sort order and columns. It can be shared with a team. `saved_views` writes the rows."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    page = models.CharField(max_length=7, choices=ViewPage)
    zone = models.ForeignKey(Zone, null=True, on_delete=models.CASCADE, related_name="+")  # null: any zone
    name = models.CharField(max_length=60)
    terms: "models.JSONField[Any]" = models.JSONField(default=dict)  # parameters of the page's URL that are not empty
    look: "models.JSONField[Any]" = models.JSONField(null=True)  # {"hidden": [column], "dense": bool}; null: reader's
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(F("owner"), F("page"), Lower("name"), name="saved_view_name_unique"),
            models.CheckConstraint(condition=Q(zone=None) | Q(page="records"), name="saved_view_zone_of_records"),
        ]

    def __str__(self) -> str:
        return self.name


class ZoneMarks(models.Model):
    """The ids of zones that a person pinned or opened, newest first, even if deleted. `zone_marks` writes the lists."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    pinned = ArrayField(models.IntegerField(), default=list)
    recent = ArrayField(models.IntegerField(), default=list)  # the last opened zones
