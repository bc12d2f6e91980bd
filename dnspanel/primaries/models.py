"""Models of zones whose primary is another server. Written by `set_up_primaries`, `apply_transfer` and `refresh`.

Models only store and constrain data.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.zones.models import Zone

# The values of the failure columns of a zone that has no failure.
WELL = {"failed_since": None, "failures": 0, "error": "", "alert_at": None}


class PrimaryTerms(models.Model):
    """A zone's primaries, and the TSIG key and TLS settings for transfers from them."""

    # In the order of the queries: "192.0.2.53", "192.0.2.53:5300", "[2001:db8::53]:5300".
    addresses = ArrayField(models.CharField(max_length=47))
    tsig_name = models.TextField(blank=True, default="", db_collation="C")  # canonical name; empty: no key
    tsig_algorithm = models.CharField(max_length=32, blank=True, default="")
    tsig_secret = SecretField(null=True)  # `vault.encrypt_secret` of the Base64
    # TLS (RFC 9103) is for all primaries or none. Names: one for all, or one each. Trusted certificates are in PEM.
    uses_tls = models.BooleanField(default=False, db_default=False)
    tls_names = ArrayField(models.CharField(max_length=253), default=list, db_default=[])
    tls_certificates = models.TextField(blank=True, default="", db_default="")
    shows_certificate = models.BooleanField(default=False, db_default=False)  # the panel's client certificate

    class Meta:
        abstract = True


# The columns of PrimaryTerms.
TERMS = (
    "addresses",
    "tsig_name",
    "tsig_algorithm",
    "tsig_secret",
    "uses_tls",
    "tls_names",
    "tls_certificates",
    "shows_certificate",
)


class TransferredZone(PrimaryTerms):
    """A zone's primaries, the results of its last transfer, and the time of its next refresh.

    A zone that was taken over keeps its primaries, so that it can be given back to them, but isn't refreshed.
    """

    zone = models.OneToOneField(Zone, primary_key=True, on_delete=models.CASCADE, related_name="transferred")
    uses_ixfr = models.BooleanField(default=True)  # if False, each transfer is of the whole zone
    # The primary's serial of the zone's content, and the revision with that content; null: no transfer yet.
    serial = models.BigIntegerField(null=True)
    revision = models.IntegerField(null=True)
    transferred_at = models.DateTimeField(null=True)
    transferred_how = models.CharField(max_length=4, blank=True, default="")  # axfr, ixfr
    transferred_from = models.CharField(max_length=47, blank=True, default="")
    transferred_bytes = models.BigIntegerField(default=0)
    confirmed_at = models.DateTimeField(null=True)  # when a primary last sent it or had nothing newer
    expires_at = models.DateTimeField(null=True)  # when the zone expires if no primary answers before
    # When to query a primary next; null: never.
    due_at = models.DateTimeField(null=True)
    wants_all = models.BooleanField(default=False)  # transfer the whole zone next time, regardless of its serial
    # The first failure since the last success, the number of failures, and the reason.
    failed_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0)
    error = MessageField(blank=True, default="")
    alert_at = models.DateTimeField(null=True)  # when the alert starts
    # The last accepted NOTIFY, and the last refused one.
    noticed_at = models.DateTimeField(null=True)
    notice_refused_at = models.DateTimeField(null=True)
    notice_refused_from = models.GenericIPAddressField(null=True)
    notices_refused = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["due_at"], condition=Q(due_at__isnull=False), name="transferred_due"),
            models.Index(fields=["expires_at"], condition=Q(expires_at__isnull=False), name="transferred_expires"),
            models.Index(fields=["alert_at"], condition=Q(alert_at__isnull=False), name="transferred_alert"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(tsig_name="", tsig_secret=None) | ~Q(tsig_name="") & Q(tsig_secret__isnull=False),
                name="transferred_key_whole",
            ),
            models.CheckConstraint(
                condition=Q(uses_tls=False, tls_names=[], tls_certificates="", shows_certificate=False)
                | Q(uses_tls=True) & ~Q(tls_names=[], tls_certificates=""),
                name="transferred_tls_whole",
            ),
        ]

    @property
    def is_active(self) -> bool:
        """True if the zone's primary is another server, and False if the zone was taken over."""
        return bool(self.zone.transferred_from)
