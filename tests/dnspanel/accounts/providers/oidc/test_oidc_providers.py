"""Tests of the administration of providers (`oidc.oidc_providers`, `providers.rows`). Secrets are encrypted."""

from dataclasses import replace
from typing import Any

import pytest

from dnspanel.accounts.errors import ProviderRefused, ProviderUnknown
from dnspanel.accounts.models import AuditEntry, Role, SignInProvider, User
from dnspanel.accounts.providers.oidc import oidc_discovery
from dnspanel.accounts.providers.oidc.oidc_providers import (
    ProviderTerms,
    change_provider,
    create_provider,
    secret_of,
)
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.providers.rows import (
    delete_provider,
    provider_by_id,
    provider_in_use,
    provider_rows,
    providers_with_buttons,
    switch_provider,
)
from tests.dnspanel.accounts.providers.oidc.provider import AtProvider, added
from tests.people import NOW

TERMS = ProviderTerms(name="Work", slug="work", issuer="https://idp.example.test", client_id="dnspanel")


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the request for the provider's configuration, which `test_session` tests."""
    monkeypatch.setattr("dnspanel.accounts.providers.oidc.oidc_providers.configuration_of", lambda issuer: {})


def test_the_secret_is_kept_encrypted_and_stands_in_no_audit_log(alice: User) -> None:
    provider = create_provider(terms=TERMS, secret="of the provider", by=alice, now=NOW)
    assert b"of the provider" not in bytes(provider.client_secret)
    assert secret_of(provider_by_id(provider.pk)) == "of the provider"
    change_provider(provider=provider, terms=replace(TERMS, name="Office"), by=alice, now=NOW)
    assert secret_of(provider_by_id(provider.pk)) == "of the provider"
    change_provider(provider=provider, terms=replace(TERMS, name="Office"), secret="a new one", by=alice, now=NOW)
    assert secret_of(provider_by_id(provider.pk)) == "a new one"
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "details"))
    assert [action for action, _ in entries] == ["oidc.create", "oidc.change", "oidc.change"]
    assert [details.get("changed") for _, details in entries] == [None, ["name"], ["client_secret"]]
    assert "of the provider" not in str(entries)
    assert "a new one" not in str(entries)


def test_a_provider_is_asked_before_it_is_added(reachable: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "dnspanel.accounts.providers.oidc.oidc_providers.configuration_of", oidc_discovery.configuration_of
    )
    with pytest.raises(ProviderRefused) as told:
        create_provider(terms=replace(TERMS, issuer="http://127.0.0.1:1"), secret="x", by=None, now=NOW)
    assert list(told.value.fields) == ["issuer"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "x" * 41),
        ("slug", "Work"),
        ("slug", "../x"),
        ("issuer", "ldap://idp.example.test"),
        ("issuer", "https://user@idp.example.test"),
        ("issuer", "https://idp.example.test?x=1"),
        ("client_id", ""),
        ("scopes", "profile email"),
        ("group_claim", ""),
        ("session_hours", 0),
        ("rules", (Rule("g", "emperor"),)),
        ("rules", (Rule("g", Role.READER, 999_999),)),
        ("rules", (Rule("g", Role.ADMINISTRATOR, 1),)),
        ("rules", (Rule("", Role.READER),)),
        ("rules", (Rule("g", Role.MEMBER, own_role=999_999),)),
        ("rules", (Rule("g", Role.READER),) * 501),
        ("mail_domains", ("people",)),
        ("mail_domains", ("Pe ople.test",)),
        ("makes_people", True),  # for everyone, without a domain and a group
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_acceptable_is_told_at_its_field(db: None, field: str, value: Any) -> None:
    with pytest.raises(ProviderRefused) as told:
        create_provider(terms=replace(TERMS, **{field: value}), secret="x", by=None, now=NOW)
    assert list(told.value.fields) == [field]


def test_word_and_issuer_are_one_providers_for_ever(db: None) -> None:
    provider = create_provider(terms=TERMS, secret="x", by=None, now=NOW)
    for changed in ({"issuer": "https://evil.test"}, {"slug": "evil"}):
        with pytest.raises(ProviderRefused, match="can’t be changed"):
            change_provider(provider=provider, terms=replace(TERMS, **changed), by=None, now=NOW)
    with pytest.raises(ProviderRefused, match="already"):
        create_provider(terms=TERMS, secret="x", by=None, now=NOW)


def test_buttons_are_those_of_the_providers_that_are_on(db: None) -> None:
    provider = create_provider(terms=TERMS, secret="x", by=None, now=NOW)
    create_provider(terms=replace(TERMS, slug="two", name="Another"), secret="x", by=None, now=NOW)
    assert [each.name for each in providers_with_buttons()] == ["Another", "Work"]
    switch_provider(provider=provider, active=False, by=None, now=NOW)
    assert [each.name for each in providers_with_buttons()] == ["Another"]
    assert [(each.name, each.people) for each in provider_rows()] == [("Another", 0), ("Work", 0)]  # type: ignore[attr-defined]
    for slug in ("work", "nothing", "../etc"):
        with pytest.raises(ProviderUnknown):
            provider_in_use(slug)
    switch_provider(provider=provider, active=True, by=None, now=NOW)
    assert provider_in_use("work") == provider


def test_a_deleted_provider_is_gone_twice(db: None) -> None:
    provider = create_provider(terms=TERMS, secret="x", by=None, now=NOW)
    for _ in range(2):
        delete_provider(provider=provider, by=None, now=NOW)
    assert not SignInProvider.objects.exists()
    with pytest.raises(ProviderUnknown):
        provider_by_id(provider.pk)
    with pytest.raises(ProviderUnknown):
        change_provider(provider=provider, terms=TERMS, by=None, now=NOW)
    assert AuditEntry.objects.filter(action="oidc.delete").count() == 1


def test_twenty_providers_are_enough(idp: AtProvider) -> None:
    for number in range(20):
        added(idp, f"one-{number}")
    with pytest.raises(ProviderRefused, match="maximum is 20"):
        added(idp, "more")
