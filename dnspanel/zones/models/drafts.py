"""Tables for drafts."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.functions import RandomUUID
from django.db import models

from dnspanel.zones.models.zone import Zone


class Draft(models.Model):
    """Unpublished operations in any number of zones: open in an editor, saved with a name, or discarded.

    `author` is the person who has the draft open in the editor. Each person is the author of at most one draft. A saved
    draft has no author. A discarded draft has no name and no author. A named draft has an owner, even while another
    person works in it. `key` identifies the draft in URLs. `draft`, `named_drafts` and `discarded` write the rows.
    """

    author = models.OneToOneField(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="draft")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=80, blank=True, default="", db_default="")
    key = models.UUIDField(default=uuid4, db_default=RandomUUID(), unique=True, editable=False)
    is_by_link = models.BooleanField(default=False, db_default=False)  # readable by link, for people who see its zones
    # Ids of all people who worked in it or in drafts merged into it. They must not approve it.
    worked_in = ArrayField(models.IntegerField(), default=list, db_default=[])
    changed_at = models.DateTimeField()
    discarded_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], condition=~models.Q(name=""), name="draft_name_unique"),
            models.CheckConstraint(
                condition=models.Q(author__isnull=False, name="", owner=None, discarded_at=None)
                | (models.Q(owner__isnull=False, discarded_at=None) & ~models.Q(name=""))
                | models.Q(author=None, name="", owner__isnull=False, discarded_at__isnull=False),
                name="draft_named_or_in_hand",
            ),
        ]


class DraftShare(models.Model):
    """A person's or team's access to a named draft. With `may_edit`, the person or team members can also work in it."""

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    may_edit = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft", "user"], name="draftshare_user_unique"),
            models.UniqueConstraint(fields=["draft", "team"], name="draftshare_team_unique"),
            models.CheckConstraint(
                condition=models.Q(user__isnull=False, team=None) | models.Q(user=None, team__isnull=False),
                name="draftshare_one_receiver",
            ),
        ]


class Operation(models.Model):
    """A change to an RRset in a draft: the RRset when editing began, and the wanted RRset (null: deleted).

    Publishing compares `base` with the zone's current RRset. If they are equal, the operation is applied. If they
    differ, there is a conflict between base, theirs and mine.
    """

    draft = models.ForeignKey(Draft, on_delete=models.CASCADE, related_name="operations")
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    name = models.TextField(db_collation="C")
    owner_key = models.BinaryField()
    type = models.IntegerField()
    base: "models.JSONField[Any]" = models.JSONField(null=True)
    wanted: "models.JSONField[Any]" = models.JSONField(null=True)
    base_revision = models.IntegerField()
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draft", "zone", "owner_key", "type"], name="operation_unique")]
