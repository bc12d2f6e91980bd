"""The form for an alert route. It checks only the format of its fields; `alerts.routes` checks the rest."""

from typing import Any

from django import forms

from dnspanel.alerts.models import LEAST, Route, RouteKind
from dnspanel.alerts.routes import RouteTerms
from dnspanel.conditions import Severity
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm, mono_field, text_field

_TIME = {"type": "time", "class": "input"}


class RouteForm(PanelForm):
    """The form for an alert route: its address, its lowest severity, and its quiet hours."""

    name = text_field(None, 100, required=True, autocomplete="off", placeholder=gettext_lazy("on call"))
    kind = forms.ChoiceField(
        label=gettext_lazy("Method"), choices=RouteKind.choices, widget=forms.RadioSelect, initial=RouteKind.MAIL
    )
    address = mono_field(
        gettext_lazy("Email address or URL"),
        2000,
        gettext_lazy("Webhooks get a signed POST request over HTTPS. Private addresses aren’t allowed."),
        required=True,
    )
    least = forms.ChoiceField(label=gettext_lazy("Alerts to send"), choices=LEAST, widget=forms.RadioSelect)
    quiet_from = forms.TimeField(
        label=gettext_lazy("Quiet hours start"), required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M")
    )
    quiet_until = forms.TimeField(
        label=gettext_lazy("until"), required=False, widget=forms.TimeInput(attrs=_TIME, format="%H:%M")
    )
    time_zone = forms.CharField(
        label=gettext_lazy("Time zone"),
        max_length=64,
        initial="UTC",
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )

    def __init__(self, *args: Any, route: Route | None = None, **kwargs: Any) -> None:
        if route is not None:
            kwargs["initial"] = {name: getattr(route, name) for name in RouteTerms.__dataclass_fields__}
        super().__init__(*args, **kwargs)
        self.fields["least"].initial = Severity.INFO.value
        if route is not None:  # the kind of a route can't change
            self.fields["kind"].required = False
            self.fields["kind"].widget = forms.HiddenInput()
            self.fields["address"].label = gettext("Email address") if route.kind == RouteKind.MAIL else "URL"
            if route.kind == RouteKind.MAIL:
                self.fields["address"].help_text = ""

    def terms(self, *, kind: str = "") -> RouteTerms:
        """Return the form's values as `RouteTerms`. For an existing route, pass its `kind`."""
        filled = self.cleaned_data
        return RouteTerms(**{**filled, "kind": kind or filled["kind"]})
