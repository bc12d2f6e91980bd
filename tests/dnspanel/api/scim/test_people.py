"""Tests of people over SCIM: create, find, change, close, delete, and accounts out of a directory's reach.

Also `scim.view`, `scim.lists`, `scim.conditions`, `scim.discovery`.
"""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.errors import BadToken
from dnspanel.accounts.models import BY_LDAP, AuditEntry, OwnRole, Role, ScimPerson, Token, User
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.rights.grant_edit import give_grant
from dnspanel.accounts.scim import scim_people as verbs
from dnspanel.accounts.tokens import tokens
from dnspanel.accounts.tokens.presets import ci_terms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.api.scim.view import MOST_BYTES
from tests.dnspanel.api.callers import Api
from tests.dnspanel.api.scim.conftest import USER, AtDirectory, MakeDirectory
from tests.people import NOW, PASSWORD, make_person

DISABLE = {"op": "Replace", "path": "active", "value": "False"}
ENABLE = {"op": "Replace", "path": "active", "value": "True"}


def test_a_person_is_made_found_and_read(directory: MakeDirectory) -> None:
    okta = directory()
    name = {"givenName": "Ada", "familyName": "Lovelace"}
    made = okta.made("ada", externalId="00u1", name=name, displayName="Ada L.", password="never kept")
    user = User.objects.get(username="ada")
    assert (user.role, user.email, user.has_usable_password()) == (Role.MEMBER, "ada@people.test", False)
    assert made["id"] == str(user.pk)
    read = okta.scim("GET", f"Users/{user.pk}")
    assert read.json() == made
    assert read["Content-Type"] == "application/scim+json"
    assert read["ETag"] == made["meta"]["version"]
    assert made["emails"] == [{"value": "ada@people.test", "type": "work", "primary": True}]
    for text in (
        'userName eq "ADA"',
        'externalId eq "00u1"',
        'emails.value eq "Ada@people.test"',
        f'id eq "{user.pk}"',
    ):
        found = okta.scim("GET", "Users", filter=text).json()
        assert (found["totalResults"], found["Resources"]) == (1, [made]), text
    assert okta.scim("GET", "Users", filter='userName eq "bob"').json()["totalResults"] == 0
    by_body = okta.scim("POST", "Users/.search", {"filter": 'userName eq "ada"', "attributes": ["userName"]}).json()
    assert by_body["Resources"] == [{"schemas": [USER], "id": made["id"], "userName": "ada"}]


def test_a_slash_at_the_end_of_a_url_means_the_same(directory: MakeDirectory) -> None:
    okta = directory()
    made = okta.made("ada")
    key = made["id"]
    assert okta.scim("GET", f"Users/{key}/").json() == made
    assert okta.scim("GET", "Users/", filter='userName eq "ada"').json()["Resources"] == [made]
    assert okta.scim("POST", "Users/.search/", {"filter": 'userName eq "ada"'}).json()["Resources"] == [made]
    group = okta.scim("POST", "Groups/", {"displayName": "dns"})
    assert group.status_code == 201
    for path in ("Groups", f"Groups/{group.json()['id']}", "ServiceProviderConfig", "ResourceTypes", "Schemas"):
        plain, slashed = okta.scim("GET", path), okta.scim("GET", f"{path}/")
        assert (slashed.status_code, slashed.json()) == (200, plain.json())
    assert okta.scim("DELETE", f"Users/{key}/").status_code == 204
    assert okta.scim("GET", "Users//").status_code == 404


@pytest.mark.parametrize("text", ['userName sw "a"', 'title eq "x"', 'userName eq "a" or id eq "1"'])
def test_a_filter_that_is_not_honoured_is_refused(directory: MakeDirectory, text: str) -> None:
    response = directory().scim("GET", "Users", filter=text)
    assert (response.status_code, response.json()["scimType"]) == (400, "invalidFilter")
    assert response.json()["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


def test_pages_cost_the_same_and_each_person_is_on_one(
    directory: MakeDirectory, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    okta = directory()
    made = [okta.made(f"p{number}") for number in range(7)]
    okta.group("web", *made)
    seen = []
    okta.scim("GET", "Users")  # stores the token's use
    for start in (1, 4, 7):
        with django_assert_num_queries(8):  # the token and its rights (3), directory, ids, page, kept, groups
            page = okta.scim("GET", "Users", startIndex=start, count=3).json()
        assert (page["totalResults"], page["startIndex"]) == (7, start)
        seen += [each["id"] for each in page["Resources"]]
    assert seen == [each["id"] for each in made]
    assert okta.scim("GET", "Users", count=0).json()["itemsPerPage"] == 0
    assert okta.scim("GET", "Users", startIndex=99).json()["Resources"] == []
    assert okta.scim("GET", "Users", count="many").status_code == 400


def test_who_reads_chooses_the_parts(directory: MakeDirectory) -> None:
    okta = directory()
    made = okta.made("ada", name={"givenName": "Ada", "familyName": "L"})
    only = okta.scim("GET", f"Users/{made['id']}", attributes=f"name.givenName,{USER}:userName").json()
    assert only == {"schemas": [USER], "id": made["id"], "userName": "ada", "name": {"givenName": "Ada"}}
    rest = okta.scim("GET", f"Users/{made['id']}", excludedAttributes="emails,meta,name.familyName,id").json()
    assert rest == {
        "schemas": [USER],
        "id": made["id"],
        "userName": "ada",
        "active": True,
        "name": {"givenName": "Ada"},
    }
    assert okta.scim("GET", f"Users/{made['id']}", attributes="a", excludedAttributes="b").status_code == 400


def test_deactivation_ends_sessions_and_tokens_at_once(directory: MakeDirectory, alice: User) -> None:
    okta = directory()
    made = okta.made("ada")
    ada = User.objects.get(username="ada")
    people.change_role(user=ada, role=Role.EDITOR, by=alice, now=NOW)
    browser = Client()
    browser.force_login(ada, backend="django.contrib.auth.backends.ModelBackend")
    assert browser.get("/zones/").status_code == 200
    terms = ci_terms(zone_id=1, zone_name="x.test.", now=NOW)
    token = create_token(owner=ada, terms=terms, by=None, now=NOW).token
    closed = okta.patch_of(f"Users/{made['id']}", DISABLE)
    assert (closed.status_code, closed.json()["active"]) == (200, False)
    assert browser.get("/zones/").status_code == 302
    token.refresh_from_db()
    assert token.revoked_at is not None
    entry = AuditEntry.objects.get(action="person.close")
    assert (entry.target, entry.details, entry.token) == ("ada", {"directory": "Okta"}, Token.objects.get(kind="scim"))
    # A person who comes back has none of the former sessions and tokens.
    assert okta.patch_of(f"Users/{made['id']}", ENABLE).json()["active"] is True
    assert browser.get("/zones/").status_code == 302


def test_whom_the_directory_deletes_is_closed_and_listed_no_more(directory: MakeDirectory) -> None:
    okta = directory()
    made = okta.made("ada")
    group = okta.group("web", made)
    assert okta.scim("DELETE", f"Users/{made['id']}").status_code == 204
    assert okta.scim("GET", f"Users/{made['id']}").status_code == 404
    assert okta.scim("DELETE", f"Users/{made['id']}").status_code == 404
    assert okta.scim("GET", "Users").json()["totalResults"] == 0
    assert "members" not in okta.scim("GET", f"Groups/{group['id']}").json()
    assert not User.objects.get(username="ada").is_active  # the history refers to her
    assert list(AuditEntry.objects.filter(target="ada").values_list("action", flat=True).order_by("pk")) == [
        "person.join",
        "person.close",
        "scim.forget",
    ]
    # The same person comes back to the same account.
    assert okta.made("ada", externalId="2")["id"] == made["id"]
    assert User.objects.get(username="ada").is_active


def test_what_somebody_has_nobody_else_gets(directory: MakeDirectory, bob: User) -> None:
    okta = directory()
    ada = okta.made("ada")
    for body in ({"userName": "ADA", "emails": [{"value": "other@people.test"}]}, {"userName": "BOB@people.test"}):
        response = okta.scim("POST", "Users", body)
        assert (response.status_code, response.json()["scimType"]) == (409, "uniqueness")
    rename = okta.patch_of(f"Users/{ada['id']}", {"op": "replace", "path": "userName", "value": "bob"})
    assert rename.status_code == 409
    bad = okta.scim("POST", "Users", {"userName": "a#b", "emails": [{"value": "ab@people.test"}]})
    assert (bad.status_code, bad.json()["scimType"]) == (400, "invalidValue")


def test_accounts_of_others_are_there_only_for_who_may_take_over(directory: MakeDirectory, bob: User) -> None:
    okta, entra = directory(), directory("Entra", takes_over=True)
    assert okta.scim("GET", f"Users/{bob.pk}").status_code == 404
    assert okta.patch_of(f"Users/{bob.pk}", DISABLE).status_code == 404
    names = [each["userName"] for each in entra.scim("GET", "Users").json()["Resources"]]
    assert names == ["bob"]  # without administrators and service accounts
    assert entra.patch_of(f"Users/{bob.pk}", {"op": "Add", "path": "externalId", "value": "e1"}).status_code == 200
    assert ScimPerson.objects.get(user=bob).directory == entra.row
    assert AuditEntry.objects.filter(action="scim.take-over", target="bob").count() == 1
    # Only one directory keeps a person.
    other = directory("Other", takes_over=True)
    assert other.scim("GET", f"Users/{bob.pk}").status_code == 404


def test_an_administrator_by_anothers_hand_is_out_of_reach(directory: MakeDirectory, alice: User) -> None:
    okta = directory()
    made = okta.made("ada")
    people.change_role(user=User.objects.get(username="ada"), role=Role.ADMINISTRATOR, by=alice, now=NOW)
    mail = {"op": "replace", "path": "emails", "value": [{"value": "mine@evil.test"}]}
    for response in (
        okta.patch_of(f"Users/{made['id']}", DISABLE),
        okta.patch_of(f"Users/{made['id']}", mail),
        okta.scim("DELETE", f"Users/{made['id']}"),
    ):
        assert response.status_code == 403
    assert User.objects.get(username="ada").email == "ada@people.test"


def new_address(okta: AtDirectory, key: object) -> int:
    """Change the person's email address over SCIM. Return the status of the answer."""
    change = {"op": "replace", "path": "emails", "value": [{"value": f"attacker{key}@evil.test", "primary": True}]}
    return int(okta.patch_of(f"Users/{key}", change).status_code)


OF_THEIR_OWN: dict[str, Callable[[User, User], object]] = {
    "password": lambda user, by: (user.set_password(PASSWORD), user.save()),
    "ldap": lambda user, by: User.objects.filter(pk=user.pk).update(password=f"{BY_LDAP}x"),
    "passkey": lambda user, by: Authenticator.objects.create(user=user, type="webauthn", data={}),
    "role": lambda user, by: people.change_role(user=user, role=Role.EDITOR, by=by, now=NOW),
    "own role": lambda user, by: people.change_role(
        user=user,
        role=Role.MEMBER,
        own_role=OwnRole.objects.create(name="Auditor", rights=["read"], created_at=NOW),
        by=by,
        now=NOW,
    ),
    "team": lambda user, by: teams.set_member(
        team=teams.create_team(name="web", by=by, now=NOW), user=user, role="reader", by=by, now=NOW
    ),
    "grant": lambda user, by: give_grant(
        grant=Grant(frozenset({Right.READ}), everywhere=True), to=user, by=by, now=NOW
    ),
}


@pytest.mark.parametrize("own", OF_THEIR_OWN)
@pytest.mark.django_db(transaction=True)
def test_the_address_of_an_account_with_something_of_its_own_stays(
    directory: MakeDirectory, alice: User, own: str
) -> None:
    """A new address would take over the account: sign-in providers link by it, and password resets go to it."""
    okta = directory(takes_over=True)
    mail = "ed2@people.test"
    user = User(username="ed2", email=mail, role=Role.MEMBER, date_joined=NOW)
    user.set_unusable_password()
    user.save()
    made = okta.made("ada")
    assert new_address(okta, made["id"]) == 200  # the directory's own person, with rights from it alone
    OF_THEIR_OWN[own](user, alice)
    assert new_address(okta, user.pk) == 403
    body = {"schemas": [USER], "userName": "ed2", "emails": [{"value": "attacker@evil.test"}]}
    assert okta.scim("PUT", f"Users/{user.pk}", body).status_code == 403
    user.refresh_from_db()
    assert user.email == mail
    same = {"schemas": [USER], "userName": "ed2", "emails": [{"value": "ED2@People.test"}], "name": {"givenName": "Ed"}}
    assert okta.scim("PUT", f"Users/{user.pk}", same).status_code == 200
    assert okta.scim("DELETE", f"Users/{user.pk}").status_code == 204
    assert okta.scim("POST", "Users", body).status_code == 403  # created again, with another address


def test_what_rules_give_is_not_of_ones_own(directory: MakeDirectory) -> None:
    okta = directory(rules=(Rule("editors", Role.EDITOR),), team_role="reader")
    ada = okta.made("ada")
    okta.group("editors", ada)
    okta.group("web", ada)
    assert new_address(okta, ada["id"]) == 200


def test_a_role_of_before_a_rule_is_of_ones_own(directory: MakeDirectory) -> None:
    okta = directory(rules=(Rule("editors", Role.EDITOR),), takes_over=True)
    user = make_person("ed2", Role.READER)
    user.set_unusable_password()
    user.save()
    okta.group("editors", {"id": str(user.pk)})
    assert new_address(okta, user.pk) == 403


def test_the_last_administrator_stays(directory: MakeDirectory, alice: User) -> None:
    okta = directory(rules=(Rule("admins", Role.ADMINISTRATOR),))
    made = okta.made("ada")
    okta.group("admins", made)
    people.deactivate(user=alice, by=None, now=NOW)
    response = okta.patch_of(f"Users/{made['id']}", DISABLE)
    assert (response.status_code, "last administrator" in response.json()["detail"]) == (409, True)
    assert okta.scim("DELETE", f"Users/{made['id']}").status_code == 409
    assert User.objects.get(username="ada").is_active


def test_who_read_another_version_changes_nothing(directory: MakeDirectory) -> None:
    okta = directory()
    made = okta.made("ada")
    path, version = f"Users/{made['id']}", made["meta"]["version"]
    assert okta.scim("GET", path, headers={"If-None-Match": version}).status_code == 304
    okta.patch_of(path, {"op": "add", "path": "displayName", "value": "A"}, headers={"If-Match": version})
    late = okta.patch_of(path, DISABLE, headers={"If-Match": version})
    assert (late.status_code, late.json()["status"]) == (412, "412")
    assert okta.scim("DELETE", path, headers={"If-Match": version}).status_code == 412
    assert okta.scim("GET", path).json()["active"] is True


def test_a_put_says_all_anew_and_twice_changes_nothing(directory: MakeDirectory) -> None:
    okta = directory()
    made = okta.made("ada", externalId="1", displayName="A")
    body = {"schemas": [USER], "id": made["id"], "userName": "ada.l", "active": True, "emails": made["emails"]}
    after = okta.scim("PUT", f"Users/{made['id']}", body).json()
    assert (after["userName"], "externalId" in after, "displayName" in after) == ("ada.l", False, False)
    count = AuditEntry.objects.count()
    assert okta.scim("PUT", f"Users/{made['id']}", body).json() == after
    assert AuditEntry.objects.count() == count


def test_the_token_of_a_directory_opens_no_api_and_no_other_token_opens_scim(
    directory: MakeDirectory, alice: User
) -> None:
    okta = directory()
    assert Api(okta.secret).get("/api/v2/me").status_code == 401
    assert Api(okta.secret).get("/api/v1/servers").status_code == 401
    with pytest.raises(BadToken):
        tokens.actor_by_secret(secret=okta.secret, address=None, now=NOW)
    refused = Api("dnsp_" + "x" * 43).get("/scim/v2/Users")
    assert (refused.status_code, refused["WWW-Authenticate"]) == (401, 'Bearer realm="dnspanel"')
    assert refused.json()["status"] == "401"


def test_bodies_have_a_limit_and_nonsense_is_refused_in_scims_shape(directory: MakeDirectory) -> None:
    okta = directory()
    large = okta.send("POST", "/scim/v2/Users", b" " * (MOST_BYTES + 1))
    assert (large.status_code, large.json()["status"]) == (413, "413")
    for body in (b"{", b"[" * 100_000, b'"x"', b'{"userName": NaN}'):
        response = okta.send("POST", "/scim/v2/Users", body)
        assert (response.status_code, response.json()["scimType"]) == (400, "invalidSyntax")
    for path in ("Nothing", "Me", "Bulk", "Users/x", "Users/99999999999999999999", ""):
        assert okta.scim("GET", path).status_code == 404, path
    assert okta.scim("PUT", "Users", {}).status_code == 405


def test_a_directory_has_a_most_of_people(directory: MakeDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    okta = directory()
    monkeypatch.setattr(verbs, "MOST_PEOPLE", 1)
    okta.made("ada")
    assert okta.scim("POST", "Users", {"userName": "b@people.test"}).status_code == 409


def test_it_says_what_it_can(directory: MakeDirectory) -> None:
    okta = directory()
    config = okta.scim("GET", "ServiceProviderConfig").json()
    supported = {name: config[name]["supported"] for name in ("patch", "bulk", "filter", "sort", "etag")}
    assert supported == {"patch": True, "bulk": False, "filter": True, "sort": False, "etag": True}
    for plural in ("Schemas", "ResourceTypes"):
        listed: Any = okta.scim("GET", plural).json()["Resources"]
        assert len(listed) == 2
        for one in listed:
            assert okta.scim("GET", f"{plural}/{one['id']}").json() == one
            assert one["meta"]["location"].endswith(f"/scim/v2/{plural}/{one['id']}")
        assert okta.scim("GET", f"{plural}/x").status_code == 404
        assert okta.scim("GET", plural, filter='id eq "x"').status_code == 403


def test_a_stranger_is_nobody(directory: MakeDirectory) -> None:
    directory()
    make_person("eve", Role.ADMINISTRATOR)
    browser = Client()
    browser.force_login(User.objects.get(username="eve"), backend="django.contrib.auth.backends.ModelBackend")
    assert browser.get("/scim/v2/Users").status_code == 401
