"""Forms for an existing import: options and confirmations."""

from typing import Any

from django import forms

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.documents import Options
from dnspanel.web.frame.forms import PanelForm, mono_field, number_field, switch_field

MOST_TTL = 2**31 - 1
_APEX_CHOICES = [
    ("keep", gettext_lazy("From source")),
    ("missing", gettext_lazy("From source, or panel defaults if missing")),
]


class OptionsForm(PanelForm):
    """The import options for new and existing zones, name servers, SOA, signatures, TTLs and comments."""

    new = forms.ChoiceField(
        label=gettext_lazy("New zones"), choices=[("create", gettext_lazy("Create")), ("skip", gettext_lazy("Skip"))]
    )
    existing = forms.ChoiceField(
        label=gettext_lazy("Existing zones"),
        choices=[
            ("union", gettext_lazy("Merge: add values from the source, remove nothing")),
            ("rrsets", gettext_lazy("Replace RRsets: overwrite RRsets in the source, leave the others unchanged")),
            ("replace", gettext_lazy("Replace zone: make the zone identical to the source")),
            ("skip", gettext_lazy("Skip")),
        ],
    )
    nameservers = forms.ChoiceField(
        label=gettext_lazy("Zone name servers"),
        choices=[*_APEX_CHOICES, ("ours", gettext_lazy("Always panel defaults"))],
    )
    soa = forms.ChoiceField(
        label="SOA", choices=[*_APEX_CHOICES, ("ours", gettext_lazy("Always panel defaults, with the source’s serial"))]
    )
    signatures = forms.ChoiceField(
        label=gettext_lazy("Signatures (DNSSEC)"),
        choices=[
            ("drop", gettext_lazy("Remove signatures")),
            ("keep", gettext_lazy("Keep signatures and serve signed zones unchanged")),
        ],
        required=False,
        initial="drop",
    )
    ttl = number_field(gettext_lazy("TTL for all records"), 0, MOST_TTL)
    ttl_least = number_field(gettext_lazy("Minimum TTL"), 0, MOST_TTL)
    ttl_most = number_field(gettext_lazy("Maximum TTL"), 0, MOST_TTL)
    comments = switch_field(gettext_lazy("Keep comments"))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        cleaned["signatures"] = cleaned.get("signatures") or "drop"
        least, most = cleaned.get("ttl_least"), cleaned.get("ttl_most")
        if least is not None and most is not None and least > most:
            self.refuse("ttl_most", gettext("The maximum TTL must not be less than the minimum TTL."))
        if cleaned.get("ttl") is not None and (least is not None or most is not None):
            self.refuse("ttl", gettext("Enter one TTL for all records, or a minimum and maximum TTL."))
        return cleaned

    @property
    def options(self) -> Options:
        return Options(**self.cleaned_data)


class TypedForm(PanelForm):
    """A form that the user confirms by typing the text `confirmation`."""

    typed = mono_field(None, 300, required=True)

    def __init__(self, *args: Any, confirmation: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.confirmation = confirmation
        self.fields["typed"].label = gettext("Type “{confirmation}” to confirm").format(confirmation=confirmation)

    def clean_typed(self) -> str:
        typed = " ".join(str(self.cleaned_data["typed"]).split())
        if typed.replace(",", "").casefold() != self.confirmation.replace(",", "").casefold():
            raise forms.ValidationError(
                gettext("Type “{confirmation}” exactly.").format(confirmation=self.confirmation)
            )
        return typed
