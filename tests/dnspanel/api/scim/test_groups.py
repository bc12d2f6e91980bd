"""Tests of SCIM groups: their members' rights through rules and teams. Also `scim.gifts`, `scim.locked`."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.models import AuditEntry, Membership, OwnRole, Role, ScimGroup, Team, User
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.providers.provider_identity import Rule
from dnspanel.accounts.scim import scim_groups as verbs
from dnspanel.accounts.scim.directories import DirectoryTerms, change_directory, delete_directory
from tests.dnspanel.api.scim.conftest import GROUP, MakeDirectory
from tests.people import NOW, make_person


def role_of(name: str) -> str:
    return User.objects.get(username=name).role_key


def teams_of(name: str) -> dict[str, str]:
    return dict(Membership.objects.filter(user__username=name).values_list("team__name", "role"))


def test_rules_give_roles_and_teams_as_those_of_providers_do(directory: MakeDirectory, alice: User) -> None:
    web = Team.objects.create(name="Web", created_at=NOW)
    auditor = OwnRole.objects.create(name="Auditor", rights=["read"], created_at=NOW)
    okta = directory(
        rules=(
            Rule("editors", Role.EDITOR),
            Rule("audit", Role.MEMBER, own_role=auditor.pk),
            Rule("web", Role.READER, team=web.pk),
        )
    )
    ada = okta.made("ada")
    assert role_of("ada") == Role.MEMBER
    groups = {name: okta.group(name, ada) for name in ("editors", "web", "audit", "others")}
    assert (role_of("ada"), teams_of("ada")) == (Role.EDITOR, {"Web": "reader"})
    read = okta.scim("GET", f"Users/{ada['id']}").json()
    assert [each["display"] for each in read["groups"]] == ["editors", "web", "audit", "others"]
    okta.patch_of(f"Groups/{groups['editors']['id']}", {"op": "remove", "path": f'members[value eq "{ada["id"]}"]'})
    assert role_of("ada") == f"own:{auditor.pk}"
    for name in ("web", "audit"):
        assert okta.scim("DELETE", f"Groups/{groups[name]['id']}").status_code == 204
    assert (role_of("ada"), teams_of("ada")) == (Role.MEMBER, {})


def test_groups_without_a_rule_are_teams_where_the_directory_says_so(directory: MakeDirectory) -> None:
    web = Team.objects.create(name="web", created_at=NOW)
    okta = directory(team_role="editor", teams=(web.pk,))
    ada, eve = okta.made("ada"), okta.made("eve")
    made = okta.group("Web", ada)
    ops = okta.group("Ops", ada, eve)
    assert teams_of("ada") == {"web": "editor", "Ops": "editor"}
    assert Team.objects.count() == 2
    okta.patch_of(f"Groups/{ops['id']}", {"op": "replace", "value": {"id": ops["id"], "displayName": "Operations"}})
    assert teams_of("eve") == {"Operations": "editor"}
    # Okta pushes a group like this.
    members = [{"value": eve["id"], "display": "eve"}]
    after = okta.patch_of(f"Groups/{made['id']}", {"op": "replace", "path": "members", "value": members}).json()
    assert [each["value"] for each in after["members"]] == [eve["id"]]
    assert (teams_of("ada"), teams_of("eve")) == (
        {"Operations": "editor"},
        {"Operations": "editor", "web": "editor"},
    )
    okta.scim("DELETE", f"Groups/{ops['id']}")
    assert teams_of("ada") == {}
    assert Team.objects.filter(name="Operations").exists()  # zones may belong to it


def test_what_somebody_was_by_hand_comes_back(directory: MakeDirectory, alice: User) -> None:
    web = Team.objects.create(name="web", created_at=NOW)
    okta = directory(team_role="editor", teams=(web.pk,))
    ada = okta.made("ada")
    teams.set_member(team=web, user=User.objects.get(username="ada"), role="reader", by=alice, now=NOW)
    group = okta.group("web", ada)
    assert teams_of("ada") == {"web": "editor"}
    okta.scim("PUT", f"Groups/{group['id']}", {"schemas": [GROUP], "displayName": "web"})
    assert teams_of("ada") == {"web": "reader"}


def test_a_group_is_no_team_that_was_here_unless_an_administrator_selected_it(
    directory: MakeDirectory, alice: User
) -> None:
    """The directory's owner could name a group BETA, get the zones of that team, and rename it for all its members."""
    beta = Team.objects.create(name="beta", created_at=NOW)
    okta = directory(team_role="editor")
    ada = okta.made("ada")
    group = okta.group("BETA", ada)
    assert teams_of("ada") == {}
    assert okta.row is not None
    assert verbs.teams_not_selected(okta.row) == [beta]
    selected = DirectoryTerms("Okta", team_role="editor", teams=(beta.pk,))
    change_directory(directory=okta.row, terms=selected, by=alice, now=NOW)
    assert teams_of("ada") == {"beta": "editor"}
    okta.row.refresh_from_db()
    assert verbs.teams_not_selected(okta.row) == []
    # The group is renamed, but not its team, which has other members too.
    body = {"schemas": [GROUP], "displayName": "Gamma", "members": [{"value": ada["id"]}]}
    assert okta.scim("PUT", f"Groups/{group['id']}", body).status_code == 200
    assert teams_of("ada") == {"beta": "editor"}
    change_directory(directory=okta.row, terms=DirectoryTerms("Okta", team_role="editor"), by=alice, now=NOW)
    assert teams_of("ada") == {"Gamma": "editor"}
    assert set(Team.objects.values_list("name", flat=True)) == {"beta", "Gamma"}


def test_a_team_that_a_directory_created_is_its_own_and_no_other_directorys(directory: MakeDirectory) -> None:
    okta, other = directory(team_role="editor"), directory("Other", team_role="editor")
    ada, eve = okta.made("ada"), other.made("eve")
    group = okta.group("Ops", ada)
    other.group("ops", eve)
    assert (teams_of("ada"), teams_of("eve")) == ({"Ops": "editor"}, {})
    okta.scim("DELETE", f"Groups/{group['id']}")
    okta.group("OPS", ada)  # pushed again
    assert teams_of("ada") == {"Ops": "editor"}


def test_a_team_that_is_renamed_into_the_way_is_not_taken(directory: MakeDirectory) -> None:
    Team.objects.create(name="beta", created_at=NOW)
    okta = directory(team_role="editor")
    ada = okta.made("ada")
    group = okta.group("Ops", ada)
    refused = okta.patch_of(f"Groups/{group['id']}", {"op": "replace", "path": "displayName", "value": "Beta"})
    assert refused.status_code == 409
    assert teams_of("ada") == {"Ops": "editor"}


def test_other_rules_hold_at_once(directory: MakeDirectory, alice: User) -> None:
    okta = directory()
    ada = okta.made("ada")
    okta.group("dns", ada)
    assert okta.row is not None
    change_directory(directory=okta.row, terms=DirectoryTerms("Okta", team_role="reader"), by=alice, now=NOW)
    assert (role_of("ada"), teams_of("ada")) == (Role.MEMBER, {"dns": "reader"})
    rules = (Rule("dns", Role.EDITOR),)
    change_directory(directory=okta.row, terms=DirectoryTerms("Okta", rules), by=alice, now=NOW)
    assert (role_of("ada"), teams_of("ada")) == (Role.EDITOR, {})


def test_a_rule_makes_and_unmakes_an_administrator_and_nobody_elses(directory: MakeDirectory, alice: User) -> None:
    okta = directory(rules=(Rule("admins", Role.ADMINISTRATOR),))
    ada, eve = okta.made("ada"), okta.made("eve")
    group = okta.group("admins", ada)
    assert role_of("ada") == Role.ADMINISTRATOR
    okta.patch_of(f"Groups/{group['id']}", {"op": "Remove", "path": "members", "value": [{"value": ada["id"]}]})
    assert role_of("ada") == Role.MEMBER
    free = directory("Free")
    zoe = free.made("zoe")
    people.change_role(user=User.objects.get(username="zoe"), role=Role.ADMINISTRATOR, by=alice, now=NOW)
    assert free.row is not None
    change_directory(directory=free.row, terms=DirectoryTerms("Free", team_role="editor"), by=alice, now=NOW)
    refused = free.scim("POST", "Groups", {"displayName": "x", "members": [{"value": zoe["id"]}]})
    assert refused.status_code == 403
    assert eve["id"] != zoe["id"]


def test_a_role_for_many_costs_as_many_queries_as_for_two_and_is_written_down_for_each(
    directory: MakeDirectory, alice: User
) -> None:
    counted, names = [], {}
    for number, size in enumerate((2, 25)):
        okta = directory(f"Okta {number}", rules=(Rule("crowd", Role.EDITOR),), takes_over=True)
        names[size] = [f"p{number}of{each}" for each in range(size)]
        crowd = [{"id": str(make_person(name, Role.READER).pk)} for name in names[size]]
        with CaptureQueriesContext(connection) as queries:
            group = okta.group("crowd", *crowd)
        with CaptureQueriesContext(connection) as again:
            okta.scim("PUT", f"Groups/{group['id']}", {"schemas": [GROUP], "displayName": "crowd"})
        assert okta.row is not None
        with CaptureQueriesContext(connection) as ended:
            delete_directory(directory=okta.row, by=alice, now=NOW)
        counted.append((len(queries), len(again), len(ended)))
        assert {role_of(name) for name in names[size]} == {Role.MEMBER}
        told = AuditEntry.objects.filter(action="person.role", target__in=names[size]).order_by("pk")
        assert [(each.target, each.details["role"]) for each in told] == [
            *((name, "editor") for name in names[size]),
            *((name, "member") for name in names[size]),
        ]
        assert AuditEntry.objects.filter(action="scim.take-over", target__in=names[size]).count() == size
    assert counted == [(24, 22, 27)] * 2


def test_the_last_administrator_stays_one_among_many_who_lose_it(directory: MakeDirectory, alice: User) -> None:
    okta = directory(rules=(Rule("admins", Role.ADMINISTRATOR),))
    crowd = [okta.made(f"p{number}") for number in range(4)]
    group = okta.group("admins", *crowd)
    people.deactivate(user=alice, by=None, now=NOW)
    okta.scim("PUT", f"Groups/{group['id']}", {"schemas": [GROUP], "displayName": "admins"})
    roles = [role_of(f"p{number}") for number in range(4)]
    assert roles == [Role.MEMBER, Role.MEMBER, Role.MEMBER, Role.ADMINISTRATOR]
    kept = AuditEntry.objects.get(action="scim.kept")
    assert (kept.target, kept.details["directory"]) == ("p3", "Okta")
    # New administrators of the same request count, so the last one can be demoted.
    rules = (Rule("others", Role.ADMINISTRATOR),)
    assert okta.row is not None
    okta.group("others", crowd[0])
    change_directory(directory=okta.row, terms=DirectoryTerms("Okta", rules), by=alice, now=NOW)
    assert (role_of("p0"), role_of("p3")) == (Role.ADMINISTRATOR, Role.MEMBER)


def test_groups_are_found_and_have_a_name_of_their_own(directory: MakeDirectory) -> None:
    okta, entra = directory(), directory("Entra")
    ada = okta.made("ada")
    web = okta.group("web", ada, externalId="g1")
    other = okta.group("ops")
    for text in (
        'displayName eq "web"',
        'externalId eq "g1"',
        f'members eq "{ada["id"]}"',
        f'id eq "{web["id"]}" and members.value eq "{ada["id"]}"',
    ):
        found = okta.scim("GET", "Groups", filter=text, excludedAttributes="members").json()
        assert [(each["id"], "members" in each) for each in found["Resources"]] == [(web["id"], False)], text
    assert entra.scim("GET", f"Groups/{web['id']}").status_code == 404
    assert entra.scim("DELETE", f"Groups/{web['id']}").status_code == 404
    taken = okta.scim("POST", "Groups", {"displayName": "web"})
    assert (taken.status_code, taken.json()["scimType"]) == (409, "uniqueness")
    assert (
        okta.patch_of(f"Groups/{other['id']}", {"op": "replace", "path": "displayName", "value": "web"}).status_code
        == 409
    )
    stranger = entra.made("eve")
    unknown = okta.patch_of(
        f"Groups/{web['id']}", {"op": "add", "path": "members", "value": [{"value": stranger["id"]}]}
    )
    assert unknown.status_code == 404
    assert ScimGroup.objects.get(pk=web["id"]).people.count() == 1


def test_a_group_has_a_most_of_members_and_many_cost_a_bounded_number_of_queries(
    directory: MakeDirectory,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    okta = directory(team_role="reader")
    crowd = [okta.made(f"p{number}") for number in range(12)]
    with django_assert_max_num_queries(30):
        okta.group("crowd", *crowd)
    assert Membership.objects.filter(team__name="crowd").count() == 12
    assert AuditEntry.objects.get(action="scim.members").details["added"] == [f"p{number}" for number in range(12)]
    monkeypatch.setattr(verbs, "MOST_MEMBERS", 11)
    members = [{"value": each["id"]} for each in crowd]
    assert okta.scim("POST", "Groups", {"displayName": "all", "members": members}).status_code == 409
