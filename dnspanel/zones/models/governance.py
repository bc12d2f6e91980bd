"""Tables for approval rules, freezes and publish hooks."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from dnspanel.accounts.secret_places import SecretField
from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.zone import Zone


class ZoneRule(models.Model):
    """The base of rules for a zone, zones with a tag, a team's zones, or all zones."""

    zone = models.ForeignKey(Zone, null=True, on_delete=models.CASCADE, related_name="+")
    tag = models.TextField(blank=True, default="")
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    reason = models.TextField()
    placed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    placed_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.scope}: {self.reason}"

    @property
    def scope(self) -> str:
        """A description of the zones that the rule covers."""
        if self.zone is not None:
            return self.zone.name
        if self.tag:
            return gettext("zones tagged {tag}").format(tag=self.tag)
        if self.team is not None:
            return gettext("zones in team {team}").format(team=self.team.name)
        return gettext("every zone")

    def covers(self, zone: Zone) -> bool:
        """Return True if the rule covers this zone."""
        if self.zone_id is not None:
            return self.zone_id == zone.pk
        if self.tag:
            return self.tag in zone.tags
        return self.team_id is None or self.team_id == zone.team_id


_OF_ONE_SCOPE = (
    Q(zone=None, tag="", team=None)
    | Q(zone__isnull=False, tag="", team=None)
    | (Q(zone=None, team=None) & ~Q(tag=""))
    | Q(zone=None, tag="", team__isnull=False)
)


class ApprovalRule(ZoneRule):
    """A rule that requires approvals, a ticket or both for changes to its zones.

    Members of the team and people with at least the role can approve. Without both, administrators can.
    """

    needed = models.SmallIntegerField()
    types = ArrayField(models.IntegerField(), default=list)  # applies only to changes of these types; empty: any
    min_changes = models.IntegerField(default=1)  # applies only from this number of changed RRsets in a zone
    approver_team = models.ForeignKey("accounts.Team", null=True, on_delete=models.SET_NULL, related_name="+")
    approver_role = models.CharField(max_length=16, blank=True, default="")
    tokens = models.ManyToManyField("accounts.Token", related_name="+")  # these tokens publish without approval
    ticket = models.TextField(blank=True, default="")  # for `ticket_patterns`; empty: no ticket is required
    ticket_link = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="approvalrule_one_scope"),
            models.CheckConstraint(condition=Q(needed__gte=0, needed__lte=3), name="approvalrule_needed"),
        ]


class Freeze(ZoneRule):
    """A period, once or repeated, during which changes to the rule's zones can't be published.

    `repeats` is an RFC 5545 RRULE, or empty. The RRULE counts from `starts_at` in the local time of `time_zone`.
    """

    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    repeats = models.TextField(blank=True, default="")
    time_zone = models.CharField(max_length=64, default="UTC")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="freeze_one_scope"),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="freeze_ends_after_start"),
        ]


class WhenSilent(models.TextChoices):
    """The outcome for a publication if a hook gives no valid answer."""

    REFUSE = "refuse", _("refused")
    PASS = "pass", _("published (recorded in the audit log)")


class PublishHook(ZoneRule):
    """A URL that is queried before a publication and can reject it. `webhooks.place_publish_hooks` writes the rows."""

    name = models.CharField(max_length=40, blank=True, default="", db_default="")
    url = models.TextField()  # only for people who may govern its zones
    secret = SecretField()  # `vault.encrypt_secret` of "whsec_…"
    # After a rotation, requests are signed with both secrets until `old_secret_until`.
    old_secret = SecretField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    seconds = models.SmallIntegerField()  # how long to wait for an answer
    when_silent = models.CharField(max_length=6, choices=WhenSilent)
    # Incremented when one of the fields above changes, except the secrets. Answers to an older version don't count.
    version = models.IntegerField(default=1, db_default=1)
    # Written by `hook_health`: the last answer, and since when, how often and why the hook has failed.
    questioned_at = models.DateTimeField(null=True)
    ms = models.FloatField(null=True)  # of its last answer
    failing_since = models.DateTimeField(null=True)
    failures = models.IntegerField(default=0, db_default=0)
    error = MessageField(blank=True, default="", db_default="")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=_OF_ONE_SCOPE, name="publishhook_one_scope"),
            models.CheckConstraint(condition=Q(seconds__gte=1, seconds__lte=10), name="publishhook_seconds"),
        ]

    @property
    def display_name(self) -> str:
        """The hook's name for people who aren't allowed to see its URL."""
        return f"“{self.name}”" if self.name else gettext("for {scope}").format(scope=self.scope)


class HookReply(models.Model):
    """A hook's answer about a publication or a test. `hook_health` stores the newest answers of each hook."""

    class Word(models.TextChoices):
        YES = "yes", _("yes")
        NO = "no", _("no")
        SILENT = "silent", _("no answer")

    hook = models.ForeignKey(PublishHook, on_delete=models.CASCADE, related_name="replies", db_index=False)
    at = models.DateTimeField()
    word = models.CharField(max_length=6, choices=Word)
    reason = MessageField(blank=True)  # the hook's reason, or the failure, which can name its host
    ticket = models.TextField(blank=True)
    ms = models.FloatField()
    zones = models.IntegerField()  # number of zones in the query
    is_test = models.BooleanField(default=False)

    class Meta:
        indexes = [models.Index(fields=["hook", "-id"], name="reply_of_hook")]
