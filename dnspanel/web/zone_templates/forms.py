"""Forms for templates: name and team, and the contents of a version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from dnspanel.accounts.actors.actors import Person
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer.zone_templates import access, server_set_text
from dnspanel.transfer.zone_templates.edit_template import LONGEST_NAME, LONGEST_NOTE, Head, Text
from dnspanel.transfer.zone_templates.try_text import infer_kinds
from dnspanel.web.frame.forms import PanelForm, mono_field, number_field, text_field
from dnspanel.web.frame.new_zone_forms import mailbox_name
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.models import TemplateKind, ZoneTemplate
from dnspanel.zones.settings.server_sets import Host, Servers
from dnspanel.zones.settings.template_text import (
    KIND_LABELS,
    LONGEST_LABEL,
    LONGEST_TEXT,
    LONGEST_VALUE,
    BadText,
    Variable,
    VariableKind,
)
from dnspanel.zones.values.soa import DEFAULT_TTL


class HeadForm(PanelForm):
    """The form for a template's name, team and description."""

    template_name = text_field(  # type: ignore[assignment]  # replaces `template_name` of Django's forms
        gettext_lazy("Name"), LONGEST_NAME, required=True, autocomplete="off"
    )
    description = text_field(gettext_lazy("Description"), LONGEST_NOTE)
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("Whole panel")
    )

    def __init__(self, *args: Any, author: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = access.teams_to_choose_from(author)
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Team.objects.filter(pk__in=[team.pk for team in teams]).order_by("name")
        if not access.may_change_in(author, None):
            field.required, field.empty_label = True, gettext("Choose")
        if not teams:
            del self.fields["team"]

    @property
    def head(self) -> Head:
        """The template's name, team and description, from a valid form."""
        chosen = self.cleaned_data
        return Head(chosen["template_name"], chosen.get("team"), chosen["description"])

    @staticmethod
    def initial_of(template: ZoneTemplate) -> dict[str, Any]:
        return {"template_name": template.name, "description": template.description, "team": template.team_id}

    def refuse(self, field: str | None, message: str) -> None:
        super().refuse("template_name" if field == "name" else field, message)


class NewTemplateForm(HeadForm):
    """The form for a new template: name, team, description, and whether it is for whole zones or a snippet."""

    # Sets of name servers have their own page.
    kind = forms.ChoiceField(
        label=gettext_lazy("For"),
        choices=[choice for choice in TemplateKind.choices if choice[0] != TemplateKind.SERVERS],
    )


@dataclass(frozen=True, slots=True)
class VariableRow:
    name: str
    label: str
    kind: str
    default: str
    faults: tuple[str, ...] = ()

    @property
    def kinds(self) -> Sequence[tuple[str, str]]:
        return [(kind, gettext(label)) for kind, label in KIND_LABELS.items()]


class TextForm(PanelForm):
    """The form for the text of a template version. Each variable in the text has a row for its declaration."""

    text = forms.CharField(
        label=gettext_lazy("Records"),
        max_length=LONGEST_TEXT,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 14, "class": "textarea input-mono", "spellcheck": "false", "autocapitalize": "off"}
        ),
        help_text=gettext_lazy(
            "Zone file lines. Names are relative to the zone or the snippet’s name. {{ ip }} is a variable. "
            "{{ zone }}, {{ zone_dashed }} and {{ name }} are predefined."
        ),
    )
    note = text_field(gettext_lazy("Change note"), LONGEST_NOTE, gettext_lazy("Optional. Saved with the version."))
    seen = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0, max_value=2**31 - 1)

    def __init__(self, *args: Any, declared: Sequence[Variable] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.declared = tuple(declared)
        self._declared = {each.name: each for each in declared}
        self._faults: dict[str, list[str]] = {}

    @property
    def rows(self) -> list[VariableRow]:
        """A row for each variable in the text, in order. An invalid text has a row for each submitted variable."""
        text = str(self.data.get("text", "") if self.is_bound else self.initial.get("text", ""))
        try:
            used = infer_kinds(text[: LONGEST_TEXT + 1].replace("\r\n", "\n"), self._declared)
        except BadText:
            used = {name.removeprefix("kind-"): VariableKind.TEXT for name in self.data if name.startswith("kind-")}
        return [self._row(name, kind) for name, kind in used.items()]

    def _row(self, name: str, kind: VariableKind) -> VariableRow:
        known = self._declared.get(name)
        faults = tuple(self._faults.get(name, ()))
        if not self.is_bound or f"kind-{name}" not in self.data:
            if known is None:
                return VariableRow(name, "", kind, "", faults)
            return VariableRow(name, known.label, known.kind, known.default, faults)
        label, default = self.data.get(f"label-{name}", ""), self.data.get(f"default-{name}", "")
        return VariableRow(
            name, label[: LONGEST_LABEL + 1], self.data[f"kind-{name}"], default[: LONGEST_VALUE + 1], faults
        )

    @property
    def content(self) -> Text:
        """The version's contents, from a valid form. A variable without a row is not declared."""
        rows = [row for row in self.rows if f"kind-{row.name}" in self.data and row.kind in KIND_LABELS]
        variables = [Variable(row.name, row.label, VariableKind(row.kind), row.default) for row in rows]
        return Text(self.cleaned_data["text"], variables, self.cleaned_data["note"])

    def refuse_all(self, faults: Mapping[str, Sequence[str]]) -> None:
        """Add each error to the text, the note or the variable that caused it."""
        for name, messages in faults.items():
            if name.startswith("variables/"):
                self._faults[name.removeprefix("variables/")] = list(messages)
                messages = [f"{name.removeprefix('variables/')}: {message}" for message in messages]
            for message in messages:
                self.refuse(name, message)


class ServersForm(PanelForm):
    """The form for a version of a set of name servers."""

    hosts = mono_field(
        gettext_lazy("Name servers"),
        8000,
        gettext_lazy(
            "One name per line. You can add glue addresses (ns1.example.net 192.0.2.1) or nodes that provide "
            "the addresses (ns1.example.net node:fra1)."
        ),
        required=True,
        rows=5,
    )
    primary = mono_field(
        gettext_lazy("SOA primary"),
        300,
        gettext_lazy("If empty, new zones use the first name server. Existing zones aren’t affected."),
    )
    hostmaster = mono_field(
        gettext_lazy("Hostmaster"),
        300,
        gettext_lazy(
            "Hostmaster for the SOA, as an email address or DNS name. If empty, new zones use the panel’s "
            "address. Existing zones aren’t affected."
        ),
    )
    ttl = number_field(
        gettext_lazy("NS TTL"), server_set_text.LEAST_TTL, server_set_text.MOST_TTL, required=True, initial=DEFAULT_TTL
    )
    note = text_field(gettext_lazy("Change note"), LONGEST_NOTE, gettext_lazy("Optional. Saved with the version."))
    seen = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=0, max_value=2**31 - 1)

    @staticmethod
    def initial_of(servers: Servers) -> dict[str, Any]:
        return {
            "hosts": server_set_text.format_hosts(servers.hosts),
            "primary": servers.primary,
            "hostmaster": servers.hostmaster,
            "ttl": servers.ttl,
        }

    def clean_hosts(self) -> tuple[Host, ...]:
        try:
            return server_set_text.parse_hosts(self.cleaned_data["hosts"])
        except TemplateRefused as exc:
            raise forms.ValidationError(exc.fields["hosts"]) from exc

    def clean_primary(self) -> str:
        return _name(self.cleaned_data["primary"])

    def clean_hostmaster(self) -> str:
        return mailbox_name(self.cleaned_data["hostmaster"])

    @property
    def content(self) -> Text:
        """The version's contents, from a valid form. Raises TemplateRefused if the name servers are invalid."""
        typed = self.cleaned_data
        servers = Servers(typed["hosts"], typed["primary"], typed["hostmaster"], typed["ttl"])
        return server_set_text.content_of(servers, typed["note"])

    def refuse(self, field: str | None, message: str) -> None:
        super().refuse("hosts" if field == "text" else field, message)


def _name(text: str) -> str:
    if not text:
        return ""
    try:
        return server_set_text.read_name(text)
    except ValueError as exc:
        raise forms.ValidationError(str(exc)) from exc
