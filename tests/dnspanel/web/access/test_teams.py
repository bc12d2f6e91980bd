"""Pages of teams, and the page of a person with the person's rights and their sources."""

import pytest
from django.test import Client

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, User
from dnspanel.zones.models import Zone
from tests.dnspanel.web.conftest import YES, Browser, MakeZone
from tests.people import NOW, make_person


@pytest.fixture
def admin(browser: Browser, alice: User) -> Client:
    return browser(alice)


@pytest.fixture
def team(db: None) -> Team:
    return Team.objects.create(name="Web ops", created_at=NOW)


@pytest.fixture
def zone(make_zone: MakeZone, team: Team) -> Zone:
    zone = make_zone("www 300 A 192.0.2.1")
    Zone.objects.filter(pk=zone.pk).update(team=team)
    return zone


def test_a_team_is_made_and_listed_with_its_members_and_zones(admin: Client, zone: Zone, charlie: User) -> None:
    assert admin.post("/teams/new/", {"name": "Mail"}).status_code == 302
    taken = admin.post("/teams/new/", {"name": "mail"})
    assert taken.status_code == 422
    assert b"A team named mail already exists." in taken.content
    Membership.objects.create(team=zone.team or Team.objects.get(name="Web ops"), user=charlie, role=Role.READER)
    page = " ".join(admin.get("/teams/").content.decode().split())
    assert '<td class="num" data-label="Zones">1</td><td data-label="Members"><span>charlie' in page
    assert "none yet" in page


def test_members_come_change_and_go(admin: Client, team: Team, charlie: User) -> None:
    url = f"/teams/{team.pk}/member/"
    for role in ("reader", "editor"):
        admin.post(url, {"person": charlie.pk, "role": role, **YES})
        assert Membership.objects.get(team=team).role == role
    refused = admin.post(url, {"person": charlie.pk, "role": "emperor"}, follow=True)
    assert b"Nothing was changed." in refused.content
    assert "lose access to the team’s 0 zones" in admin.post(url, {"person": charlie.pk, "role": ""}).content.decode()
    admin.post(url, {"person": charlie.pk, "role": "", **YES})
    assert not Membership.objects.exists()
    for nobody in ("", "x", "²", "999999", "9" * 50):
        assert admin.post(url, {"person": nobody, "role": "reader"}).status_code == 404


def test_a_team_is_renamed_and_deleted_by_its_typed_name(admin: Client, team: Team, zone: Zone) -> None:
    admin.post(f"/teams/{team.pk}/rename/", {"name": "Web"})
    assert Team.objects.get().name == "Web"
    assert b"Nothing was changed." in admin.post(f"/teams/{team.pk}/rename/", {"name": " "}, follow=True).content
    admin.post(f"/teams/{team.pk}/delete/", {"typed": "Web ops"})
    assert Team.objects.exists()
    admin.post(f"/teams/{team.pk}/delete/", {"typed": "Web"})
    assert not Team.objects.exists()
    zone.refresh_from_db()
    assert zone.team is None
    assert admin.get(f"/teams/{team.pk}/").status_code == 404


def test_a_grant_is_given_to_a_person_and_taken_back(admin: Client, zone: Zone) -> None:
    mia = make_person("mia", Role.MEMBER)
    data = {"rights": ["read", "change"], "where": "some", "zones": "example.test", "names": "www"}
    assert admin.post(f"/people/{mia.pk}/grant/", data).status_code == 302
    row = GrantRow.objects.get(user=mia)
    page = admin.get(f"/people/{mia.pk}/").content.decode()
    assert "see records, change records" in page
    assert f"Grant {row.pk}" in page
    assert b"The grant no longer allows: see records, change records" in admin.post(f"/grants/{row.pk}/take/").content
    assert GrantRow.objects.exists()
    admin.post(f"/grants/{row.pk}/take/", YES)
    assert not GrantRow.objects.exists()
    assert admin.post(f"/grants/{row.pk}/take/").status_code == 404


def test_a_grant_to_a_team_shows_its_faults(admin: Client, team: Team, zone: Zone) -> None:
    url = f"/teams/{team.pk}/grant/"
    refused = admin.post(url, {"rights": ["read"], "where": "some", "zones": "nowhere.test"})
    assert refused.status_code == 422
    assert b"Zone not found: nowhere.test." in refused.content
    assert b'<details class="card-foot more" open>' in refused.content
    assert admin.post(url, {"rights": ["read"], "where": "all"}).status_code == 302
    assert GrantRow.objects.get().team == team


def test_the_tester_says_what_a_person_may_and_why(admin: Client, zone: Zone, team: Team) -> None:
    mia = make_person("mia", Role.MEMBER)
    Membership.objects.create(team=team, user=mia, role=Role.READER)
    grant = Grant(frozenset({Right.CHANGE}), zones=frozenset({zone.pk}), names=("www",))
    row = GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)

    def explanation(**query: str) -> str:
        return " ".join(admin.get(f"/people/{mia.pk}/", {"zone": "example.test", **query}).content.decode().split())

    assert f"</span> Grant {row.pk}</dd>" in explanation(name="www", type="A")
    assert f"</span> Grant {row.pk}</dd>" not in explanation(name="mail", type="A")
    assert "Reader in team Web ops" in explanation(name="mail")
    for wrong in ({"zone": "nowhere.test"}, {"name": "www.other.test."}, {"type": "NONSENSE"}):
        assert 'aria-invalid="true"' in explanation(**wrong)


def test_a_member_without_anything_is_said_to_see_nothing(admin: Client) -> None:
    page = admin.get(f"/people/{make_person('mia', Role.MEMBER).pk}/").content
    assert b"see any zones" in page


def test_an_unknown_person_is_not_there(admin: Client) -> None:
    assert admin.get("/people/999999/").status_code == 404
