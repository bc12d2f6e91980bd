"""Forms for an existing import: its options and confirmations."""

from typing import Any

from django import forms

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.documents import Options
from dnspanel.web.frame.forms import MONO, PanelForm

MOST_TTL = 2**31 - 1
_APEX_CHOICES = [
    ("keep", gettext_lazy("The source’s")),
    ("missing", gettext_lazy("The source’s; ours where it has none")),
]


class OptionsForm(PanelForm):
    """The import options: the treatment of new and existing zones, name servers, SOA, signatures, TTLs and comments."""

    new = forms.ChoiceField(
        label=gettext_lazy("New zones"), choices=[("create", gettext_lazy("Create")), ("skip", gettext_lazy("Skip"))]
    )
    existing = forms.ChoiceField(
        label=gettext_lazy("Zones that exist here"),
        choices=[
            ("union", gettext_lazy("Union: the values of both; nothing is removed")),
            (
                "rrsets",
                gettext_lazy("Replace RRsets: those of the source take the place of the zone’s; the others stay"),
            ),
            ("replace", gettext_lazy("Replace the zone: it becomes what the source says")),
            ("skip", gettext_lazy("Skip")),
        ],
    )
    nameservers = forms.ChoiceField(
        label=gettext_lazy("Name servers of the zone"), choices=[*_APEX_CHOICES, ("ours", gettext_lazy("Always ours"))]
    )
    soa = forms.ChoiceField(
        label="SOA", choices=[*_APEX_CHOICES, ("ours", gettext_lazy("Always ours, with the source’s serial"))]
    )
    signatures = forms.ChoiceField(
        label=gettext_lazy("Signatures (DNSSEC)"),
        choices=[
            ("drop", gettext_lazy("Leave them out")),
            ("keep", gettext_lazy("Keep them: signed zones are served as they come")),
        ],
        required=False,
        initial="drop",
    )
    ttl = forms.IntegerField(label=gettext_lazy("Same TTL everywhere"), required=False, min_value=0, max_value=MOST_TTL)
    ttl_least = forms.IntegerField(label=gettext_lazy("TTL at least"), required=False, min_value=0, max_value=MOST_TTL)
    ttl_most = forms.IntegerField(label=gettext_lazy("TTL at most"), required=False, min_value=0, max_value=MOST_TTL)
    comments = forms.BooleanField(label=gettext_lazy("Keep comments"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        cleaned["signatures"] = cleaned.get("signatures") or "drop"
        least, most = cleaned.get("ttl_least"), cleaned.get("ttl_most")
        if least is not None and most is not None and least > most:
            self.refuse("ttl_most", gettext("This is less than the least."))
        if cleaned.get("ttl") is not None and (least is not None or most is not None):
            self.refuse("ttl", gettext("Either one TTL for all, or bounds."))
        return cleaned

    @property
    def options(self) -> Options:
        return Options(**self.cleaned_data)


class TypedForm(PanelForm):
    """A form that is confirmed by typing the text `confirmation`."""

    typed = forms.CharField(
        max_length=300,
        widget=forms.TextInput(attrs=MONO),
    )

    def __init__(self, *args: Any, confirmation: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.confirmation = confirmation
        self.fields["typed"].label = gettext("Type “{confirmation}” to confirm").format(confirmation=confirmation)

    def clean_typed(self) -> str:
        typed = " ".join(str(self.cleaned_data["typed"]).split())
        if typed.replace(",", "").casefold() != self.confirmation.replace(",", "").casefold():
            raise forms.ValidationError(gettext("This is not “{confirmation}”.").format(confirmation=self.confirmation))
        return typed
