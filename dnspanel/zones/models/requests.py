"""Tables for publish requests and the notes on them."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from dnspanel.text_fields import MessageField
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.models.drafts import Draft
from dnspanel.zones.models.log import Publication


class RequestState(models.TextChoices):
    OPEN = "open", _("open")
    PUBLISHED = "published", _("published")
    DECLINED = "declined", _("declined")
    WITHDRAWN = "withdrawn", _("withdrawn")
    PAST_RULES = "past-rules", _("published without approval")


class PublishRequest(models.Model):
    """A request to publish a named draft after approval or at a set time, or an action that bypassed rules.

    A request stays after the draft is deleted. `publish_requests` and `publish_guards` write the rows.
    """

    key = models.UUIDField(default=uuid4, unique=True, editable=False)
    draft = models.OneToOneField(Draft, null=True, on_delete=models.SET_NULL, related_name="request")
    name = models.CharField(max_length=80)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    by_token = models.BooleanField(default=False)  # stays True if the token is deleted
    asked_at = models.DateTimeField()
    reason = models.TextField(blank=True)
    accepted = ArrayField(models.TextField(), default=list)  # codes of warnings that the author accepted
    confirmed = models.BooleanField(default=False)  # the author confirmed the deletions that the guard would stop
    zone_ids = ArrayField(models.IntegerField())  # when the request was made
    state = models.CharField(max_length=10, choices=RequestState, default=RequestState.OPEN)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    publication = models.ForeignKey(Publication, null=True, on_delete=models.SET_NULL, related_name="requests")
    # The time of automatic publication, if planned, and why the last attempt failed.
    publish_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField(null=True)
    refusal = MessageField(blank=True, default="")

    class Meta:
        indexes = [
            GinIndex(fields=["zone_ids"], name="request_zones"),
            models.Index(
                fields=["publish_at"], condition=models.Q(state="open", publish_at__isnull=False), name="request_due"
            ),
            models.Index(fields=["state", "-id"], name="request_state"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_open(self) -> bool:
        """True if the request can still be published: it hasn't ended, and its draft exists."""
        return self.state == RequestState.OPEN and self.draft_id is not None


class Verdict(models.TextChoices):
    APPROVE = "approve", _("approved")
    DECLINE = "decline", _("declined")
    COMMENT = "comment", _("commented")


class RequestNote(models.Model):
    """A comment on a request, or a verdict about its draft at that time.

    `seen` contains a digest of each changed RRset, keyed by zone id, name and type. It is used to detect later changes.
    """

    request = models.ForeignKey(PublishRequest, on_delete=models.CASCADE, related_name="notes")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    token = models.ForeignKey("accounts.Token", null=True, on_delete=models.SET_NULL, related_name="+", db_index=False)
    at = models.DateTimeField()
    verdict = models.CharField(max_length=8, choices=Verdict)
    text = models.TextField(blank=True, default="")
    seen: "models.JSONField[Any]" = models.JSONField(default=dict)
