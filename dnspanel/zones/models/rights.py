"""Tables for locks, and for the permissions of TSIG keys in zones."""

from django.conf import settings
from django.db import models

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.zone import Zone
from replication.dns import rdata


class Lock(models.Model):
    """A zone (no name), a name (no type) or an RRset that only the lock's manager can change."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    name = models.TextField(blank=True, default="", db_collation="C")
    type = models.IntegerField(null=True)
    reason = models.TextField()
    # The manager: the token, or else the person. No one if both were deleted.
    person = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    placed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    placed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["zone", "name", "type"], nulls_distinct=False, name="lock_unique"),
            models.CheckConstraint(condition=models.Q(type=None) | ~models.Q(name=""), name="lock_type_at_name"),
        ]

    def __str__(self) -> str:
        return f"{self.what}: {self.reason}"

    @property
    def what(self) -> str:
        """The locked object as text: the zone's name, or an owner name with an optional type."""
        name = self.name or self.zone.name
        return name if self.type is None else f"{name} {rdata.type_to_text(self.type)}"

    @property
    def manager(self) -> str:
        """The person or token that can change the locked object, as text. Empty if the lock has no manager."""
        if self.token is not None:
            return gettext("the token {purpose}").format(purpose=self.token.purpose)
        return self.person.username if self.person else ""


class TsigAct(models.TextChoices):
    """The actions that a zone can allow TSIG keys to perform."""

    UPDATE = "update", "DNS UPDATE"
    TRANSFER = "transfer", _("zone transfer")


class TsigPermission(models.Model):
    """A zone's permission for TSIG keys with this name, within each key's limits. `tsig_permissions` writes it."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    act = models.CharField(max_length=8, choices=TsigAct)
    key_name = models.TextField(db_collation="C")  # canonical; the key need not exist

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "act", "key_name"], name="tsig_permission_unique")]
