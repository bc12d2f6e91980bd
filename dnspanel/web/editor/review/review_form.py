"""The form that publishes a draft: reason, accepted warnings, and zone names typed to confirm large deletions."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.http import QueryDict

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import OwnClockField, PublishingForm, mono_field, text_field
from dnspanel.zones.drafts.named_drafts import LONGEST_NAME
from dnspanel.zones.models import Zone
from dnspanel.zones.plan.plan import ZonePlan
from replication.dns import names
from replication.errors import BadName


class PublishForm(PublishingForm):
    """The form that publishes or schedules a draft, or requests approval.

    `accept` has the codes of accepted warnings. `confirm-<zone id>` has the zone's name, typed as a confirmation.
    """

    reason = text_field(
        None, 500, gettext_lazy("Shown in the history. Enter a reason or a ticket number."), autocomplete="off"
    )

    # For drafts that wait for an approval or a time: the draft's name, and the time.
    name = text_field(
        None,
        LONGEST_NAME,
        gettext_lazy("Name for the saved draft. Default: your name and the time"),
        autocomplete="off",
    )
    publish_at = OwnClockField(required=False, label=gettext_lazy("Publish time"))

    def __init__(self, *args: Any, plans: Sequence[ZonePlan], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.plans = plans
        self.guarded = [plan for plan in plans if plan.guard]
        self.warnings = {violation.code for plan in plans for violation in plan.warnings}
        if self.needs_reason:
            self.fields["reason"].widget.attrs["aria-required"] = "true"
        for zone in self.guarded_zones:
            self.fields[f"confirm-{zone.pk}"] = mono_field(
                gettext("Type {name} to confirm").format(name=zone.name), 1100, required=True
            )

    @property
    def needs_reason(self) -> bool:
        """True if a warning or the deletion guard makes a reason mandatory."""
        return bool(self.guarded or self.warnings)

    @property
    def guarded_zones(self) -> list[Zone]:
        return [plan.zone for plan in self.guarded]

    @property
    def confirmations(self) -> list[tuple[forms.BoundField, tuple[str, ...]]]:
        """The confirmation field and the deletion guard's reasons, for each zone with a large deletion."""
        return [(self[f"confirm-{plan.zone.pk}"], plan.guard) for plan in self.guarded]

    @property
    def accepted_warnings(self) -> frozenset[str]:
        """The codes of accepted warnings."""
        return frozenset(self.data.getlist("accept")) if isinstance(self.data, QueryDict) else frozenset()

    @property
    def act(self) -> str:
        """The clicked button: "publish", "ask" (for approval), "plan" (schedule) or "past" (bypass the rules)."""
        act = self.data.get("act", "")
        return act if act in ("ask", "plan", "past") else "publish"

    @property
    def is_confirmed(self) -> bool:
        return bool(self.guarded) and self.is_valid()

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cleaned_data
        for zone in self.guarded_zones:
            field = f"confirm-{zone.pk}"
            if field in data and not _is_name(data[field], zone.name):
                self.add_error(field, gettext("The name doesn’t match {name}").format(name=zone.name))
        if self.warnings - self.accepted_warnings:
            self.add_error(None, gettext("Select the warnings that you accept, or fix their causes."))
        if self.needs_reason and not data.get("reason", "").strip():
            self.add_error("reason", gettext("Enter a reason because this publication ignores a warning."))
        elif self.act == "past" and not data.get("reason", "").strip():
            self.add_error(
                "reason", gettext("Enter a reason for bypassing the approval rules. The other approvers can read it.")
            )
        if self.act == "plan" and not data.get("publish_at") and "publish_at" not in self.errors:
            self.add_error("publish_at", gettext("Enter a time."))
        return data


def _is_name(typed: str, name: str) -> bool:
    try:
        return names.parse(typed) == name
    except BadName:
        return False
