"""Tests of the administration of SAML providers, and of the stored copies of their metadata."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import AuditEntry, ProviderKind, SignInProvider, User
from dnspanel.accounts.providers.saml.saml_providers import (
    METADATA_EVERY,
    SamlTerms,
    change_provider,
    create_provider,
    refresh_metadata,
)
from tests.dnspanel.accounts.providers.saml.provider import AtSaml, begun_saml, saml_added
from tests.people import NOW

TERMS = SamlTerms(name="Work", slug="work")


def test_pasted_metadata_make_a_provider(saml_idp: AtSaml, alice: User) -> None:
    provider = create_provider(terms=TERMS, metadata=saml_idp.metadata, by=alice, now=NOW)
    assert (provider.kind, provider.issuer) == (ProviderKind.SAML, f"{saml_idp.root}/metadata")
    assert provider.client_id.endswith("/sign-in/by/work/metadata/")
    assert begun_saml(Client()).startswith(f"{saml_idp.root}/sso?")
    change_provider(provider=provider, terms=replace(TERMS, name="Office"), by=alice, now=NOW)
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "details__changed"))
    assert entries == [("saml.create", None), ("saml.change", ["name"])]
    assert "X509Certificate" not in str(list(AuditEntry.objects.values_list("details")))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("slug", "../x"),
        ("client_id", "not a uri"),
        ("metadata_url", "file:///etc/passwd"),
        ("metadata_url", "http://127.0.0.1:1/"),
        ("group_claim", ""),
        ("attributes", {"mail": "x" * 251}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_acceptable_is_told_at_its_field(reachable: None, field: str, value: Any) -> None:
    with pytest.raises(ProviderRefused) as told:
        create_provider(terms=replace(TERMS, **{field: value}), metadata="", by=None, now=NOW)
    assert list(told.value.fields) == ["mail" if field == "attributes" else field]


def test_metadata_of_another_provider_are_another_provider(saml_idp: AtSaml) -> None:
    provider = create_provider(terms=TERMS, metadata=saml_idp.metadata, by=None, now=NOW)
    others = saml_idp.metadata.replace(f"{saml_idp.root}/metadata", "https://evil.test/metadata")
    with pytest.raises(ProviderRefused, match="Add a new provider"):
        change_provider(provider=provider, terms=TERMS, metadata=others, by=None, now=NOW)
    with pytest.raises(ProviderRefused, match="can’t be changed"):
        change_provider(provider=provider, terms=replace(TERMS, slug="evil"), by=None, now=NOW)


def test_metadata_are_read_anew_and_stay_where_that_fails(saml_idp: AtSaml) -> None:
    provider = saml_added(saml_idp)
    SignInProvider.objects.update(metadata="old")
    provider.refresh_from_db()
    refresh_metadata(provider, NOW + METADATA_EVERY - timedelta(seconds=1))
    assert SignInProvider.objects.get().metadata == "old"
    refresh_metadata(provider, NOW + METADATA_EVERY)
    assert "EntityDescriptor" in SignInProvider.objects.get().metadata
    assert AuditEntry.objects.filter(action="saml.metadata").count() == 1
    SignInProvider.objects.update(metadata="kept", issuer="https://other.test")
    provider.refresh_from_db()
    refresh_metadata(provider, NOW + 3 * METADATA_EVERY)
    provider.metadata_url = "http://127.0.0.1:1/"
    refresh_metadata(provider, NOW + 3 * METADATA_EVERY)
    assert SignInProvider.objects.get().metadata == "kept"
