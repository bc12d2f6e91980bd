"""Tables for the log: publications, the zone revisions in them, and each revision's changes."""

from typing import Any

from django.conf import settings
from django.db import models

from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.zone import Zone


class Channel(models.TextChoices):
    """The interface or task that created a publication."""

    WEB = "web", _("web")
    API = "api", "API"
    IMPORT = "import", _("import")
    DYNAMIC_UPDATE = "dynamic", _("dynamic update")
    TRANSFER = "transfer", _("transfer")
    SYSTEM = "system", _("system")


class LogHead(models.Model):
    """The single row that allocates sequences. Locking it is the last step of a publication.

    A PostgreSQL sequence isn't suitable, because its numbers can become visible out of order. A reader of the log could
    then skip a transaction that commits late, and never read it.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    cluster = models.UUIDField()
    epoch = models.UUIDField()
    sequence = models.BigIntegerField(default=0)
    # The reason for a hold, as a sentence; normally empty. Only a person ends a hold.
    held_reason = MessageField(blank=True, default="", db_default="")
    held_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="loghead_single")]


class Epoch(models.Model):
    """An epoch that a person started because the earlier history had forked. The first epoch has no row."""

    epoch = models.UUIDField(unique=True)
    began_at = models.DateTimeField()
    began_after = models.BigIntegerField()  # its first sequence is above this one
    reason = models.TextField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")


class Publication(models.Model):
    """An entry of the log with its sequence: everything that one action published, in any number of zones."""

    sequence = models.BigIntegerField(primary_key=True)
    epoch = models.UUIDField()
    at = models.DateTimeField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    # The token of the author, if any.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    channel = models.CharField(max_length=16, choices=Channel)
    reason = models.TextField(blank=True)
    # The address that the request came from, and its id in the logs. Empty for the panel itself.
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="", db_default="")
    session = models.CharField(max_length=32, blank=True, default="", db_default="")
    # Set by the form: a form sent twice creates one publication.
    form_id = models.UUIDField(null=True, unique=True)
    # If a write was published in parts: the sequence of its first part. The first part has it too.
    part_of = models.BigIntegerField(null=True)
    # The reason why ring 0 couldn't serve the publication. Then it was reverted, and no other node ever received it.
    failed_reason = MessageField(blank=True, default="", db_default="")
    # When it was reverted, and the sequence of the publication that reverted it.
    failed_at = models.DateTimeField(null=True)
    taken_back_in = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["part_of"], name="publication_parts", condition=models.Q(part_of__isnull=False)),
            models.Index(fields=["failed_at"], name="publication_failed", condition=models.Q(failed_at__isnull=False)),
        ]

    @property
    def by(self) -> str:
        """The publisher as text: a username, and the token's purpose. Empty for the panel itself."""
        if self.author is None:
            return ""
        if self.token is None:
            return self.author.username
        return gettext("{username} (token: {purpose})").format(
            username=self.author.username, purpose=self.token.purpose
        )


class RevisionKind(models.TextChoices):
    CREATE = "create", _("created")
    CHANGE = "change", _("changed")
    DELETE = "delete", _("deleted")
    RESTORE = "restore", _("restored")
    # The zone exists, but no node has it. A `RESTORE` brings it to the nodes.
    AWAIT = "await", _("created, waiting for transfer")
    EXPIRE = "expire", _("expired")
    LIST = "list", _("changed, but not on nodes")


# The database values of the kinds after which no node has the zone.
NOT_SERVED = (RevisionKind.DELETE.value, RevisionKind.AWAIT.value, RevisionKind.EXPIRE.value, RevisionKind.LIST.value)


class Revision(models.Model):
    """A published, numbered, immutable change to one zone."""

    zone = models.ForeignKey(
        Zone, on_delete=models.DO_NOTHING, related_name="revisions", db_constraint=False, db_index=False
    )
    number = models.IntegerField()
    publication = models.ForeignKey(
        Publication, on_delete=models.DO_NOTHING, related_name="revisions", db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=RevisionKind)
    serial = models.BigIntegerField()
    added = models.IntegerField(default=0)
    changed = models.IntegerField(default=0)
    removed = models.IntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "number"], name="revision_number_unique")]


class Change(models.Model):
    """An RRset before and after a revision. Null means that it didn't exist.

    The values have the format of `RRset.to_json`. A revision that creates or deletes a zone stores no changes, because
    they can be derived from the current state and later changes. A revision that raises the serial includes the SOA.
    """

    revision = models.ForeignKey(
        Revision, on_delete=models.DO_NOTHING, related_name="changes", db_constraint=False, db_index=False
    )
    name = models.TextField(db_collation="C")
    owner_key = models.BinaryField()
    type = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["revision", "owner_key", "type"], name="change_unique")]
