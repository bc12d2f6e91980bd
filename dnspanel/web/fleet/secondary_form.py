"""The form for a secondary: its server, the server's networks for transfers, and its zones."""

from dataclasses import asdict
from typing import Any

from django import forms

from dnspanel.accounts.models import Team
from dnspanel.database.field_copies import copy_fields
from dnspanel.secondaries import server_certificates, set_up_secondaries
from dnspanel.secondaries.models import Kind, Transport, ZoneChoice
from dnspanel.texts import gettext_lazy
from dnspanel.web.frame.forms import PublishingForm, mono_field, number_field, split_list, switch_field, text_field


class SecondaryForm(PublishingForm):
    """The form for a secondary's settings. `set_up_secondaries` checks the values."""

    field_order = ("name", "addresses", "kind", "choice", "tag", "team", "zones", "lag_bound", "active", "transport")
    FOLDS = (
        (gettext_lazy("TLS encryption (optional)"), ("transport", "certificate", "tls_port")),
        (gettext_lazy("More: allowed networks, catalog groups"), ("networks", "group_tags")),
    )

    name = text_field(
        None,
        set_up_secondaries.LONGEST_NAME,
        gettext_lazy("Enter letters, digits and hyphens. The TSIG key will have the same name."),
        required=True,
        autocomplete="off",
        spellcheck="false",
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Software"),
        choices=Kind.choices,
        help_text=gettext_lazy("Choose the software for the configuration example."),
    )
    addresses = mono_field(
        None,
        1000,
        gettext_lazy(
            "Enter addresses for NOTIFY, one per line, with the port if it isn’t 53, such as 192.0.2.53:5300."
        ),
        required=True,
        rows=2,
    )
    networks = mono_field(
        gettext_lazy("Allowed networks"),
        4000,
        gettext_lazy(
            "Enter one network per line, such as 192.0.2.0/24, or leave empty to allow only the addresses "
            "above. The key is always required."
        ),
        rows=2,
    )
    transport = forms.ChoiceField(
        label=gettext_lazy("Transport"),
        choices=Transport.choices,
        widget=forms.RadioSelect,
        initial=Transport.ANY,
        help_text=gettext_lazy("With either transport, the key signs every message."),
    )
    certificate = mono_field(
        gettext_lazy("Certificate"),
        server_certificates.LONGEST,
        gettext_lazy(
            "Enter the secondary’s PEM certificate without the private key. When replacing the certificate, "
            "enter both the old and the new one."
        ),
        rows=3,
    )
    tls_port = number_field(
        gettext_lazy("TLS port"),
        1,
        set_up_secondaries.LAST_PORT,
        gettext_lazy("Enter the port for SOA queries over TLS, such as 853, or leave empty to use UDP."),
    )
    choice = forms.ChoiceField(
        label=gettext_lazy("Zones"), choices=ZoneChoice.choices, widget=forms.RadioSelect, initial=ZoneChoice.ALL
    )
    tag = mono_field(None, 60, gettext_lazy("Choose the zones with this tag."))
    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        required=False,
        empty_label=gettext_lazy("No team"),
        help_text=gettext_lazy("Choose this team’s zones."),
    )
    zones = mono_field(gettext_lazy("Zone names"), 300_000, gettext_lazy("Enter one zone name per line."), rows=3)
    group_tags = mono_field(
        gettext_lazy("Catalog groups"),
        1000,
        gettext_lazy(
            "Enter tags. The first one that a zone has becomes its group in the catalog, such as a Knot DNS template."
        ),
    )
    lag_bound = number_field(
        gettext_lazy("Alert threshold"),
        set_up_secondaries.LEAST_BOUND,
        set_up_secondaries.MOST_BOUND,
        gettext_lazy("Enter how many seconds the secondary can be behind before an alert is raised."),
        required=True,
        initial=300,
    )
    active = switch_field(gettext_lazy("Allow transfers and send NOTIFY"), initial=True)

    @classmethod
    def of(cls, terms: set_up_secondaries.Terms) -> "SecondaryForm":
        """Return the form filled in with a secondary's settings."""
        listed = {name: "\n".join(getattr(terms, name)) for name in ("addresses", "networks", "zones")}
        return cls(initial=asdict(terms) | listed | {"group_tags": " ".join(terms.group_tags)})

    def terms(self) -> set_up_secondaries.Terms:
        typed: dict[str, Any] = self.cleaned_data
        team = typed["team"]
        listed = {name: split_list(typed[name]) for name in ("addresses", "networks", "zones", "group_tags")}
        return copy_fields(set_up_secondaries.Terms, typed | listed, team=None if team is None else team.pk)
