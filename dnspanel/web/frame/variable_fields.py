"""Form fields for the variables of a template."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.settings.template_text import LONGEST_VALUE, Fault, Variable, VariableKind

PREFIX = "v-"

_HELP = {
    VariableKind.HOSTNAME: gettext_lazy("Enter a host name. A name without a trailing dot is relative to the zone."),
    VariableKind.IPV4: gettext_lazy("Enter an IPv4 address."),
    VariableKind.IPV6: gettext_lazy("Enter an IPv6 address."),
    VariableKind.TEXT: gettext_lazy("Enter any text."),
    VariableKind.NUMBER: gettext_lazy("Enter a number."),
}


class VariablesForm(PanelForm):
    """A form with one field for each variable. If a field is empty, the variable's default is used."""

    def __init__(self, *args: Any, variables: Sequence[Variable], **kwargs: Any) -> None:
        self.variables = variables
        super().__init__(*args, **kwargs)
        self.fields |= {PREFIX + each.name: _field(each) for each in variables}

    @classmethod
    def of(cls, variables: Sequence[Variable], values: Mapping[str, str]) -> "VariablesForm":
        """Return an unbound form with these initial values."""
        return cls(variables=variables, initial={PREFIX + name: value for name, value in values.items()})

    @property
    def values(self) -> dict[str, str]:
        """The values of a valid form, by variable."""
        return {each.name: self.cleaned_data[PREFIX + each.name] for each in self.variables}

    def refuse_at(self, faults: Iterable[Fault]) -> None:
        """Add each error to the field of its variable, or to the whole form if the error isn't about a variable."""
        for fault in faults:
            self.refuse(PREFIX + fault.variable if fault.variable else None, str(fault))

    def refuse_fields(self, refusal: TemplateRefused) -> None:
        """Add the errors of a refused template to the fields of its variables."""
        for name, messages in refusal.fields.items():
            for message in messages:
                self.refuse(PREFIX + name, message)


def _field(variable: Variable) -> forms.Field:
    default = gettext(" Default: {default}").format(default=variable.default) if variable.default else ""
    attrs = {"class": "input input-mono", "autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
    return forms.CharField(
        label=variable.label,
        required=not variable.default,
        max_length=LONGEST_VALUE,
        help_text=_HELP[variable.kind] + default,
        widget=forms.TextInput(attrs=attrs | ({"placeholder": variable.default} if variable.default else {})),
    )
