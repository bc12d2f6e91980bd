"""Tests of SAML metadata: documents of one provider, and texts that are refused."""

import re
from typing import Any

import pytest

from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.accounts.providers.saml.metadata import LONGEST_METADATA, BadMetadata, fetch_metadata, parse_metadata
from tests.dnspanel.accounts.providers.saml.provider import AtSaml
from tests.people import NOW


def test_a_provider_is_read_from_its_metadata(saml_idp: AtSaml) -> None:
    found = parse_metadata(fetch_metadata(f"{saml_idp.root}/metadata"), NOW)
    assert (found.entity_id, found.sign_in_url) == (f"{saml_idp.root}/metadata", f"{saml_idp.root}/sso")
    assert len(found.certificates) == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("IDPSSODescriptor", "SPSSODescriptor", "contain an identity provider"),
        ("X509Certificate", "X509CRL", "signing certificate"),
        (">MII", ">QUJD", "certificate in the metadata isn’t valid"),
        ('Location="http:', 'Location="javascript:', "contain an https URL"),
        ("<EntityDescriptor", "<EntitiesDescriptor", "t valid SAML metadata"),
    ],
    ids=["service", "no-key", "bad-key", "script", "no-xml"],
)
def test_what_is_no_metadata_is_told(saml_idp: AtSaml, old: str, new: str, told: str) -> None:
    xml = saml_idp.metadata
    changed = xml.replace(old, new)
    assert changed != xml
    with pytest.raises(BadMetadata, match=told):
        parse_metadata(changed, NOW)


@pytest.mark.parametrize(
    ("xml", "told"),
    [
        ("", "t valid SAML metadata"),
        ("<a/>", "EntityDescriptor"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "t valid SAML metadata"),
        ("x" * (LONGEST_METADATA + 1), "at most"),
    ],
    ids=["nothing", "other", "entities", "long"],
)
def test_other_text_is_told(xml: str, told: str) -> None:
    with pytest.raises(BadMetadata, match=told):
        parse_metadata(xml, NOW)


def test_metadata_that_are_too_old_are_told(saml_idp: AtSaml) -> None:
    old = re.sub(r'validUntil="[^"]*"', 'validUntil="2001-01-01T00:00:00Z"', saml_idp.metadata)
    assert "2001-01-01" in old
    with pytest.raises(BadMetadata, match="has expired"):
        parse_metadata(old, NOW)


def test_an_address_that_is_not_allowed_is_not_asked(settings: Any) -> None:
    settings.OIDC_NETWORKS, settings.OUTBOUND_HTTP = [], True
    with pytest.raises(ProviderAway, match="a public address"):
        fetch_metadata("http://169.254.169.254/metadata")
