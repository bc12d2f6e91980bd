"""The form of an alert route. It checks shape; `alerts.routes` checks the rest."""

from collections.abc import Mapping
from typing import Any

from django import forms

from dnspanel.alerts.models import Route, RouteKind, Severity
from dnspanel.alerts.routes import RouteTerms
from dnspanel.web.forms import PanelForm

_HEARS = ((Severity.WARNING.value, "everything"), (Severity.CRITICAL.value, "only what is critical"))
_TIME = {"type": "time", "class": "input"}


class RouteForm(PanelForm):
    """The address of a route, the severity it is told of, and its quiet hours."""

    name = forms.CharField(
        label="Name", max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "on call"})
    )
    kind = forms.ChoiceField(
        label="How", choices=RouteKind.choices, widget=forms.RadioSelect(attrs={"class": ""}), initial=RouteKind.MAIL
    )
    address = forms.CharField(
        label="Mail address or URL",
        max_length=2000,
        help_text="A webhook gets a signed POST over https. Private addresses are refused.",
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "spellcheck": "false"}),
    )
    least = forms.ChoiceField(label="Hears of", choices=_HEARS, widget=forms.RadioSelect(attrs={"class": ""}))
    quiet_from = forms.TimeField(
        label="Quiet from", required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M")
    )
    quiet_until = forms.TimeField(label="until", required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M"))
    time_zone = forms.CharField(
        label="Time zone", max_length=64, initial="UTC", widget=forms.TextInput(attrs={"spellcheck": "false"})
    )

    def __init__(self, *args: Any, route: Route | None = None, **kwargs: Any) -> None:
        if route is not None:
            kwargs["initial"] = {name: getattr(route, name) for name in RouteTerms.__dataclass_fields__}
        super().__init__(*args, **kwargs)
        self.fields["least"].initial = Severity.WARNING.value
        if route is not None:  # a route stays what it is
            self.fields["kind"].required = False
            self.fields["kind"].widget = forms.HiddenInput()
            self.fields["address"].label = "Mail address" if route.kind == RouteKind.MAIL else "URL"
            if route.kind == RouteKind.MAIL:
                self.fields["address"].help_text = ""

    def terms(self, *, kind: str = "") -> RouteTerms:
        """Return the terms that were filled in; `kind` is that of an existing route."""
        filled = self.cleaned_data
        return RouteTerms(**{**filled, "kind": kind or filled["kind"]})

    def refuse_all(self, faults: Mapping[str, list[str]]) -> None:
        """Add the errors that a verb raised, each at its field."""
        for field, messages_of_field in faults.items():
            for message in messages_of_field:
                self.refuse(field, message)
