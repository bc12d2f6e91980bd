"""A person's rights at a past time. They are certain only if nothing that determines them has changed since then."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Grant, Right, actor_of
from dnspanel.accounts.models import Role, Team, User
from dnspanel.accounts.people import people, teams
from dnspanel.accounts.rights import grant_edit, own_roles
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import rights_history
from dnspanel.zones.rights.rights_history import MOST, Since, rights_since
from dnspanel.zones.settings.settings_of_zone import change_settings
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

THEN, LATER = NOW + timedelta(hours=1), NOW + timedelta(hours=2)
READ = Grant(frozenset({Right.READ}), everywhere=True)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 60 A 192.0.2.1")


@pytest.fixture
def mia(alice: User) -> User:
    """Return a longtime member of the team Web who also has a custom role."""
    role = own_roles.create_role(name="Own", permissions=[], rights=[Right.READ], by=alice, now=NOW)
    mia = make_person("mia", Role.MEMBER)
    people.change_role(user=mia, role=Role.MEMBER, own_role=role, by=alice, now=NOW)
    web = teams.create_team(name="Web", by=alice, now=NOW)
    teams.set_member(team=web, user=mia, role="reader", by=alice, now=NOW)
    User.objects.filter(pk=mia.pk).update(date_joined=NOW)
    mia.refresh_from_db()
    return mia


def since(mia: User, zone: Zone, reader: User) -> Since:
    actor = actor_of(reader)
    assert actor is not None
    return rights_since(reader=actor, person=User.objects.get(pk=mia.pk), zone=zone, at=THEN)


def web() -> Team:
    return Team.objects.get(name="Web")


Act = Callable[[User, Zone, User], object]
CONCERN: dict[str, Act] = {
    "person.role": lambda mia, zone, by: people.change_role(user=mia, role=Role.EDITOR, by=by, now=LATER),
    "person.close": lambda mia, zone, by: people.deactivate(user=mia, by=by, now=LATER),
    "team.change": lambda mia, zone, by: teams.set_member(team=web(), user=mia, role="editor", by=by, now=LATER),
    "team.remove": lambda mia, zone, by: teams.remove_member(team=web(), user=mia, by=by, now=LATER),
    "team.delete": lambda mia, zone, by: teams.delete_team(team=web(), by=by, now=LATER),
    "team.rename": lambda mia, zone, by: teams.rename_team(team=web(), name="New", by=by, now=LATER),
    "grant.give": lambda mia, zone, by: grant_edit.give_grant(grant=READ, to=web(), by=by, now=LATER),
    "role.change": lambda mia, zone, by: own_roles.change_role(
        role=mia.own_role,
        name="Own",
        permissions=[],
        rights=[Right.READ, Right.CHANGE],
        by=by,
        now=LATER,  # type: ignore[arg-type]
    ),
    "zone.settings": lambda mia, zone, by: change_settings(zone=zone, tags=["x"], team=None, author=by, now=LATER),
}


@pytest.mark.parametrize("action", CONCERN)
def test_what_decides_it_makes_the_past_uncertain(action: str, mia: User, zone: Zone, alice: User) -> None:
    assert since(mia, zone, alice).is_certain
    CONCERN[action](mia, zone, alice)
    found = since(mia, zone, alice)
    assert not found.is_certain
    assert [act.action for act in found.acts] == [action]
    assert "1 relevant rights change has been made since" in found.words


def test_a_grant_to_a_team_that_was_left_since_counts(mia: User, zone: Zone, alice: User) -> None:
    row = grant_edit.give_grant(grant=READ, to=web(), by=alice, now=NOW)
    grant_edit.take_grant(row=row, by=alice, now=LATER)
    teams.remove_member(team=web(), user=mia, by=alice, now=LATER)
    assert [act.action for act in since(mia, zone, alice).acts] == ["team.remove", "grant.take"]


def test_what_is_about_others_leaves_it_certain(mia: User, zone: Zone, make_zone: MakeZone, alice: User) -> None:
    noah, other = make_person("noah", Role.MEMBER), make_zone(name="other.test.")
    team = teams.create_team(name="Other", by=alice, now=LATER)
    teams.set_member(team=team, user=noah, role="editor", by=alice, now=LATER)
    grant_edit.give_grant(grant=READ, to=team, by=alice, now=LATER)
    grant_edit.give_grant(grant=READ, to=noah, by=alice, now=LATER)
    people.change_role(user=noah, role=Role.EDITOR, by=alice, now=LATER)
    change_settings(zone=other, tags=["x"], team=None, author=alice, now=LATER)
    found = since(mia, zone, alice)
    assert found.is_certain
    assert "No relevant role, team, grant or setting has" in found.words


def test_the_acts_are_named_to_who_reads_the_audit_log(
    mia: User, zone: Zone, alice: User, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(MOST + 1):
        row = grant_edit.give_grant(grant=READ, to=mia, by=alice, now=LATER)
    reader = actor_of(mia)
    assert reader is not None
    with django_assert_num_queries(3):
        hidden = rights_since(reader=reader, person=mia, zone=zone, at=THEN)
    assert (hidden.acts, hidden.is_certain) == ((), False)
    found = since(mia, zone, alice)
    assert len(found.acts) == rights_history.MOST
    assert found.acts[0].details["grant"] == row.pk
    assert f"More than {MOST}" in found.words


def test_an_account_or_a_zone_that_is_younger_is_said(mia: User, zone: Zone, alice: User) -> None:
    Zone.objects.filter(pk=zone.pk).update(created_at=LATER)
    zone.refresh_from_db()
    assert "another zone with the same name might have" in since(mia, zone, alice).words
    User.objects.filter(pk=mia.pk).update(date_joined=LATER)
    found = since(mia, zone, alice)
    assert not found.is_certain
    assert found.words == "mia didn’t have an account then."
