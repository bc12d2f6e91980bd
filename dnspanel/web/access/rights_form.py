"""The form that tells whether a person has each right over an RRset, and why."""

from dataclasses import dataclass
from typing import Any

from django import forms

from dnspanel.accounts.explain_rights import Subject, reasons_for, reasons_of
from dnspanel.accounts.grants import Right
from dnspanel.accounts.models import User
from dnspanel.web.access.describe_grant import RIGHT_DESCRIPTIONS
from dnspanel.web.access.grant_form import MONO
from dnspanel.web.forms import PanelForm
from dnspanel.zones import access
from dnspanel.zones.models import Zone
from replication.dns import names, rdtypes
from replication.errors import BadName, BadRdata


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the person has one right, and what gives it."""

    description: str
    may: bool
    reasons: tuple[str, ...]


class ExplainRightsForm(PanelForm):
    """The zone and RRset to explain; without a name, any name that a grant allows."""

    zone = forms.CharField(label="Zone", max_length=1100, widget=forms.TextInput(attrs=MONO))
    name = forms.CharField(
        label="Name", required=False, max_length=1100, widget=forms.TextInput(attrs={**MONO, "placeholder": "www"})
    )
    type = forms.CharField(
        label="Type", required=False, max_length=20, widget=forms.TextInput(attrs={**MONO, "placeholder": "A"})
    )

    def __init__(self, *args: Any, asker: access.Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asker = asker

    def clean_zone(self) -> Zone:
        try:
            return access.zone_for_reading(self.asker, self.cleaned_data["zone"])
        except access.Unknown as exc:
            raise forms.ValidationError(str(exc)) from exc

    def clean_name(self) -> str:
        zone, text = self.cleaned_data.get("zone"), self.cleaned_data["name"].strip()
        if zone is None or not text:
            return ""
        try:
            name = names.parse(text, zone.name)
        except BadName as exc:
            raise forms.ValidationError(str(exc)) from exc
        if not names.is_within(name, zone.name):
            raise forms.ValidationError(f"{name} is not in {zone.name}")
        return name

    def clean_type(self) -> int:
        text = self.cleaned_data["type"].strip()
        try:
            return rdtypes.type_from_text(text) if text else rdtypes.A
        except BadRdata as exc:
            raise forms.ValidationError(exc.reason) from exc

    def verdicts(self, person: User) -> tuple[Verdict, ...]:
        """Return the verdict on every right over this zone or RRset; the form must be valid."""
        zone = self.cleaned_data["zone"]
        subject = Subject(
            zone_id=zone.pk,
            zone_name=zone.name,
            tags=zone.tags,
            team_id=zone.team_id,
            name=self.cleaned_data["name"],
            type=self.cleaned_data["type"],
        )
        reasons = reasons_of(person)
        found = ((right, reasons_for(reasons, right, subject)) for right in Right if right != Right.CREATE_ZONE)
        return tuple(
            Verdict(RIGHT_DESCRIPTIONS[right], bool(given_by), tuple(each.description for each in given_by))
            for right, given_by in found
        )
