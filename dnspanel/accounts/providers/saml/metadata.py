"""Parse and fetch a SAML provider's metadata (saml-metadata-2.0-os): its id, sign-in URL and signing keys."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import requests
from cryptography.x509 import load_der_x509_certificate
from django.conf import settings
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser
from onelogin.saml2.utils import OneLogin_Saml2_Utils
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from dnspanel.accounts.providers.provider_http import ProviderAway, provider_session
from dnspanel.texts import gettext

LONGEST_METADATA = 200_000
_LONGEST_ENTITY_ID = 1024  # saml-core-2.0-os, section 8.3.6
_MOST_KEYS = 10


class BadMetadata(Exception):
    """The metadata isn't usable or doesn't describe exactly one SAML provider. Users can read the message."""


@dataclass(frozen=True, slots=True)
class Described:
    """A SAML provider as described by its metadata."""

    entity_id: str
    sign_in_url: str  # for the HTTP-Redirect binding
    certificates: tuple[str, ...]  # DER in Base64; any of the keys can sign


def parse_metadata(xml: str, now: datetime) -> Described:
    """Parse a provider's metadata. Raise BadMetadata unless it describes exactly one usable provider."""
    if len(xml) > LONGEST_METADATA:
        raise BadMetadata(
            gettext("Enter at most {longest_metadata:,} characters.").format(longest_metadata=LONGEST_METADATA)
        )
    try:
        root = OneLogin_Saml2_XML.to_etree(xml)
        if root.tag != f"{{{Names.NS_MD}}}EntityDescriptor":
            raise BadMetadata(gettext("The metadata must be an EntityDescriptor for a single SAML provider."))
        until = root.get("validUntil")
        if until and datetime.fromtimestamp(OneLogin_Saml2_Utils.parse_SAML_to_time(until), UTC) <= now:
            raise BadMetadata(gettext("The metadata has expired (validUntil)."))
        found = OneLogin_Saml2_IdPMetadataParser.parse(OneLogin_Saml2_XML.to_string(root)).get("idp", {})
    except (ValueError, SyntaxError) as exc:  # lxml raises SyntaxErrors
        raise BadMetadata(gettext("This isn’t valid SAML metadata.")) from exc
    entity_id, url = str(found.get("entityId", "")), str(found.get("singleSignOnService", {}).get("url", ""))
    if not entity_id or len(entity_id) > _LONGEST_ENTITY_ID or not entity_id.isprintable():
        raise BadMetadata(gettext("The metadata doesn’t contain an identity provider."))
    schemes = ("https://", "http://") if settings.OUTBOUND_HTTP else ("https://",)
    if not url.startswith(schemes) or not url.isprintable():
        raise BadMetadata(gettext("The metadata doesn’t contain an https URL for signing in with HTTP-Redirect."))
    return Described(entity_id, url, _certificates(found))


def fetch_metadata(url: str) -> str:
    """Fetch the current metadata from the URL. Raise ProviderAway if the URL can't be used."""
    try:
        with provider_session() as session:
            response = session.get(url)
    except ProviderAway:
        raise
    except requests.RequestException as exc:
        raise ProviderAway(gettext("{url} didn’t respond.").format(url=url)) from exc
    if response.status_code != 200:
        raise ProviderAway(
            gettext("{url} returned status {status_code} instead of metadata.").format(
                url=url, status_code=response.status_code
            )
        )
    try:
        return response.content.decode()
    except UnicodeDecodeError as exc:
        raise ProviderAway(gettext("{url} didn’t return UTF-8 text.").format(url=url)) from exc


def _certificates(found: dict[str, Any]) -> tuple[str, ...]:
    multi = found.get("x509certMulti", {}).get("signing")
    listed = tuple(multi or filter(None, [found.get("x509cert")]))
    if not listed:
        raise BadMetadata(gettext("The metadata doesn’t contain a signing certificate."))
    if len(listed) > _MOST_KEYS:
        raise BadMetadata(gettext("The metadata has more than {most_keys} certificates.").format(most_keys=_MOST_KEYS))
    for each in listed:
        try:
            load_der_x509_certificate(OneLogin_Saml2_Utils.b64decode(each))
        except ValueError as exc:
            raise BadMetadata(gettext("A certificate in the metadata isn’t valid.")) from exc
    return listed
