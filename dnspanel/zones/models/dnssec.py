"""Tables for DNSSEC: keys, signing states, rollovers and policies."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.zones.models.log import Publication
from dnspanel.zones.models.zone import Zone


class ZoneKey(models.Model):
    """A zone's DNSSEC key. Its id is also the row id in PowerDNS's files, and is never reused.

    The zone's `Signing` determines whether the key signs. A deleted key keeps its row, without the private part.
    """

    id = models.AutoField(primary_key=True)
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    algorithm = models.SmallIntegerField()
    bits = models.IntegerField()
    flags = models.SmallIntegerField()  # of its DNSKEY: 257 with the bit SEP, else 256
    tag = models.IntegerField()
    public = models.BinaryField()  # as in the DNSKEY record
    private_encrypted = SecretField(null=True)  # private-key text, by `accounts.secrets.vault`
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    deleted_at = models.DateTimeField(null=True)
    # The times when all servers of the parent first had a DS of the key, and when the last one no longer had it.
    ds_seen_at = models.DateTimeField(null=True)
    ds_gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(flags__in=(256, 257)), name="zonekey_flags"),
            models.CheckConstraint(
                condition=Q(private_encrypted__isnull=False) | Q(deleted_at__isnull=False), name="zonekey_whole"
            ),
        ]
        indexes = [models.Index(fields=["created_at"], condition=Q(deleted_at=None), name="zonekey_age")]


class Signing(models.Model):
    """A zone's current signing state (`dnssec.SigningState` as JSON). A zone that was never signed has no row."""

    zone = models.OneToOneField(Zone, on_delete=models.CASCADE, primary_key=True, related_name="signing")
    state: "models.JSONField[Any]" = models.JSONField(default=dict)
    is_signed = models.BooleanField(default=False)
    changed_at = models.DateTimeField()
    # True if the zone has signalling names for other zones (`signing.signalling`), False if they must be removed.
    signalling = models.BooleanField(null=True)
    # When the first imported signature of the zone expires.
    signatures_end = models.DateTimeField(null=True)
    # The reason why a due rollover cannot begin automatically, and since when.
    due_refusal = MessageField(blank=True, default="", db_default="")
    due_refused_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["due_refused_at"], name="signing_refused", condition=Q(due_refused_at__isnull=False)),
            models.Index(fields=["zone"], name="signing_signalling", condition=Q(signalling__isnull=False)),
            models.Index(
                fields=["signatures_end"], name="signing_signatures_end", condition=Q(signatures_end__isnull=False)
            ),
            models.Index(fields=["zone"], name="signing_paused", condition=Q(state__has_key="paused")),
            models.Index(fields=["zone"], name="signing_due_nsec3", condition=Q(state__has_key="due_nsec3")),
        ]


class SigningChange(models.Model):
    """A revision's change to a zone's `Signing`: the state before and after. Null means no state."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    revision_number = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    after: "models.JSONField[Any]" = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "revision_number"], name="signing_change_unique")]


class Rollover(models.Model):
    """A current or former rollover of a zone's keys (`dnssec.rollover`), with its step and observations.

    The times from `clock` on are on the rollover's own clock (`rollover.steady`), except `looked_at` and `ended_at`.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="rollovers", db_index=False)
    kind = models.CharField(max_length=16)
    step = models.CharField(max_length=16)
    is_emergency = models.BooleanField(default=False)
    old_keys = ArrayField(models.IntegerField())
    new_keys = ArrayField(models.IntegerField(), default=list)
    old_ds = ArrayField(models.TextField(), default=list)
    new_ds = ArrayField(models.TextField(), default=list)
    # The zone's CDS and CDNSKEY settings before the rollover changed them.
    cds_before = models.CharField(max_length=20, default="")
    cdnskey_before = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    step_revision = models.IntegerField()  # the revision that every node and secondary must answer with
    step_at = models.DateTimeField()
    # Shown on pages: the reason for waiting and its times, late servers, and the DS to add or remove at the parent.
    waits_for = MessageField(default="")
    earliest = models.DateTimeField(null=True)
    waits_since = models.DateTimeField()
    late = ArrayField(models.TextField(), default=list)  # names of nodes
    late_secondaries = ArrayField(models.TextField(), default=list, db_default=[])  # names of secondaries
    add_ds = ArrayField(models.TextField(), default=list)
    remove_ds = ArrayField(models.TextField(), default=list)
    parent_silent = MessageField(default="")
    is_stuck = models.BooleanField(default=False)
    # Observations.
    clock = models.DateTimeField()
    looked_at = models.DateTimeField()
    epoch = models.UUIDField()
    answered_since = models.DateTimeField(null=True)  # with the step's revision, by every node
    secondaries_since = models.DateTimeField(null=True)  # with the step's revision, by every secondary
    goals: "models.JSONField[Any]" = models.JSONField(default=dict)  # {rollover.Goal: since when}
    parent_at = models.DateTimeField()  # when all servers of the parent were last queried, by this clock
    ds_ttl = models.BigIntegerField(null=True)
    # If others sign the zone too: the name servers that lack the new keys, or why that is unknown, and when they were
    # queried.
    has_other_signers = models.BooleanField(default=False)
    signers_lack = MessageField(default="")
    signers_at = models.DateTimeField(null=True)
    record_ttl = models.BigIntegerField()
    key_ttl = models.BigIntegerField()
    ttls_revision = models.IntegerField()  # the revision up to which these TTLs are known
    ended_at = models.DateTimeField(null=True)
    is_cancelled = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone"], condition=Q(ended_at=None), name="rollover_open_once")]
        indexes = [
            models.Index(fields=["zone", "-id"], name="rollover_of_zone"),
            models.Index(fields=["earliest"], condition=Q(ended_at=None, earliest__isnull=False), name="rollover_next"),
        ]


class AcceptedBreak(models.Model):
    """A publication that a person accepted although it breaks DNSSEC validation. The publisher processes it anyway."""

    publication = models.OneToOneField(
        Publication, primary_key=True, on_delete=models.CASCADE, related_name="accepted_break"
    )
    accepted_at = models.DateTimeField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.TextField()


class DnssecPolicy(models.Model):
    """A DNSSEC policy that can be attached to zones, tags and teams. `signing.policies` writes the rows.

    `nsec3` is `[iterations, salt, opt_out, narrow]` as in a `SigningState`, or null for NSEC.
    """

    name = models.CharField(max_length=64)
    algorithm = models.SmallIntegerField()
    bits = models.IntegerField(null=True)  # of RSA keys
    split = models.BooleanField(default=False)  # KSK and ZSK in place of one CSK
    nsec3: "models.JSONField[Any]" = models.JSONField(null=True)
    cds = models.CharField(max_length=16, blank=True, default="")  # digest types, for example "2,4"
    cdnskey = models.BooleanField(default=False)
    zsk_days = models.IntegerField(null=True)  # null: no lifetime
    ksk_days = models.IntegerField(null=True)  # of a KSK or CSK
    automatic = models.BooleanField(default=False)  # due rollovers begin automatically
    signs_new_zones = models.BooleanField(default=False)  # new zones are signed from the start, imported zones are not
    first_ds = models.BooleanField(default=False)  # the rollover to a signed zone's first DS begins automatically
    is_default = models.BooleanField(default=False)  # applies to all zones without an attachment
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="dnssec_policy_name_unique"),
            models.UniqueConstraint(fields=["is_default"], condition=Q(is_default=True), name="dnssec_policy_default"),
        ]

    def __str__(self) -> str:
        return self.name


class PolicyAttachment(models.Model):
    """A policy's attachment to a zone, to a team's zones, or to zones with a tag."""

    policy = models.ForeignKey(DnssecPolicy, on_delete=models.PROTECT, related_name="attachments")
    zone = models.OneToOneField(Zone, null=True, on_delete=models.CASCADE, related_name="+")
    team = models.OneToOneField("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    tag = models.TextField(null=True, unique=True)  # noqa: DJ001  (null keeps it unique)
    attached_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(zone__isnull=False, team=None, tag=None)
                | Q(zone=None, team__isnull=False, tag=None)
                | Q(zone=None, team=None, tag__isnull=False),
                name="policy_attachment_to_one",
            ),
        ]
