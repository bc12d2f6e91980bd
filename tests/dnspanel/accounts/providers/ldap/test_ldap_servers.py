"""Tests of the administration of LDAP servers, which are checked before they are saved (`ldap.ldap_servers`)."""

from dataclasses import replace
from typing import Any

import pytest

from dnspanel.accounts.errors import ProviderRefused
from dnspanel.accounts.models import AuditEntry, ProviderKind, SignInProvider, User
from dnspanel.accounts.providers.ldap.ldap_servers import LdapTerms, change_provider, create_provider
from dnspanel.accounts.providers.ldap.ldap_terms import DEFAULTS
from tests.dnspanel.accounts.providers.ldap.server import PEOPLE, READER, SECRET, AtLdap, is_signed_in, signs_in
from tests.own_certificates import own_certificate
from tests.people import NOW


@pytest.fixture
def terms(at_ldap: AtLdap) -> LdapTerms:
    return LdapTerms(
        name="Work",
        slug="work",
        uri=at_ldap.uri,
        bind_dn=READER,
        certificates=at_ldap.certificate,
        attributes=DEFAULTS | {"base": PEOPLE},
    )


def test_a_server_that_the_panel_can_search_is_added_and_its_secret_is_not_told(terms: LdapTerms, alice: User) -> None:
    provider = create_provider(terms=terms, secret=SECRET, by=alice, now=NOW)
    assert (provider.kind, provider.slug) == (ProviderKind.LDAP, "work")
    assert SECRET.encode() not in bytes(SignInProvider.objects.get().client_secret)
    change_provider(provider=provider, terms=replace(terms, name="Office"), by=alice, now=NOW)
    entries = list(AuditEntry.objects.order_by("pk").values_list("action", "details__changed"))
    assert entries == [("ldap.create", None), ("ldap.change", ["name"])]
    told = str(list(AuditEntry.objects.values_list("details")))
    assert SECRET not in told
    assert "BEGIN CERTIFICATE" not in told


@pytest.mark.parametrize(
    ("field", "value", "at"),
    [
        ("slug", "../x", "slug"),
        ("uri", "ldapi:///", "uri"),
        ("uri", "ldaps://127.0.0.1:1", "uri"),
        ("bind_dn", "somebody", "bind_dn"),
        ("bind_dn", "cn=nobody,dc=work,dc=test", "uri"),
        ("bind_dn", "", "secret"),
        ("certificates", "no certificate", "certificates"),
        ("certificates", own_certificate().key, "certificates"),
        ("certificates", own_certificate("127.0.0.1").certificate, "uri"),
        ("group_claim", "member)(x", "group_claim"),
        ("attributes", DEFAULTS | {"base": "ou=nowhere,dc=work,dc=test"}, "uri"),
        ("attributes", DEFAULTS | {"base": PEOPLE, "person_filter": "(a=b=c)(&)"}, "person_filter"),
    ],
    ids=range(12),
)
def test_what_is_not_acceptable_is_told_at_its_field(terms: LdapTerms, field: str, value: Any, at: str) -> None:
    with pytest.raises(ProviderRefused) as told:
        create_provider(terms=replace(terms, **{field: value}), secret=SECRET, by=None, now=NOW)
    assert list(told.value.fields) == [at]
    assert not SignInProvider.objects.exists()


def test_the_secret_is_not_sent_to_wherever_somebody_points(terms: LdapTerms, at_ldap: AtLdap, alice: User) -> None:
    provider = create_provider(terms=terms, secret=SECRET, by=alice, now=NOW)
    moved = replace(terms, uri=f"ldap://127.0.0.1:{at_ldap.port}")
    with pytest.raises(ProviderRefused) as told:
        change_provider(provider=provider, terms=moved, by=alice, now=NOW)
    assert list(told.value.fields) == ["secret"]
    change_provider(provider=provider, terms=moved, secret=SECRET, by=alice, now=NOW)
    assert SignInProvider.objects.get().issuer == moved.uri
    at_ldap.person("eve")
    SignInProvider.objects.update(makes_people=True, trusts_mail=True)
    assert is_signed_in(signs_in("eve")[0])


def test_what_links_hang_on_stays(terms: LdapTerms, alice: User) -> None:
    provider = create_provider(terms=terms, secret=SECRET, by=alice, now=NOW)
    for changed in (replace(terms, slug="other"), replace(terms, attributes=terms.attributes | {"subject": "uid"})):
        with pytest.raises(ProviderRefused, match="can’t be changed"):
            change_provider(provider=provider, terms=changed, by=alice, now=NOW)
