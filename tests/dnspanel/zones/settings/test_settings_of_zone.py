"""Settings of a zone: tags and team."""

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Membership, Role, Team, User
from dnspanel.zones.errors import RightMissing, SettingsRefused, Unknown
from dnspanel.zones.lists import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.settings.settings_of_zone import canonical_tags, change_settings, teams_to_choose_from
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person


@pytest.fixture
def web_team(db: None) -> Team:
    return Team.objects.create(name="Web ops", created_at=NOW)


def member_with(*grants: Grant) -> User:
    member = make_person("mia", Role.MEMBER)
    for grant in grants:
        GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    return member


def names_found(user: User, search: str) -> list[str]:
    return [row.name for row in queries.zone_page(user=user, search=search).rows]


def test_tags_and_team_are_stored_once_and_audited(zone: Zone, web_team: Team, alice: User) -> None:
    change_settings(zone=zone, tags=["Shop", "eu", "shop "], team=web_team, author=alice, now=NOW)
    stored = Zone.objects.get(pk=zone.pk)
    assert (stored.tags, stored.team) == (["eu", "shop"], web_team)
    entry = AuditEntry.objects.get(action="zone.settings")
    assert (entry.user, entry.target, entry.details["tags"]) == (alice, zone.name, ["eu", "shop"])
    change_settings(zone=zone, tags=["eu", "shop"], team=web_team, author=alice, now=NOW)
    assert AuditEntry.objects.filter(action="zone.settings").count() == 1


@pytest.mark.parametrize("wrong", ["two words", "ümlaut", "a" * 41, "a,b", "x\0y"])
def test_what_is_not_a_tag_is_refused(wrong: str) -> None:
    with pytest.raises(SettingsRefused, match="isn’t a valid tag"):
        canonical_tags(["fine", wrong])


def test_there_is_a_limit_of_tags() -> None:
    with pytest.raises(SettingsRefused, match="at most 50 tags"):
        canonical_tags(str(number) for number in range(51))


def test_settings_need_their_right(zone: Zone, charlie: User) -> None:
    with pytest.raises(RightMissing, match="settings"):
        change_settings(zone=zone, tags=["mine"], team=None, author=charlie, now=NOW)


def test_nobody_reaches_for_a_grant_by_setting_its_tag(zone: Zone) -> None:
    here = Grant(frozenset({Right.READ, Right.SETTINGS}), zones=frozenset({zone.pk}))
    member = member_with(here, Grant(EVERY_RIGHT, tags=frozenset({"shop"})))
    with pytest.raises(RightMissing):
        change_settings(zone=zone, tags=["shop"], team=None, author=member, now=NOW)
    change_settings(zone=zone, tags=["harmless"], team=None, author=member, now=NOW)


def test_a_member_gives_zones_only_to_own_teams(zone: Zone, web_team: Team, alice: User) -> None:
    member = member_with(Grant(EVERY_RIGHT, zones=frozenset({zone.pk})))
    with pytest.raises(SettingsRefused, match="Web ops"):
        change_settings(zone=zone, tags=[], team=web_team, author=member, now=NOW)
    Membership.objects.create(team=web_team, user=member, role=Role.EDITOR)
    member = User.objects.get(pk=member.pk)
    assert teams_to_choose_from(member) == [web_team]
    change_settings(zone=zone, tags=[], team=web_team, author=member, now=NOW)
    assert teams_to_choose_from(alice) == [web_team]
    assert teams_to_choose_from(None) == [web_team]


def test_a_zone_in_the_trash_has_no_settings(zone: Zone, alice: User) -> None:
    Zone.objects.filter(pk=zone.pk).update(deleted_at=NOW)
    with pytest.raises(Unknown):
        change_settings(zone=zone, tags=[], team=None, author=alice, now=NOW)


def test_the_search_finds_by_tag_and_team(make_zone: MakeZone, web_team: Team, alice: User) -> None:
    shop, _ = make_zone(name="shop.test."), make_zone(name="mail.test.")
    change_settings(zone=shop, tags=["eu", "shop"], team=web_team, author=alice, now=NOW)
    for search in ("tag:shop", "tag:eu tag:SHOP", 'team:"web OPS"', 'shop team:"Web ops"'):
        assert names_found(alice, search) == ["shop.test."]
    for search in ("tag:sho", "team:web", 'mail team:"Web ops"', "tag:"):
        assert names_found(alice, search) == []
    assert queries.zone_page(user=alice, search="tag:shop").rows[0].team == "Web ops"
