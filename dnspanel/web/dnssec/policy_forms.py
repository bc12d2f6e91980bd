"""Forms for DNSSEC policies and their runs. The forms check only the format of fields; `zones` checks the rest."""

from typing import Any

from django import forms

from dnspanel.accounts.actors.actors import Person
from dnspanel.accounts.models import Team
from dnspanel.database.field_copies import copy_fields
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.dnssec.forms import CDS_LABELS, DenialForm, KeyChoice, SigningForm
from dnspanel.web.frame.all_or_some import AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import LONGEST_SEARCH, PublishingForm, number_field, switch_field, text_field
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.key_material import ALGORITHMS
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.models import DnssecPolicy
from dnspanel.zones.signing.policies import LONGEST_NAME, MOST_DAYS

_FIELDS = {"nsec3": "denial"}  # form fields for errors that use another field name


class PolicyForm(KeyChoice, DenialForm):
    """The form for a DNSSEC policy's name and terms."""

    name = "policy"
    policy_name = text_field(gettext_lazy("Name"), LONGEST_NAME, required=True, autocomplete="off")
    split = switch_field(gettext_lazy("Separate KSK and ZSK"))
    cds = forms.ChoiceField(
        label=gettext_lazy("CDS records"),
        required=False,
        choices=[(value, label) for value, label in CDS_LABELS.items() if value != "0"],
        help_text=gettext_lazy("Parent zones that check CDS records can update the DS automatically."),
    )
    cdnskey = switch_field(gettext_lazy("CDNSKEY records"))
    ksk_days = number_field(
        gettext_lazy("KSK or CSK lifetime (days)"), 1, MOST_DAYS, gettext_lazy("Leave empty for an unlimited lifetime.")
    )
    zsk_days = number_field(
        gettext_lazy("ZSK lifetime (days)"), 1, MOST_DAYS, gettext_lazy("Only used with separate KSK and ZSK.")
    )
    automatic = switch_field(
        gettext_lazy("Start due rollovers automatically"),
        gettext_lazy("Otherwise, each zone’s DNSSEC page shows when a rollover is due."),
    )
    signs_new_zones = switch_field(
        gettext_lazy("Sign new zones"), gettext_lazy("Imported zones aren’t signed until the policy is run.")
    )
    first_ds = switch_field(
        gettext_lazy("Add first DS automatically"),
        gettext_lazy(
            "If the parent zone is in this panel, the DS is added once all nodes serve signatures. Other "
            "parent zones must read it from CDS or CDNSKEY records."
        ),
    )
    is_default = switch_field(gettext_lazy("Default for zones without another policy"))

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
        bits = self.key_bits if ALGORITHMS[chosen["algorithm"]].startswith("RSA") else None
        return copy_fields(Terms, chosen, bits=bits, nsec3=self.nsec3)

    def refuse(self, field: str | None, message: str) -> None:
        """Add an error to the form field for `field`, which is a field of the policy's terms."""
        super().refuse("policy_name" if field == "name" else _FIELDS.get(field or "", field), message)


class AttachForm(SigningForm):
    """The form that attaches a policy to all zones of a tag or a team."""

    name = "attach"
    tag = text_field(gettext_lazy("Zones with tag"), 40, autocomplete="off", spellcheck="false")
    team = forms.ModelChoiceField(
        Team.objects.order_by("name"),
        label=gettext_lazy("Zones in team"),
        required=False,
        empty_label=gettext_lazy("no team"),
    )

    def clean(self) -> dict[str, Any]:
        if not self.errors and bool(self.cleaned_data["tag"]) == bool(self.cleaned_data["team"]):
            raise forms.ValidationError(gettext("Enter a tag or choose a team, but not both."))
        return self.cleaned_data


class ReplaceForm(SigningForm):
    """The form that chooses a replacement for a policy that is deleted."""

    name = "replace"
    replaced_by = forms.ModelChoiceField(
        DnssecPolicy.objects.none(),
        label=gettext_lazy("Replacement policy"),
        required=False,
        empty_label=gettext_lazy("No replacement"),
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
        label=gettext_lazy("Zone policy"),
        required=False,
        empty_label=gettext_lazy("inherit from tags or team"),
    )

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["policy"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_queries.policies_visible_to(person)


class RunForm(AllOrSomeForm, PublishingForm):
    """The form that chooses a policy run's zones: all zones or those of one policy, optionally filtered by a search."""

    all_or_some = (AllOrSome(("policy", "q"), needs_number=True),)

    policy = forms.ModelChoiceField(
        DnssecPolicy.objects.all(),
        label=gettext_lazy("Zones with policy"),
        required=False,
        empty_label=gettext_lazy("any policy"),
    )
    q = text_field(
        gettext_lazy("Zone filter"),
        LONGEST_SEARCH,
        gettext_lazy("Search terms as in the zone list. Examples: tag:shop, dnssec:unsigned"),
        type="search",
        spellcheck="false",
    )

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, counted_for=person, **kwargs)
        field = self.fields["policy"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = policy_queries.policies_visible_to(person)
