"""Forms for DNSSEC policies and their runs. The forms check only the format of fields; `zones` checks the rest."""

from typing import Any

from django import forms

from dnspanel.accounts.actors.actors import Person
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.dnssec.forms import CDS_LABELS, DenialForm, KeyChoice, SigningForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, PublishingForm
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.key_material import ALGORITHMS
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import PolicyRefused
from dnspanel.zones.models import DnssecPolicy
from dnspanel.zones.signing.policies import LONGEST_NAME, MOST_DAYS

_FIELDS = {"nsec3": "denial"}  # the form's fields for errors about other names


class PolicyForm(KeyChoice, DenialForm):
    """The form for the name and terms of a DNSSEC policy."""

    name = "policy"
    policy_name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
    )
    split = forms.BooleanField(
        label=gettext_lazy("Two keys: one for the DNSKEY records (KSK), one for all others (ZSK)"),
        required=False,
    )
    cds = forms.ChoiceField(
        label=gettext_lazy("CDS records"),
        required=False,
        choices=[(value, label) for value, label in CDS_LABELS.items() if value != "0"],
        help_text=gettext_lazy("Parents that look for them take the DS from there."),
    )
    cdnskey = forms.BooleanField(label=gettext_lazy("CDNSKEY records"), required=False)
    ksk_days = forms.IntegerField(
        label=gettext_lazy("Days of a KSK, or of the one key"),
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=gettext_lazy("Empty: it has no end."),
    )
    zsk_days = forms.IntegerField(
        label=gettext_lazy("Days of a ZSK"),
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=gettext_lazy("Of two keys only."),
    )
    automatic = forms.BooleanField(
        label=gettext_lazy("Rollovers that are due begin by themselves"),
        required=False,
        help_text=gettext_lazy("Else the pages of zones say that a key is due."),
    )
    signs_new_zones = forms.BooleanField(
        label=gettext_lazy("New zones begin signed"),
        required=False,
        help_text=gettext_lazy("Those that an import brings stay as they are until a run."),
    )
    first_ds = forms.BooleanField(
        label=gettext_lazy("The first DS of signed zones comes by itself"),
        required=False,
        help_text=gettext_lazy(
            "Once every node answers signed and caches know: put into a parent that is a zone of "
            "this panel, awaited from any other that takes it from CDS or CDNSKEY records."
        ),
    )
    is_default = forms.BooleanField(
        label=gettext_lazy("The default: for all zones that no other policy is for"),
        required=False,
    )

    @classmethod
    def of(cls, policy: DnssecPolicy) -> "PolicyForm":
        """Return the form filled in with the policy's terms."""
        terms = policy_queries.terms_of(policy)
        return cls(
            initial={
                **DenialForm.initial_of(SigningState(nsec3=terms.nsec3)),
                **{name: getattr(terms, name) for name in ("algorithm", "bits", "split", "cds", "cdnskey")},
                **{name: getattr(terms, name) for name in ("zsk_days", "ksk_days", "automatic", "signs_new_zones")},
                "first_ds": terms.first_ds,
                "policy_name": policy.name,
                "is_default": policy.is_default,
            }
        )

    @property
    def terms(self) -> Terms:
        chosen = self.cleaned_data
        return Terms(
            algorithm=chosen["algorithm"],
            bits=self.key_bits if ALGORITHMS[chosen["algorithm"]].startswith("RSA") else None,
            split=chosen["split"],
            nsec3=self.nsec3,
            cds=chosen["cds"],
            cdnskey=chosen["cdnskey"],
            zsk_days=chosen["zsk_days"],
            ksk_days=chosen["ksk_days"],
            automatic=chosen["automatic"],
            signs_new_zones=chosen["signs_new_zones"],
            first_ds=chosen["first_ds"],
        )

    def refuse_at(self, refusal: PolicyRefused) -> None:
        """Add the refusal's errors to the fields that caused them."""
        for name, messages in refusal.fields.items():
            for message in messages:
                self.refuse("policy_name" if name == "name" else _FIELDS.get(name, name), message)


class AttachForm(SigningForm):
    """The form that attaches a policy to all zones of a tag or a team."""

    name = "attach"
    tag = forms.CharField(
        label=gettext_lazy("Zones with the tag"),
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off", "spellcheck": "false"}),
    )
    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        label=gettext_lazy("Zones of the team"),
        required=False,
        empty_label=gettext_lazy("no team"),
    )

    def clean(self) -> dict[str, Any]:
        if not self.errors and bool(self.cleaned_data["tag"]) == bool(self.cleaned_data["team"]):
            raise forms.ValidationError(gettext("Name a tag, or choose a team."))
        return self.cleaned_data


class ReplaceForm(SigningForm):
    """The form that chooses the replacement for a policy before its deletion."""

    name = "replace"
    replaced_by = forms.ModelChoiceField(
        DnssecPolicy.objects.none(), label=gettext_lazy("In its place"), required=False, empty_label="none"
    )

    def __init__(self, *args: Any, policy: DnssecPolicy, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["replaced_by"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_queries.policies().exclude(pk=policy.pk)


class OwnPolicyForm(SigningForm):
    """The form for a zone's own policy. An empty choice means the policy of the zone's tags or team, or the default."""

    name = "own"
    policy = forms.ModelChoiceField(
        DnssecPolicy.objects.all(),
        label=gettext_lazy("Policy of this zone"),
        required=False,
        empty_label=gettext_lazy("as its tags and team say"),
    )

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["policy"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_queries.policies_visible_to(person)


class RunForm(PublishingForm):
    """The form that chooses a policy run's zones: all zones or those of one policy, optionally filtered by a search."""

    policy = forms.ModelChoiceField(
        DnssecPolicy.objects.all(),
        label=gettext_lazy("Zones of the policy"),
        required=False,
        empty_label=gettext_lazy("all zones"),
    )
    q = forms.CharField(
        label=gettext_lazy("Of these"),
        required=False,
        max_length=LONGEST_SEARCH,
        widget=forms.TextInput(attrs={"type": "search", "placeholder": gettext_lazy("All"), "spellcheck": "false"}),
        help_text=gettext_lazy(
            "As in the list of zones: words of their names, tag:shop, dnssec:unsigned. Empty means all of them."
        ),
    )

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["policy"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_queries.policies_visible_to(person)
