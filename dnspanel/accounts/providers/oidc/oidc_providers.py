"""Add and change OpenID Connect sign-in providers. Verbs."""

from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.oidc.oidc_discovery import configuration_of
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.texts import gettext

LONGEST_SECRET = 1000
DEFAULT_SCOPES = "openid profile email"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTerms(rows.CommonTerms):
    """The settings of an OpenID Connect provider, except its secret."""

    issuer: str
    client_id: str
    scopes: str = DEFAULT_SCOPES


def secret_of(provider: SignInProvider) -> str:
    """Return the client secret. The caller must send it only to the provider's token endpoint."""
    return decrypt_secret(provider.client_secret).decode()


def create_provider(*, terms: ProviderTerms, secret: str, by: Author, now: datetime) -> SignInProvider:
    """Add an OpenID Connect provider after fetching its configuration.

    Raise ProviderRefused with each invalid field. Raise AllRightsNeeded for a token without all rights, because the
    provider's operator can sign in as anyone.
    """
    require_all_rights(by)
    _refuse(terms, secret)
    try:
        configuration_of(terms.issuer)
    except ProviderAway as exc:
        raise ProviderRefused({"issuer": [str(exc)]}) from exc
    unlogged = {"client_secret": encrypt_secret(secret.encode())}
    return rows.insert(kind=ProviderKind.OIDC, columns=rows.columns_of(terms), unlogged=unlogged, by=by, now=now)


def change_provider(
    *, provider: SignInProvider, terms: ProviderTerms, secret: str = "", by: Author, now: datetime
) -> None:
    """Change the provider, effective from the next sign-in. An empty secret keeps the current one.

    The slug and the issuer can't change, because users' links depend on them. Raise ProviderUnknown if the provider was
    deleted, and the errors of `create_provider`.
    """
    require_all_rights(by)
    _refuse(terms, secret or "kept")
    if (terms.slug, terms.issuer) != (provider.slug, provider.issuer):
        raise ProviderRefused(
            {
                "issuer": [
                    gettext("The URL slug and the issuer can’t be changed. Add the other issuer as a new provider.")
                ]
            }
        )
    unlogged = {"client_secret": encrypt_secret(secret.encode())} if secret else {}
    rows.update(provider=provider, columns=rows.columns_of(terms), unlogged=unlogged, by=by, now=now)


def _refuse(terms: ProviderTerms, secret: str) -> None:
    """Raise ProviderRefused with each invalid field of the settings."""
    faults = rows.faults_of(terms)
    if fault := rows.fault_of_url(terms.issuer):
        faults["issuer"] = [fault]
    if not terms.client_id or len(terms.client_id) > 255 or not terms.client_id.isprintable():
        faults["client_id"] = [gettext("Enter 1 to {longest} characters.").format(longest=255)]
    if not secret or len(secret) > LONGEST_SECRET or not secret.isprintable():
        faults["secret"] = [gettext("Enter 1 to {longest:,} characters.").format(longest=LONGEST_SECRET)]
    if "openid" not in terms.scopes.split() or len(terms.scopes) > 300 or not terms.scopes.isascii():
        faults["scopes"] = [gettext("Enter scopes separated by spaces, including openid.")]
    if faults:
        raise ProviderRefused(faults)
