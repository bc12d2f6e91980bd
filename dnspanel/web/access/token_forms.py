"""Forms for new tokens: one for each preset, and a custom form with all rights and limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django import forms

from dnspanel.accounts.actors.actors import Permission, actor_of
from dnspanel.accounts.models import TokenKind
from dnspanel.accounts.tokens import presets, tsig_secrets
from dnspanel.accounts.tokens.presets import Preset
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import LIFETIME
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.access.grant_form import GrantForm
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import input_faults, mono_field, number_field, split_list, switch_field, text_field
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from replication.dns import names

_LIFETIMES = (
    ("7", gettext_lazy("7 days")),
    ("30", gettext_lazy("30 days")),
    ("90", gettext_lazy("90 days")),
    ("365", gettext_lazy("1 year")),
    ("", gettext_lazy("never")),
)
# The form's fields for errors about values that have other names elsewhere.
_FIELD_OF_FAULT = {"expires_at": "expires", "name": "key_name", "key": "key_secret"}
_IN_MORE = frozenset(
    {"networks", "requests_per_minute", "needs_if_match", "kind", "key_name", "algorithm", "key_secret"}
)


class TokenForm(AllOrSomeForm):
    """The base class of the forms for new tokens."""

    preset: ClassVar[Preset]
    own: ClassVar[tuple[str, ...]] = ()  # additional fields of this preset
    all_or_some: ClassVar[tuple[AllOrSome, ...]] = (
        AllOrSome(
            ("networks",),
            "addresses",
            gettext_lazy("Client addresses"),
            gettext_lazy("All addresses"),
            gettext_lazy("Only these networks"),
            default=ALL,
        ),
    )

    kind = forms.ChoiceField(
        label=gettext_lazy("Credential type"),
        choices=[(kind.value, kind.label) for kind in (TokenKind.API, TokenKind.TSIG)],
        initial=TokenKind.API,
        widget=forms.RadioSelect,
    )
    key_name = mono_field(gettext_lazy("Key name"), 255, gettext_lazy("Enter a name such as router.keys.example."))
    algorithm = forms.ChoiceField(
        label=gettext_lazy("Algorithm"),
        required=False,
        choices=[(name, name) for name in tsig_secrets.ALGORITHMS],
        initial="hmac-sha256",
    )
    key_secret = mono_field(
        gettext_lazy("Key"),
        1000,
        gettext_lazy(
            "Enter an existing key in Base64, with at least 128 bits. Leave empty to create a key, except for hmac-md5."
        ),
    )
    purpose = text_field(
        gettext_lazy("Purpose"), 100, gettext_lazy("Shown in the token list and in the history."), autocomplete="off"
    )
    expires = forms.ChoiceField(
        label=gettext_lazy("Expires after"), required=False, choices=_LIFETIMES, initial=str(LIFETIME.days)
    )
    unused_days = number_field(
        gettext_lazy("Expire if unused for (days)"), 1, 3650, gettext_lazy("Leave empty for no limit.")
    )
    networks = mono_field(
        gettext_lazy("Allowed networks"), 4000, gettext_lazy("Enter networks, such as 192.0.2.0/24 2001:db8::1"), rows=2
    )
    requests_per_minute = number_field(
        gettext_lazy("Requests per minute"), 1, 1_000_000, gettext_lazy("Leave empty to use the panel’s limit.")
    )
    needs_if_match = switch_field(
        gettext_lazy("Require If-Match"), gettext_lazy("API v2 rejects writes that don’t state the expected revision.")
    )

    deletes_many = switch_field(
        gettext_lazy("Allow deleting many zones"),
        gettext_lazy(
            "Without this option, deleting many zones within minutes requires confirmation. Select it for "
            "Terraform and similar tools."
        ),
    )

    def __init__(self, *args: Any, person: access.Person, **kwargs: Any) -> None:
        # A subclass that is also a GrantForm passes `person` on to it.
        if isinstance(self, GrantForm):
            kwargs["person"] = person
        super().__init__(*args, **kwargs)
        self.person = person

    @property
    def own_fields(self) -> Iterator[forms.BoundField]:
        """The fields that only this preset has."""
        return (self[name] for name in self.own)

    @property
    def has_fault_in_more(self) -> bool:
        """True if a field in the collapsed part of the page has an error."""
        return bool(self.errors.keys() & _IN_MORE)

    @property
    def makes_key(self) -> bool:
        """True if the form requests a TSIG key instead of an API token."""
        return bool(self.cleaned_data["kind"] == TokenKind.TSIG)

    def clean_networks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(split_list(self.cleaned_data["networks"])))

    def terms(self, now: datetime) -> TokenTerms:
        """Return the new token's terms: the preset's terms plus the form's values. The form must be valid."""
        cleaned = self.cleaned_data
        begun = self._initial_terms(now)
        days = cleaned["expires"]
        return replace(
            begun,
            purpose=cleaned["purpose"].strip() or begun.purpose,
            permissions=begun.permissions & _permissions_of(self.person),
            networks=cleaned["networks"],
            expires_at=now + timedelta(days=int(days)) if days else None,
            unused_days=cleaned["unused_days"],
            requests_per_minute=cleaned["requests_per_minute"],
            needs_if_match=cleaned["needs_if_match"],
            deletes_many=cleaned["deletes_many"],
        )

    def refuse_all(self, faults: Mapping[str, Sequence[str]]) -> None:
        super().refuse_all({_FIELD_OF_FAULT.get(field, field): messages for field, messages in faults.items()})

    def _initial_terms(self, now: datetime) -> TokenTerms:
        raise NotImplementedError


class _HostForm(TokenForm):
    """The form for a token limited to one owner name, in the closest zone that contains the name."""

    own = ("name",)

    name = mono_field(None, 1100, required=True, autofocus=True)

    def clean_name(self) -> str:
        with input_faults():
            name = names.parse(self.cleaned_data["name"])
        self.zone = closest_zone(self.person, name)
        if self.zone is None:
            raise forms.ValidationError(gettext("You don’t have a zone that contains {name}").format(name=name))
        return name


class AcmeForm(_HostForm):
    preset = Preset.ACME

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].help_text = gettext(
            "Enter the name on the certificate. The token can only change the _acme-challenge TXT record for this name."
        )
        self.fields["unused_days"].initial = presets.UNUSED_DAYS

    def clean_name(self) -> str:
        name = super().clean_name()
        with input_faults():
            presets.acme_name(name)
        return name

    def _initial_terms(self, now: datetime) -> TokenTerms:
        assert self.zone is not None
        return presets.acme_terms(zone_id=self.zone.pk, name=self.cleaned_data["name"], now=now)


class DyndnsForm(_HostForm):
    preset = Preset.DYNDNS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].help_text = gettext(
            "Enter the host that the router updates. The token can only change this host’s addresses."
        )
        self.fields["unused_days"].initial = presets.UNUSED_DAYS

    def _initial_terms(self, now: datetime) -> TokenTerms:
        assert self.zone is not None
        return presets.dyndns_terms(zone_id=self.zone.pk, name=self.cleaned_data["name"], now=now)


class CiForm(TokenForm):
    preset = Preset.CI
    own = ("zone",)

    zone = mono_field(
        None,
        1100,
        gettext_lazy(
            "The token can edit all records in the zone, but it can’t change the zone’s settings or delete the zone."
        ),
        required=True,
        autofocus=True,
    )

    def clean_zone(self) -> Zone:
        with input_faults():
            return access.zone_for_reading(self.person, self.cleaned_data["zone"])

    def _initial_terms(self, now: datetime) -> TokenTerms:
        zone = self.cleaned_data["zone"]
        return presets.ci_terms(zone_id=zone.pk, zone_name=zone.name, now=now)


class MonitoringForm(TokenForm):
    preset = Preset.MONITORING

    def _initial_terms(self, now: datetime) -> TokenTerms:
        return presets.monitoring_terms(now=now)


class CustomForm(TokenForm, GrantForm):
    """The form for a custom token, with all rights and limits."""

    preset = Preset.CUSTOM
    all_or_some = (*TokenForm.all_or_some, *GrantForm.all_or_some)
    own = ("rights", "where", "zones", "tags", "teams", "names", "types", "permissions")

    permissions = forms.MultipleChoiceField(
        label=gettext_lazy("Other rights"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # `rights` can be empty for a token that only manages nodes or people.
        self.fields["rights"].required = False
        self.fields["purpose"].required = True
        allowed = _permissions_of(self.person) - {Permission.READ, Permission.EDIT}
        permissions = self.fields["permissions"]
        assert isinstance(permissions, forms.MultipleChoiceField)
        permissions.choices = [(each.value, gettext(each.value)) for each in Permission if each in allowed]
        if not allowed:
            del self.fields["permissions"]

    @property
    def own_fields(self) -> Iterator[forms.BoundField]:
        return (self[name] for name in self.own if name in self.fields)

    def clean(self) -> dict[str, Any]:
        if not self.cleaned_data.get("rights") and self.cleaned_data.get("permissions"):
            self.refuse_empty(TokenForm.all_or_some)
            return self.cleaned_data
        return super().clean()

    def _initial_terms(self, now: datetime) -> TokenTerms:
        grant = self.cleaned_data.get("grant")
        permissions = frozenset(map(Permission, self.cleaned_data.get("permissions", ())))
        return TokenTerms(
            purpose=self.cleaned_data["purpose"], scope=(grant,) if grant else (), permissions=permissions
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """A token preset, as shown on the page."""

    preset: Preset
    form: type[TokenForm]
    title: str
    hint: str
    icon: str


OFFERS = (
    Offer(
        Preset.ACME,
        AcmeForm,
        gettext_lazy("ACME for one name"),
        gettext_lazy("For certificates with a DNS challenge"),
        "shield",
    ),
    Offer(
        Preset.DYNDNS,
        DyndnsForm,
        gettext_lazy("Dynamic DNS for one host"),
        gettext_lazy("For a router with a changing address"),
        "sync",
    ),
    Offer(
        Preset.CI,
        CiForm,
        gettext_lazy("CI for one zone"),
        gettext_lazy("For a pipeline that manages all records"),
        "fork",
    ),
    Offer(
        Preset.MONITORING,
        MonitoringForm,
        gettext_lazy("Read-only monitoring"),
        gettext_lazy("Sees everything you see, but can’t change anything"),
        "eye",
    ),
    Offer(
        Preset.CUSTOM,
        CustomForm,
        gettext_lazy("Custom"),
        gettext_lazy("Choose zones, names, types and rights"),
        "filter",
    ),
)


def closest_zone(person: access.Person, name: str) -> Zone | None:
    """Return the closest zone that contains the name and that the person can see, or None if there isn't any."""
    above: list[str] = []
    parent: str | None = name.removeprefix("*.")
    while parent is not None:
        above.append(parent)
        parent = names.parent(parent)
    found = access.zones_visible_to(person).filter(name__in=above)
    return max(found, key=lambda zone: above.index(zone.name) * -1, default=None)


def _permissions_of(person: access.Person) -> frozenset[Permission]:
    actor = actor_of(person)
    return frozenset() if actor is None else actor.permissions
