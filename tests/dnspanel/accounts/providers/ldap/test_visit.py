"""Tests of LDAP queries for people: identities and groups (`ldap.visit`)."""

import socket
from datetime import UTC, datetime
from uuid import UUID

import pytest
from ldap.dn import escape_dn_chars

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.providers.ldap.ldap_terms import Groups
from dnspanel.accounts.providers.ldap.visit import Entry, is_closed, visiting
from dnspanel.accounts.providers.provider_http import ProviderAway
from tests.dnspanel.accounts.providers.ldap.server import (
    GROUPS,
    PASSWORD,
    PEOPLE,
    SUFFIX,
    AtLdap,
    ldap_added,
)


def groups_of(server: AtLdap, how: Groups, **terms: str) -> set[str]:
    """Return the names of eve's groups, each without the rest of its distinguished name."""
    member = "memberOf" if how == Groups.ATTRIBUTE else "member"
    provider = ldap_added(server, group_claim=member, attributes={"groups": how.value, **terms})
    with visiting(provider) as visit:
        entry = visit.find_by_name("eve")
        assert entry is not None
        found = visit.identity(entry).groups
    names = {each for each in found if "=" not in each}
    assert {f"cn={name},{GROUPS}".lower() for name in names} <= found
    return names


@pytest.mark.parametrize(
    ("how", "found"),
    [
        (Groups.SEARCH, {"web", "50% off"}),
        (Groups.ATTRIBUTE, {"web", "50% off"}),
        (Groups.NESTED, {"web", "50% off", "everybody", "circle"}),
    ],
)
def test_groups_are_read_in_the_way_that_is_named(at_ldap: AtLdap, how: Groups, found: set[str]) -> None:
    eve = at_ldap.person("eve")
    web = at_ldap.group("web", eve)
    at_ldap.group("50% off", eve)
    everybody = at_ldap.group("everybody", web)
    circle = at_ldap.group("circle", everybody)
    at_ldap.change(everybody, member=[web, circle])
    at_ldap.group("others", at_ldap.person("other"))
    assert groups_of(at_ldap, how) == found


@pytest.mark.parametrize("how", [Groups.SEARCH, Groups.ATTRIBUTE])
def test_groups_from_elsewhere_give_nothing(at_ldap: AtLdap, how: Groups) -> None:
    """A person who can create groups elsewhere could give one a name that appears in a rule."""
    eve = at_ldap.person("eve")
    at_ldap.add(f"cn=dns-admins,{PEOPLE}", objectClass="groupOfNames", cn="dns-admins", member=eve)
    assert groups_of(at_ldap, how) == set()


def test_no_group_is_called_like_the_distinguished_name_of_another_one(at_ldap: AtLdap) -> None:
    eve = at_ldap.person("eve")
    name = f"cn=dns-admins,{GROUPS}"
    at_ldap.add(f"cn={escape_dn_chars(name)},{GROUPS}", objectClass="groupOfNames", cn=name, member=eve)
    with visiting(ldap_added(at_ldap)) as visit:
        entry = visit.find_by_name("eve")
        assert entry is not None
        assert name not in visit.identity(entry).groups


def test_active_directory_is_asked_for_all_levels_at_once(at_ldap: AtLdap) -> None:
    """slapd doesn't know the matching rule. The query reaches it but finds nothing."""
    at_ldap.person("eve")
    assert groups_of(at_ldap, Groups.ACTIVE_DIRECTORY, group_filter="(cn=*)") == set()
    assert "(cn=*)" in at_ldap.log.rpartition(" SRCH base=")[2]


def test_a_person_of_active_directory_is_known_by_the_guid(at_ldap: AtLdap) -> None:
    guid = UUID("2f1b6e0a-38c4-4d0f-9e62-5a29c8b7d410")
    dn = at_ldap.person("eve", objectGUID=guid.bytes_le, sAMAccountName="Eve.Person")
    names = {"subject": "objectGUID", "username": "sAMAccountName", "login": "sAMAccountName"}
    provider = ldap_added(at_ldap, attributes=names)
    with visiting(provider) as visit:
        entry = visit.find_by_name("eve.person")
        assert entry is not None
        assert (entry.subject, visit.identity(entry).username) == (str(guid), "Eve.Person")
        assert visit.of_subjects([str(guid), str(UUID(int=1))]).keys() == {str(guid)}
        assert visit.accepts(entry, PASSWORD)
    at_ldap.change(dn, objectGUID=None)
    with visiting(provider) as visit, pytest.raises(SignInRefused, match="objectGUID attribute is missing"):
        visit.find_by_name("eve.person")


def test_a_referral_is_not_followed(at_ldap: AtLdap) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        uri = f"ldap://127.0.0.1:{elsewhere.getsockname()[1]}"
        moved = f"ou=moved,{PEOPLE}"
        at_ldap.add(moved, objectClass=["referral", "extensibleObject"], ou="moved", ref=f"{uri}/{PEOPLE}")
        provider = ldap_added(at_ldap)
        with visiting(provider) as visit:
            assert visit.find_by_name("eve") is None
            assert not visit.accepts(Entry(f"uid=eve,{moved}", "", {}), PASSWORD)
        provider.attributes["base"] = moved
        with pytest.raises(ProviderAway, match="referred the panel to another server"), visiting(provider) as visit:
            visit.find_by_name("eve")
        with pytest.raises(BlockingIOError):
            elsewhere.accept()


def test_whoever_cannot_be_bound_as_has_a_wrong_password(at_ldap: AtLdap) -> None:
    at_ldap.person("eve", userPassword=[])
    with visiting(ldap_added(at_ldap)) as visit:
        eve = visit.find_by_name("eve")
        assert eve is not None
        for dn in (eve.dn, f"uid=nobody,{PEOPLE}", "dc=elsewhere,dc=test", "no name at all"):
            assert not visit.accepts(Entry(dn, "", {}), PASSWORD), dn
        assert visit.find_by_name("eve") == eve


def test_a_base_that_is_not_there_is_no_empty_answer(at_ldap: AtLdap) -> None:
    """Otherwise a wrong base would look as if all people had been deleted."""
    provider = ldap_added(at_ldap)
    provider.attributes["base"] = f"ou=nowhere,{SUFFIX}"
    with pytest.raises(ProviderAway, match="The search base doesn’t exist"), visiting(provider) as visit:
        visit.find_by_name("eve")


@pytest.mark.parametrize(
    ("attributes", "closed"),
    [
        ({}, False),
        ({"userAccountControl": ["512"]}, False),
        ({"userAccountControl": ["66050"]}, True),  # disabled, and the password never expires
        ({"accountExpires": ["0"]}, False),
        ({"accountExpires": ["9223372036854775807"]}, False),
        ({"accountExpires": ["134400000000000000"]}, True),  # November 2026
        ({"accountExpires": ["140000000000000000"]}, False),
        ({"accountExpires": ["x" * 30]}, False),
        ({"nsAccountLock": ["TRUE"]}, True),
    ],
    ids=str,
)
def test_what_says_that_an_account_is_closed(attributes: dict[str, list[str]], closed: bool) -> None:
    assert is_closed(Entry("", "", attributes), datetime(2027, 1, 1, tzinfo=UTC)) == closed
