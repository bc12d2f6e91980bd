"""Tables for templates, links between zones and templates, and the addresses of vanity name servers."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower

from dnspanel.text_fields import MessageField, MessagesField
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.zone import Zone


class TemplateKind(models.TextChoices):
    """The kinds of templates."""

    ZONE = "zone", _("whole zones")
    SNIPPET = "snippet", _("records at a name")
    SERVERS = "servers", _("name servers")  # the NS of zones, and the primary in their SOA


class ZoneTemplate(models.Model):
    """A template: records with variables, of a team or the panel (null team). `transfer.zone_templates` writes it."""

    name = models.CharField(max_length=64)
    kind = models.CharField(max_length=7, choices=TemplateKind)
    team = models.ForeignKey("accounts.Team", null=True, on_delete=models.CASCADE, related_name="+")
    description = models.CharField(max_length=500, blank=True)
    version = models.IntegerField(default=1)  # the newest
    # For name servers: the default for the team's new zones. The panel's default is for teams without one and for no
    # team.
    is_default = models.BooleanField(default=False, db_default=False)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), condition=models.Q(team=None), name="zone_template_name_of_panel"),
            models.UniqueConstraint(Lower("name"), models.F("team"), name="zone_template_name_of_team"),
            models.UniqueConstraint(
                fields=["team"], condition=models.Q(is_default=True), nulls_distinct=False, name="zone_template_default"
            ),
            models.CheckConstraint(
                condition=models.Q(is_default=False) | models.Q(kind="servers"), name="zone_template_default_kind"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class TemplateVersion(models.Model):
    """A numbered, immutable version of a template: its zone-file text and variables."""

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.IntegerField()  # from 1
    text = models.TextField()
    variables: "models.JSONField[Any]" = models.JSONField(default=list)  # `template_text.Variable` as JSON
    servers: "models.JSONField[Any]" = models.JSONField(null=True)  # `server_sets.Servers`, which is also in the text
    note = models.CharField(max_length=500, blank=True)
    at = models.DateTimeField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "number"], name="template_version_unique")]


class TemplateLink(models.Model):
    """A zone's link to a template: the zone has the records that the template's `version` creates from `values`.

    If an update was only put into a draft, the zone can still have an earlier state. Until the draft is published,
    `before` lists the possible states as `{"version", "values"}`, or `{}` for no records. After the panel itself has
    published this version for the zone, `before` is null.
    """

    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="links", db_index=False)
    version = models.IntegerField()
    values: "models.JSONField[Any]" = models.JSONField(default=dict)  # {variable: typed text}
    before: "models.JSONField[Any]" = models.JSONField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "zone"], name="template_link_unique")]


class KeptAddresses(models.Model):
    """A zone's vanity name servers, whose A and AAAA records follow the nodes' addresses.

    The template's newest version has the server names and the nodes. `transfer.zone_templates.vanity` writes the row.
    """

    template = models.ForeignKey(ZoneTemplate, on_delete=models.CASCADE, related_name="+", db_index=False)
    zone = models.ForeignKey(Zone, on_delete=models.CASCADE, related_name="+")
    set_at = models.DateTimeField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+")
    by_token = models.BooleanField(default=False)  # stays True if the token is deleted
    # Why the last update of the addresses failed, and when that was.
    refusal = MessageField(blank=True, default="")
    tried_at = models.DateTimeField(null=True)
    # The parent's answer to the last check: `delegation.Point` as JSON.
    asked_at = models.DateTimeField(null=True)
    points: "models.JSONField[Any]" = MessagesField(default=list)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "zone"], name="kept_addresses_unique")]
