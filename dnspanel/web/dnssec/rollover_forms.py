"""Forms that start and cancel rollovers."""

from collections.abc import Sequence
from typing import Any

from django import forms

from dnspanel.texts import gettext_lazy
from dnspanel.web.dnssec.display_rollover import KIND_LABELS
from dnspanel.web.dnssec.forms import SigningForm
from dnspanel.web.frame.forms import TypedNameForm, mono_field
from dnspanel.zones.dnssec.key_material import ALGORITHMS, MADE
from dnspanel.zones.dnssec.rollover_stages import EMERGENCY, Kind

_SELECT = {"class": "input"}


class BeginRolloverForm(SigningForm):
    """The form that starts a rollover: the keys to roll over, and the algorithm."""

    name = "rollover"
    kind = forms.ChoiceField(label=gettext_lazy("Rollover type"), widget=forms.Select(attrs=_SELECT))
    algorithm = forms.TypedChoiceField(
        label=gettext_lazy("New algorithm"),
        coerce=int,
        required=False,
        empty_value=None,
        choices=[("", gettext_lazy("no change")), *((number, f"{ALGORITHMS[number]} ({number})") for number in MADE)],
        widget=forms.Select(attrs=_SELECT),
        help_text=gettext_lazy("Only used for an algorithm rollover."),
    )

    def __init__(self, *args: Any, kinds: Sequence[Kind], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["kind"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(kind.value, KIND_LABELS[kind]) for kind in kinds]


class CancelRolloverForm(SigningForm):
    """The form that confirms canceling the rollover and returning to the old keys."""

    name = "cancel"
    withdrawn = forms.BooleanField(
        label=gettext_lazy("I have withdrawn the request for the new DS at the parent"),
        required=False,
        widget=forms.CheckboxInput(attrs={"class": "tick"}),
    )


class EmergencyForm(SigningForm, TypedNameForm):
    """The form that chooses the compromised key. The typed zone name confirms that answers will fail for some time."""

    name = "emergency"
    kind = forms.ChoiceField(label=gettext_lazy("Compromised key"), widget=forms.Select(attrs=_SELECT))
    typed = mono_field(gettext_lazy("Type the zone name to confirm"), 1100, required=True)

    def __init__(self, *args: Any, kinds: Sequence[Kind], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["kind"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(kind.value, KIND_LABELS[kind]) for kind in kinds if kind in EMERGENCY]
