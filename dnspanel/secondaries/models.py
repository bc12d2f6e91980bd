"""Models of secondaries and of the state of their zones. Models only store and constrain data."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models import Zone


class Kind(models.TextChoices):
    """The server software of a secondary. It determines the format of the configuration."""

    BIND = "bind", _("BIND 9.18 or later")
    NSD = "nsd", "NSD"
    KNOT = "knot", "Knot DNS"
    POWERDNS = "powerdns", "PowerDNS"
    OTHER = "other", _("other")


class ZoneChoice(models.TextChoices):
    """The ways to choose the zones of a secondary."""

    ALL = "all", _("every zone")
    TAG = "tag", _("zones with a tag")
    TEAM = "team", _("zones in a team")
    LIST = "list", _("selected zones")


class Transport(models.TextChoices):
    """The transports that a secondary is allowed to use. Messages are always signed with the secondary's key."""

    ANY = "any", _("TCP or TLS")
    TLS = "tls", _("TLS only")
    CERTIFICATE = "certificate", _("TLS only, with its own certificate")


class Secondary(models.Model):
    """A name server that transfers zones from the gateway, with the key that identifies it."""

    name = models.CharField(max_length=40)
    kind = models.CharField(max_length=8, choices=Kind, default=Kind.OTHER)
    # The addresses for NOTIFY and queries: "192.0.2.53", "192.0.2.53:5300", "[2001:db8::53]:5300".
    addresses = ArrayField(models.CharField(max_length=47))
    # The networks that it transfers from, as CIDR. If empty, it transfers from its addresses.
    networks = ArrayField(models.CharField(max_length=49), default=list)
    transport = models.CharField(max_length=11, choices=Transport, default=Transport.ANY)
    # PEM of one or two certificates that the server presents, as a client of the gateway and when the panel queries it.
    certificate = models.TextField(blank=True, default="")
    tls_port = models.IntegerField(null=True)  # port for serial queries over TLS; null: over UDP
    tsig_name = models.TextField(
        unique=True, db_collation="C"
    )  # canonical, below `accounts.tokens.tsig_secrets.OF_SECONDARIES`
    tsig_algorithm = models.CharField(max_length=32)
    tsig_secret = SecretField()  # `vault.encrypt_secret` of the Base64
    # After a rotation both secrets are accepted, until this time.
    old_secret = SecretField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    choice = models.CharField(max_length=4, choices=ZoneChoice)
    tag = models.TextField(blank=True, default="")
    # Null although a team is chosen: the team was deleted, and the secondary has no zones.
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    zones = models.ManyToManyField(Zone, related_name="+", db_table="secondaries_listed")
    # Tags that are groups of its catalog (RFC 9432, section 4.3.2). A member is in the group of its first matching tag.
    group_tags = ArrayField(models.TextField(), default=list)
    active = models.BooleanField(default=True)
    lag_bound = models.IntegerField(default=300)  # seconds behind until an alert is raised
    created_at = models.DateTimeField()
    # NOTIFY was queued for publications up to this sequence.
    noted = models.BigIntegerField(default=0)
    catalog_serial = models.BigIntegerField(default=1)  # of its catalog zone; rises when members change
    catalog_floor = models.BigIntegerField(default=1)  # changes since earlier serials are no longer stored
    catalog_fetched = models.BigIntegerField(default=0, db_default=0)  # the catalog serial that it fetched last
    catalog_notify_at = models.DateTimeField(null=True)
    catalog_attempts = models.IntegerField(default=0)
    silent_since = models.DateTimeField(null=True)  # when it stopped answering all queries
    # Requests of the secondary that the gateway refused.
    refusals = models.BigIntegerField(default=0)
    refused_at = models.DateTimeField(null=True)
    refused_from = models.GenericIPAddressField(null=True)
    refused_reason = MessageField(blank=True, default="")
    refusal_audited_at = models.DateTimeField(null=True)
    # Set by the form: a form sent twice creates one secondary.
    form_id = models.UUIDField(null=True, unique=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), name="secondary_name_unique"),
            models.CheckConstraint(
                condition=Q(choice="tag") & ~Q(tag="") | ~Q(choice="tag") & Q(tag=""), name="secondary_tag_of_choice"
            ),
            models.CheckConstraint(condition=Q(choice="team") | Q(team=None), name="secondary_team_only_of_choice"),
            models.CheckConstraint(
                condition=~Q(transport="certificate") | ~Q(certificate=""), name="secondary_certificate_of_transport"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Member(models.Model):
    """A zone that a secondary transfers, with the serial that the secondary has.

    The row of a former member keeps its label and its first and last catalog serial as long as the catalog's IXFR needs
    them.
    """

    secondary = models.ForeignKey(Secondary, on_delete=models.CASCADE, related_name="members", db_index=False)
    zone = models.ForeignKey(Zone, null=True, on_delete=models.SET_NULL, related_name="+")
    zone_name = models.TextField(db_collation="C")
    label = models.CharField(max_length=32)  # in the catalog zone; never the same for two memberships
    catalog_group = models.TextField(blank=True, default="", db_default="")  # empty: no group
    # The catalog of the same server that the zone moves to, and since when. The zone stays in this catalog for a while,
    # to announce the move. For a former member, the time is set until the server has read this.
    coo = models.TextField(blank=True, default="", db_default="")
    coo_since = models.DateTimeField(null=True)
    since = models.BigIntegerField()  # catalog serial at which it became a member
    until = models.BigIntegerField(null=True)  # catalog serial at which it left; null: it is a member
    # NOTIFY: the time of the next message (null: none is due), and the number of unanswered messages before it.
    notify_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    notified_at = models.DateTimeField(null=True)  # when NOTIFY was last answered
    notify_error = MessageField(blank=True, default="")
    # The last completed transfer.
    transferred_at = models.DateTimeField(null=True)
    transferred_serial = models.BigIntegerField(null=True)
    transferred_how = models.CharField(max_length=4, blank=True, default="")
    transferred_bytes = models.BigIntegerField(default=0)
    transferred_over_tls = models.BooleanField(default=False)
    refused_at = models.DateTimeField(null=True)
    refused_reason = MessageField(blank=True, default="")
    # When the first publication happened that the secondary does not serve yet. Null: the zone is in sync.
    behind_since = models.DateTimeField(null=True)
    # The SOA serial that it served last.
    served_serial = models.BigIntegerField(null=True)
    served_at = models.DateTimeField(null=True)
    question_error = MessageField(blank=True, default="")
    question_at = models.DateTimeField(null=True)  # when the next query is due
    # When its answers were last compared with the zone, how they differ despite an equal serial, and since when.
    compared_at = models.DateTimeField(null=True)
    difference = MessageField(blank=True, default="", db_default="")
    differs_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["secondary", "zone"], condition=Q(until=None), name="member_once"),
            models.UniqueConstraint(fields=["secondary", "label"], name="member_label_unique"),
        ]
        indexes = [
            models.Index(
                fields=["secondary", "notify_at"], condition=Q(notify_at__isnull=False), name="member_to_notify"
            ),
            models.Index(
                fields=["secondary", "question_at"], condition=Q(question_at__isnull=False), name="member_to_question"
            ),
            models.Index(
                fields=["secondary", "behind_since"], condition=Q(behind_since__isnull=False), name="member_behind"
            ),
            models.Index(
                fields=["secondary", "differs_since"], condition=Q(differs_since__isnull=False), name="member_differs"
            ),
            models.Index(fields=["secondary", "zone_name"], condition=Q(until=None), name="member_of_secondary"),
            models.Index(fields=["secondary", "until"], condition=Q(until__isnull=False), name="member_gone"),
        ]


class OpenZone(models.Model):
    """A zone that clients in these networks can transfer without a key. Written by `keyless`."""

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="+")
    networks = ArrayField(models.CharField(max_length=49))  # as CIDR
    # The person who set it last. Null if the person was deleted, or if it was set before this column existed.
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    set_at = models.DateTimeField(null=True)


class KeyTransfer(models.Model):
    """The last transfer of a signed zone with a token's key. The client needs renewed signatures, as secondaries do."""

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField()


class NoticeAddress(models.Model):
    """An address other than a secondary that gets unsigned NOTIFY for a zone. Written by `keyless`."""

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+", db_index=False)
    address = models.CharField(max_length=47)
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    set_at = models.DateTimeField(null=True)
    # As in Member.
    notify_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    notified_at = models.DateTimeField(null=True)
    notify_error = MessageField(blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["zone", "address"], name="notice_address_once")]
        indexes = [
            models.Index(fields=["notify_at"], condition=Q(notify_at__isnull=False), name="notice_address_waiting")
        ]


class NoticeMark(models.Model):
    """The sequence up to which NOTIFY to zones' addresses has been queued. The table has a single row."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    sequence = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="notice_mark_single")]


class ServerCertificate(models.Model):
    """The gateway's TLS certificate from the panel's authority, if operators provide none. Its key is encrypted."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    pem = models.TextField()
    key_encrypted = SecretField()  # `vault.encrypt_secret` of the PEM; the same after the certificate is renewed

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="server_certificate_single")]
