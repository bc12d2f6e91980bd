"""Add and change SAML sign-in providers, and update their metadata. Verbs."""

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import ProviderKind, SignInProvider
from dnspanel.accounts.providers import rows
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.saml.metadata import BadMetadata, Described, fetch_metadata, parse_metadata
from dnspanel.accounts.rights.grant_edit import require_all_rights
from dnspanel.texts import gettext

# A person's attributes, with their default names at the provider (RFC 4524, X.520).
ATTRIBUTES = {
    "subject": "",  # empty: the NameID
    "mail": "urn:oid:0.9.2342.19200300.100.1.3",
    "username": "urn:oid:0.9.2342.19200300.100.1.1",
    "first_name": "urn:oid:2.5.4.42",
    "last_name": "urn:oid:2.5.4.4",
}
DEFAULT_GROUPS = "urn:oid:1.3.6.1.4.1.5923.1.1.1.1"  # eduPersonAffiliation
LONGEST_ATTRIBUTE = 250
LONGEST_ENTITY_ID = 255
METADATA_EVERY = timedelta(hours=6)
_NO_URI = re.compile(r"[\s\"<>]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamlTerms(rows.CommonTerms):
    """The settings of a SAML provider, except its metadata.

    `client_id` is the panel's entity ID at the provider. If it is empty, the URL of the panel's metadata is used. An
    empty `metadata_url` means that the metadata was pasted.
    """

    client_id: str = ""
    metadata_url: str = ""
    group_claim: str = DEFAULT_GROUPS
    attributes: dict[str, str] = field(default_factory=ATTRIBUTES.copy)


def create_provider(*, terms: SamlTerms, metadata: str = "", by: Author, now: datetime) -> SignInProvider:
    """Add a SAML provider. Its metadata is either fetched from a URL or pasted.

    Raise ProviderRefused with each invalid field. Raise AllRightsNeeded for a token without all rights, because the
    provider's operator can sign in as anyone.
    """
    require_all_rights(by)
    _refuse(terms)
    xml, found = _read(terms, metadata, now)
    columns = _columns(terms) | {"issuer": found.entity_id}
    unlogged = {"metadata": xml, "metadata_at": now}
    return rows.insert(kind=ProviderKind.SAML, columns=columns, unlogged=unlogged, by=by, now=now)


def change_provider(
    *, provider: SignInProvider, terms: SamlTerms, metadata: str = "", by: Author, now: datetime
) -> None:
    """Change the provider from the next sign-in on. Keep the metadata unless new metadata or a new URL is given.

    The slug and the issuer can't change, because users' links depend on them. Raise ProviderUnknown if the provider was
    deleted, and the errors of `create_provider`.
    """
    require_all_rights(by)
    _refuse(terms)
    if terms.slug != provider.slug:
        raise ProviderRefused(
            {"slug": [gettext("The URL slug can’t be changed. Add the other server as a new provider.")]}
        )
    unlogged: dict[str, object] = {}
    if metadata or terms.metadata_url != provider.metadata_url:
        xml, found = _read(terms, metadata or ("" if terms.metadata_url else provider.metadata), now)
        if found.entity_id != provider.issuer:
            name = "metadata_url" if terms.metadata_url else "metadata"
            message = gettext("This metadata belongs to {entity_id}. Add a new provider for this entity ID.").format(
                entity_id=found.entity_id[:200]
            )
            raise ProviderRefused({name: [message]})
        if xml != provider.metadata:
            unlogged = {"metadata": xml, "metadata_at": now}
    rows.update(provider=provider, columns=_columns(terms), unlogged=unlogged, by=by, now=now)


def refresh_metadata(provider: SignInProvider, now: datetime) -> None:
    """Fetch metadata again from its URL if older than METADATA_EVERY. Keep it if the new metadata can't be used."""
    if not provider.metadata_url or (provider.metadata_at and now - provider.metadata_at < METADATA_EVERY):
        return
    try:
        xml = fetch_metadata(provider.metadata_url)
        found = parse_metadata(xml, now)
    except (ProviderAway, BadMetadata):
        return
    if found.entity_id != provider.issuer:
        return
    with transaction.atomic(durable=True):
        SignInProvider.objects.filter(pk=provider.pk).update(metadata=xml, metadata_at=now)
        if xml != provider.metadata:
            audit.record(action="saml.metadata", by=None, now=now, target=provider.name, url=provider.metadata_url)
    provider.metadata, provider.metadata_at = xml, now


def _read(terms: SamlTerms, metadata: str, now: datetime) -> tuple[str, Described]:
    """Return the metadata and the provider described in it. Raise ProviderRefused if the metadata can't be used."""
    name = "metadata_url" if terms.metadata_url else "metadata"
    try:
        xml = fetch_metadata(terms.metadata_url) if terms.metadata_url else metadata
        return xml, parse_metadata(xml, now)
    except (ProviderAway, BadMetadata) as exc:
        raise ProviderRefused({name: [str(exc)]}) from exc


def _columns(terms: SamlTerms) -> dict[str, object]:
    columns = rows.columns_of(terms)
    return columns | {"client_id": terms.client_id or rows.panel_url("saml-metadata", terms.slug)}


def _refuse(terms: SamlTerms) -> None:
    """Raise ProviderRefused with each invalid field of the settings."""
    faults = rows.faults_of(terms)
    if len(terms.client_id) > LONGEST_ENTITY_ID or not terms.client_id.isascii() or _NO_URI.search(terms.client_id):
        faults["client_id"] = [
            gettext("Enter a URI of at most {longest} characters.").format(longest=LONGEST_ENTITY_ID)
        ]
    if terms.metadata_url and (len(terms.metadata_url) > rows.LONGEST_URL or not _is_url(terms.metadata_url)):
        faults["metadata_url"] = [
            gettext("Enter an https URL of at most {longest_url} characters.").format(longest_url=rows.LONGEST_URL)
        ]
    for name, default in ATTRIBUTES.items():
        value = terms.attributes.get(name, default)
        if len(value) > LONGEST_ATTRIBUTE or not value.isprintable():
            faults[name] = [gettext("Enter at most {longest} characters.").format(longest=LONGEST_ATTRIBUTE)]
    if faults:
        raise ProviderRefused(faults)


def _is_url(url: str) -> bool:
    return url.startswith(("https://", "http://")) and url.isascii() and url.isprintable() and " " not in url
