"""Tables for runs over many zones."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.dnssec import DnssecPolicy
from dnspanel.zones.models.templates import ZoneTemplate


class RunState(models.TextChoices):
    """The state of a run over many zones."""

    WAITING = "waiting", _("waiting for a worker")
    RUNNING = "running", _("running")
    DONE = "done", _("done")
    CANCELLED = "cancelled", _("cancelled")
    FAILED = "failed", _("failed")


UNFINISHED_STATES = (RunState.WAITING, RunState.RUNNING)


class ZoneRun(models.Model):
    """A run over many zones, or a dry run. `run_turns` processes it in turns.

    Zones are processed in the order of their ids. `cursor` is the last processed zone.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")
    # The token of the author, if any; and the origin, see accounts.audit.
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)
    address = models.GenericIPAddressField(null=True)
    request_id = models.CharField(max_length=36, blank=True, default="")
    session = models.CharField(max_length=32, blank=True, default="", db_default="")
    created_at = models.DateTimeField()
    dry_run = models.BooleanField()
    dry_run_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="+")
    state = models.CharField(max_length=9, choices=RunState, default=RunState.WAITING)
    failure = MessageField(blank=True, default="")
    cursor = models.IntegerField(default=0)
    total = models.IntegerField(default=0)
    done = models.IntegerField(default=0)
    counts: "models.JSONField[Any]" = models.JSONField(default=dict)  # {outcome: number of zones}
    last_sequence = models.BigIntegerField(default=0)
    # The sequences of all its publications, so that the run can show which of them were reverted.
    sequences = ArrayField(models.BigIntegerField(), default=list, db_default=[])
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    # Set by the form: a form sent twice creates one run.
    form_id = models.UUIDField(null=True, unique=True)

    class Meta:
        abstract = True


class PolicyRun(ZoneRun):
    """A run that signs zones according to their policies, or its dry run. `runs.policy_runs` writes the rows.

    The run counts and lists zones by `policy.Act`.
    """

    policy = models.ForeignKey(DnssecPolicy, null=True, on_delete=models.CASCADE, related_name="+")  # only its zones
    search = models.TextField(blank=True, default="")  # as in the list of zones
    fingerprint = models.CharField(max_length=64)  # of the policies, which must not change during the run

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="policyrun_author"),
            models.Index(fields=["state"], name="policyrun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class PolicyRunZone(models.Model):
    """A zone in a policy run, with the required or completed action.

    All zones are counted. At most `policy_runs.MOST_LISTED` are listed for each action.
    """

    run = models.ForeignKey(PolicyRun, on_delete=models.CASCADE, related_name="zones")
    zone_name = models.TextField(db_collation="C")
    act = models.CharField(max_length=9)  # a `policy.Act`
    message = MessageField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["run", "act", "id"], name="policyrunzone_act")]


class TemplateRun(ZoneRun):
    """A run that updates zones to a template version, or its dry run. `zone_templates.runs` writes the rows.

    The run counts and lists zones by `compare.Outcome`.
    """

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="runs")
    version = models.IntegerField()
    # Null: the zones that follow the template. Otherwise the zones that this search finds, with the values below.
    search = models.TextField(null=True)  # noqa: DJ001  (an empty search finds every zone)
    names = ArrayField(models.TextField(), default=list, db_default=[])  # of zones; empty: those that the search finds
    values: "models.JSONField[Any]" = models.JSONField(default=dict)
    keep = models.BooleanField(default=False)  # found zones follow the template from now on
    overwrite = models.BooleanField(default=False)  # also records that were edited by hand

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="templaterun_author"),
            models.Index(fields=["state"], name="templaterun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class TemplateRunZone(models.Model):
    """A zone in a template run, with its outcome. All zones are counted, but only some of each outcome are listed."""

    run = models.ForeignKey(TemplateRun, on_delete=models.CASCADE, related_name="zones")
    zone_name = models.TextField(db_collation="C")
    outcome = models.CharField(max_length=9)  # a `compare.Outcome`
    message = MessageField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["run", "outcome", "id"], name="templaterunzone_outcome")]


class ZoneAct(models.TextChoices):
    """The actions that a run can apply to each of its zones."""

    ADD_TAGS = "add-tags", _("add tags")
    REMOVE_TAGS = "remove-tags", _("remove tags")
    TEAM = "team", _("assign to a team")
    DELETE = "delete", _("move to the trash")
    POLICY = "policy", _("assign a DNSSEC policy")
    RESTORE = "restore", _("restore from the trash")


class ChangeRun(ZoneRun):
    """A run that applies the same change to many zones, or a dry run that shows its effect.

    `change_runs` writes the rows. A real run processes the zones that its dry run listed as changing. An undo run
    processes the zones that the original run changed. Runs count and list zones by `change_runs.Outcome`.
    """

    act = models.CharField(max_length=11, choices=ZoneAct)
    tags = ArrayField(models.TextField(), default=list)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    policy = models.ForeignKey(DnssecPolicy, null=True, on_delete=models.CASCADE, related_name="+")
    reason = models.TextField(blank=True, default="")
    search = models.TextField(blank=True, default="")  # as in the list of zones
    names = ArrayField(models.TextField(), default=list)  # of zones; empty: the zones that the search finds
    undo_of = models.ForeignKey("self", null=True, on_delete=models.SET_NULL, related_name="undos")

    class Meta:
        indexes = [
            models.Index(fields=["author", "-id"], name="changerun_author"),
            models.Index(fields=["state"], name="changerun_unfinished", condition=Q(state__in=UNFINISHED_STATES)),
        ]


class ChangeRunZone(models.Model):
    """A zone in a change run, with its outcome. All changed zones are stored, but only some of the refused ones.

    `before` contains the data for undoing the change. `revision` is the zone's revision when it was processed.
    """

    run = models.ForeignKey(ChangeRun, on_delete=models.CASCADE, related_name="zones")
    zone_id = models.IntegerField()
    zone_name = models.TextField(db_collation="C")
    outcome = models.CharField(max_length=7)
    message = MessageField(blank=True)
    revision = models.IntegerField()
    before: "models.JSONField[Any]" = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "zone_id"], name="changerunzone_zone")]
        indexes = [models.Index(fields=["run", "outcome", "id"], name="changerunzone_outcome")]
