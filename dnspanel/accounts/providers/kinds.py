"""The kinds of sign-in providers. Pages and the API use them to find a kind's settings and functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.ldap import ldap_servers as ldap
from dnspanel.accounts.providers.ldap.ldap_terms import DEFAULTS
from dnspanel.accounts.providers.oidc import oidc_providers as oidc
from dnspanel.accounts.providers.saml import saml_providers as saml


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The settings of one kind of provider, and the functions to create and change a provider.

    `secret` is the name of these functions' argument for the secret. `columns` maps settings to their database columns
    if the names differ. `attributes` has the default values for the entries of the setting `attributes`.
    """

    terms: type[rows.CommonTerms]
    create: Callable[..., SignInProvider]
    change: Callable[..., None]
    secret: str = "secret"
    columns: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> tuple[str, ...]:
        return tuple(self.terms.__dataclass_fields__)


KINDS: dict[str, Kind] = {
    ProviderKind.OIDC: Kind(terms=oidc.ProviderTerms, create=oidc.create_provider, change=oidc.change_provider),
    ProviderKind.SAML: Kind(
        terms=saml.SamlTerms,
        create=saml.create_provider,
        change=saml.change_provider,
        secret="metadata",
        attributes=saml.ATTRIBUTES,
    ),
    ProviderKind.LDAP: Kind(
        terms=ldap.LdapTerms,
        create=ldap.create_provider,
        change=ldap.change_provider,
        columns=ldap.COLUMNS,
        attributes=DEFAULTS,
    ),
}


def settings_of(provider: SignInProvider) -> dict[str, Any]:
    """Return the provider's settings, keyed by name, without its secret."""
    kind = KINDS[provider.kind]
    settings = {name: getattr(provider, kind.columns.get(name, name)) for name in kind.settings}
    return settings | ({"attributes": {**kind.attributes, **provider.attributes}} if kind.attributes else {})
