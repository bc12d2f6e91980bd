"""Add and change LDAP sign-in servers. Verbs."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.errors import ProviderRefused, SignInRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.ldap import ldap_terms as tree
from dnspanel.accounts.providers.ldap.connection import place_of
from dnspanel.accounts.providers.ldap.visit import visiting
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.pasted_certificates import certificates_in, pem_of
from dnspanel.texts import gettext

LONGEST_SECRET = 1000
LONGEST_CERTIFICATES = 50_000
_MOST_CERTIFICATES = 20
# Terms with other column names, because providers of other kinds use these columns too.
COLUMNS = {"uri": "issuer", "bind_dn": "client_id", "certificates": "metadata"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapTerms(rows.CommonTerms):
    """The settings of an LDAP server, except the secret. `bind_dn` is the name that the panel binds with.

    `certificates` are the PEM certificates of a private CA. `group_claim` is the attribute that lists groups or
    members. `attributes` has the keys of `ldap_terms.DEFAULTS`.
    """

    uri: str
    bind_dn: str = ""
    certificates: str = ""
    group_claim: str = tree.DEFAULT_MEMBERS
    attributes: dict[str, str] = field(default_factory=tree.DEFAULTS.copy)


def create_provider(*, terms: LdapTerms, secret: str = "", by: Author, now: datetime) -> SignInProvider:
    """Add an LDAP server after checking that the panel can bind to it and search its base.

    Raise ProviderRefused with each invalid field, or if the check fails. Raise AllRightsNeeded for a token without all
    rights, because the server's operator can sign in as anyone.
    """
    require_all_rights(by)
    terms = _refused_or_clean(terms, secret)
    columns, unlogged = _columns(terms, encrypt_secret(secret.encode()) if secret else b"")
    _try(SignInProvider(kind=ProviderKind.LDAP, **columns, **unlogged))
    return rows.insert(kind=ProviderKind.LDAP, columns=columns, unlogged=unlogged, by=by, now=now)


def change_provider(*, provider: SignInProvider, terms: LdapTerms, secret: str = "", by: Author, now: datetime) -> None:
    """Change an LDAP server, effective from the next sign-in.

    An empty secret keeps the current one if a bind DN is set. The permanent attribute and the slug can't change,
    because users' links depend on them. A different URI, bind DN or certificate requires the secret again, because the
    panel would otherwise send it to another server. Raise ProviderUnknown if the server was deleted, and the errors of
    `create_provider`.
    """
    require_all_rights(by)
    has_secret = bool(provider.client_secret)
    terms = _refused_or_clean(terms, secret or ("kept" if has_secret else ""))
    if terms.slug != provider.slug:
        raise ProviderRefused(
            {"slug": [gettext("The URL slug can’t be changed. Add the other server as a new provider.")]}
        )
    if terms.attributes["subject"] != provider.attributes["subject"]:
        raise ProviderRefused(
            {"subject": [gettext("This attribute can’t be changed. Add the server as a new provider.")]}
        )
    before = (provider.issuer, provider.client_id, provider.metadata)
    moved = (terms.uri, terms.bind_dn, terms.certificates) != before
    if moved and has_secret and not secret and terms.bind_dn:
        raise ProviderRefused(
            {"secret": [gettext("Enter the password again because the server, bind DN or certificates have changed.")]}
        )
    kept = bytes(provider.client_secret) if terms.bind_dn else b""
    columns, unlogged = _columns(terms, encrypt_secret(secret.encode()) if secret else kept)
    _try(SignInProvider(kind=ProviderKind.LDAP, **columns, **unlogged))
    rows.update(provider=provider, columns=columns, unlogged=unlogged, by=by, now=now)


def _columns(terms: LdapTerms, secret: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two dicts: the columns that the audit log records with values, and those that it records by name only."""
    columns = {COLUMNS.get(name, name): value for name, value in rows.columns_of(terms).items()}
    return columns, {"metadata": columns.pop("metadata"), "client_secret": secret}


def _try(provider: SignInProvider) -> None:
    """Raise ProviderRefused unless the panel can bind to the server and search for users."""
    try:
        with visiting(provider) as visit:
            visit.find_by_name("dnspanel-looks-whether-it-can-search")
    except ProviderAway as exc:
        raise ProviderRefused({"uri": [str(exc)]}) from exc
    except SignInRefused as exc:
        raise ProviderRefused({"login": [str(exc)]}) from exc


def _refused_or_clean(terms: LdapTerms, secret: str) -> LdapTerms:
    """Return the settings with all attributes, and only the certificates of the PEM text, or raise ProviderRefused."""
    faults = rows.faults_of(terms)
    faults |= tree.faults_of(tree.Terms(terms.group_claim, terms.attributes))
    try:
        if len(terms.uri) > rows.LONGEST_URL:
            raise ValueError(gettext("Enter at most {longest_url} characters.").format(longest_url=rows.LONGEST_URL))
        place_of(terms.uri)
    except ValueError as exc:
        faults["uri"] = [str(exc)]
    if not tree.is_dn(terms.bind_dn, may_be_empty=True) and not _is_principal(terms.bind_dn):
        faults["bind_dn"] = [
            gettext("Enter a distinguished name of at most {longest_dn} characters.").format(longest_dn=tree.LONGEST_DN)
        ]
    if bool(terms.bind_dn) != bool(secret) or len(secret) > LONGEST_SECRET or not secret.isprintable():
        message = gettext(
            "Enter 1 to {longest_secret:,} characters if you entered a bind DN. Otherwise, leave this field empty."
        )
        faults["secret"] = [message.format(longest_secret=LONGEST_SECRET)]
    certificates = ""
    try:
        if len(terms.certificates) > LONGEST_CERTIFICATES:
            raise ValueError(
                gettext("Enter at most {longest_certificates:,} characters.").format(
                    longest_certificates=LONGEST_CERTIFICATES
                )
            )
        found = certificates_in(
            terms.certificates, beside_key=gettext("Enter only certificates, without a private key.")
        )
        if len(found) > _MOST_CERTIFICATES:
            raise ValueError(
                gettext("Enter at most {most_certificates} certificates.").format(most_certificates=_MOST_CERTIFICATES)
            )
        certificates = pem_of(found)
    except ValueError as exc:
        faults["certificates"] = [str(exc)]
    if faults:
        raise ProviderRefused(faults)
    attributes = {name: terms.attributes.get(name, default) for name, default in tree.DEFAULTS.items()}
    return replace(terms, certificates=certificates, attributes=attributes)


def _is_principal(name: str) -> bool:
    """Return True if the name has the form user@domain, which Active Directory also accepts for binding."""
    user, at, domain = name.partition("@")
    return bool(user and at and domain) and len(name) <= tree.LONGEST_DN and name.isprintable() and "@" not in domain
