"""The form of the primaries that a zone comes from: for a zone that is here, and for a new one."""

from django import forms

from dnspanel.accounts import tsig
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up import MOST_PRIMARIES, Terms
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.forms import MONO, PanelForm, SecretInput


class PrimariesForm(PanelForm):
    """Addresses, one a line in the order in which they are asked, and the key; `terms` is what the verbs take."""

    addresses = forms.CharField(
        label=gettext_lazy("Primaries"),
        max_length=100 * MOST_PRIMARIES,
        widget=forms.Textarea(attrs={"rows": 3, "class": "textarea input-mono", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Addresses, one a line, asked in this order: 192.0.2.53, or with a port [2001:db8::53]:5300."
        ),
    )
    tsig_name = forms.CharField(
        label=gettext_lazy("TSIG key"),
        required=False,
        max_length=1100,
        widget=forms.TextInput(attrs=MONO),
        help_text=gettext_lazy("Its name; empty for none. All of them have the same."),
    )
    tsig_algorithm = forms.ChoiceField(
        label=gettext_lazy("Algorithm"), choices=[(name, name) for name in tsig.ALGORITHMS], initial="hmac-sha256"
    )
    tsig_secret = forms.CharField(
        label=gettext_lazy("Secret"),
        required=False,
        max_length=1000,
        widget=SecretInput(),
        help_text=gettext_lazy("Base64. Stored encrypted."),
    )

    def keep_secret_of(self, row: TransferredZone) -> None:
        """Say that nothing need be typed for the key that there is."""
        if row.tsig_secret is not None:
            self.fields["tsig_secret"].help_text = gettext(
                "Base64. Stored encrypted; empty: the one that there is stays."
            )

    @property
    def terms(self) -> Terms:
        given = self.cleaned_data
        return Terms(
            addresses=[line.strip() for line in given["addresses"].splitlines() if line.strip()],
            tsig_name=given["tsig_name"],
            tsig_algorithm=given["tsig_algorithm"],
            tsig_secret=given["tsig_secret"] or None,
        )


def initial_of(row: TransferredZone) -> dict[str, str]:
    """Return what the form begins with for a zone that has primaries, or had."""
    return {
        "addresses": "\n".join(row.addresses),
        "tsig_name": row.tsig_name,
        "tsig_algorithm": row.tsig_algorithm or "hmac-sha256",
    }
