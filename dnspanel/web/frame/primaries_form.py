"""Forms for the primaries of new and existing zones, and for a change of primaries despite rules."""

from django import forms

from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.database.field_copies import copy_fields
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.primary_tls import LONGEST_PEM
from dnspanel.primaries.set_up_primaries import MOST_PRIMARIES, Terms
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import PanelForm, mono_field, secret_field, switch_field, text_field


class PrimariesForm(PanelForm):
    """The form for primaries: addresses (one per line, in order of preference), TLS settings, and the TSIG key."""

    FOLDS = (
        (gettext_lazy("TLS encryption (optional)"), ("uses_tls", "tls_names", "tls_certificates", "shows_certificate")),
        (gettext_lazy("TSIG key (optional)"), ("tsig_name", "tsig_algorithm", "tsig_secret")),
    )

    addresses = mono_field(
        gettext_lazy("Primaries"),
        100 * MOST_PRIMARIES,
        gettext_lazy("Enter one address per line, in order of preference, such as 192.0.2.53 or [2001:db8::53]:5300."),
        required=True,
        rows=2,
    )
    uses_tls = switch_field(
        gettext_lazy("Require TLS"),
        gettext_lazy(
            "Queries and transfers use TLS 1.3 (RFC 9103), on port 853 by default. Nothing is sent in clear text."
        ),
    )
    tls_names = mono_field(
        gettext_lazy("Certificate names"),
        260 * MOST_PRIMARIES,
        gettext_lazy(
            "For TLS. Enter one name for all primaries, or one name per line in the same order as the primaries."
        ),
        rows=2,
    )
    tls_certificates = mono_field(
        gettext_lazy("Certificates"),
        LONGEST_PEM,
        gettext_lazy(
            "For TLS, in PEM format. With names: the CA that issued the primaries’ certificates (empty: "
            "system CAs). Without names: the primaries’ certificates."
        ),
        rows=3,
    )
    shows_certificate = switch_field(
        gettext_lazy("Send client certificate"),
        gettext_lazy("For primaries that require TLS client authentication. The panel’s own CA signs the certificate."),
    )
    tsig_name = mono_field(
        gettext_lazy("TSIG key"),
        1100,
        gettext_lazy("Enter the name of the key that all primaries share, or leave empty for no key."),
    )
    tsig_algorithm = forms.ChoiceField(
        label=gettext_lazy("Algorithm"),
        choices=[(name, name) for name in tsig_secrets.ALGORITHMS],
        initial="hmac-sha256",
    )
    tsig_secret = secret_field(gettext_lazy("Secret"), 1000, gettext_lazy("Base64. Stored encrypted."))

    def keep_secret_of(self, row: TransferredZone) -> None:
        """Explain in the help text that an empty field keeps the TSIG secret, if the zone has one."""
        if row.tsig_secret is not None:
            self.fields["tsig_secret"].help_text = gettext(
                "Base64. Stored encrypted. Leave empty to keep the current secret."
            )

    @property
    def terms(self) -> Terms:
        given = self.cleaned_data
        listed = {name: _lines(given[name]) for name in ("addresses", "tls_names")}
        return copy_fields(Terms, given | listed, tsig_secret=given["tsig_secret"] or None)


class PastRulesForm(PanelForm):
    """The form that changes a zone's primaries despite an approval rule or a freeze. It requires a reason."""

    reason = text_field(None, 500)
    past_rules = switch_field(
        gettext_lazy("Bypass rules"),
        gettext_lazy("The zone has approval rules or freezes. Administrators will be notified."),
    )

    @property
    def verb_arguments(self) -> dict[str, str | bool]:
        """Keyword arguments for changes to primaries: the reason, and whether to bypass the rules."""
        return {"reason": self.cleaned_data["reason"], "past_rules": self.cleaned_data["past_rules"]}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def initial_of(row: TransferredZone) -> dict[str, str | bool]:
    """Return the form's initial values for a zone that has or had primaries."""
    return {
        "addresses": "\n".join(row.addresses),
        "tsig_name": row.tsig_name,
        "tsig_algorithm": row.tsig_algorithm or "hmac-sha256",
        "uses_tls": row.uses_tls,
        "tls_names": "\n".join(row.tls_names),
        "tls_certificates": row.tls_certificates,
        "shows_certificate": row.shows_certificate,
    }
