"""Tests of the settings of LDAP servers."""

import pytest

from dnspanel.accounts.providers.ldap.ldap_terms import DEFAULTS, Terms, faults_of, is_attribute, is_dn, is_filter


def test_the_usual_is_without_fault() -> None:
    assert faults_of(Terms(values=DEFAULTS | {"base": "dc=work,dc=test"})) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("base", value) for value in ("", "work.test", "x" * 300)),
        *(("group_base", value) for value in ("work.test", "dc=a\n")),
        *(("person_filter", value) for value in ("", "uid=x", "(uid=x", "(uid=x))", "(a=b)(c=d)", "(" * 30 + ")" * 30)),
        *(("subject", value) for value in ("", "entry UUID", "a=b", "mail;binary", "x)(y")),
        *(("login", value) for value in ("", "a,b,c,d,e,f", "uid)(cn=*")),
        ("groups", "magic"),
    ],
    ids=lambda value: value[:20] or "empty",
)
def test_what_is_not_acceptable_is_told_at_its_field(name: str, value: str) -> None:
    assert list(faults_of(Terms(values=DEFAULTS | {"base": "dc=work,dc=test"} | {name: value}))) == [name]


def test_the_words_of_the_protocol_are_known() -> None:
    assert all(map(is_attribute, ("uid", "sAMAccountName", "msDS-PrincipalName", "1.2.840.113556.1.4.221")))
    assert is_dn("cn=Müller\\, Ann,ou=people,dc=work,dc=test")
    assert is_filter("(&(objectClass=user)(!(userAccountControl:1.2.840.113556.1.4.803:=2)))")
    assert is_filter("(cn=a\\28b\\29)")
