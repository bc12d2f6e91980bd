"""The access checks of a zone."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Right, actor_of_token
from dnspanel.accounts.models import GrantRow, Membership, Role, Team, Token, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.rights import access
from dnspanel.zones.store import waiting_entries
from replication.dns.rrset import Change
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person


def test_everybody_with_an_account_reads_and_editors_edit(alice: User, bob: User, charlie: User, zone: Zone) -> None:
    for person in (alice, bob, charlie):
        assert access.zone_for_reading(person, ZONE) == zone
    for person in (alice, bob):
        assert access.zone_for_editing(person, ZONE) == zone
    assert [access.may_edit(person) for person in (alice, bob, charlie)] == [True, True, False]


def test_a_reader_who_edits_is_told_which_permission_lacks(charlie: User, zone: Zone) -> None:
    with pytest.raises(access.Forbidden, match="edit, publish, create and delete zones"):
        access.zone_for_editing(charlie, ZONE)


def test_a_stranger_learns_nothing(dora: AnonymousUser, zone: Zone) -> None:
    for check in (access.zone_for_reading, access.zone_for_editing):
        with pytest.raises(access.Unknown):
            check(dora, ZONE)
    assert not access.zones_visible_to(dora).exists()


def test_the_short_door_opens_what_the_others_open(
    alice: User, bob: User, charlie: User, dora: AnonymousUser, make_zone: MakeZone
) -> None:
    """The faster check uses the rights of the loaded zone instead of the database, with the same results."""
    tagged, of_team, other = (make_zone(name=name) for name in ("tagged.test.", "team.test.", "other.test."))
    team = Team.objects.create(name="ours", created_at=NOW)
    Zone.objects.filter(pk=tagged.pk).update(tags=["ours"])
    Zone.objects.filter(pk=of_team.pk).update(team=team)
    edit.delete_zone(zone=make_zone(name="gone.test."), acting=Acting(bob, "web", NOW))
    mia, paul = make_person("mia", Role.MEMBER), make_person("paul", Role.MEMBER)
    Membership.objects.create(team=team, user=mia, role=Role.READER)
    GrantRow.objects.create(
        user=paul, grant=Grant(frozenset({Right.READ, Right.ADD}), tags=frozenset({"ours"})).to_json(), created_at=NOW
    )
    GrantRow.objects.create(
        user=mia, grant=Grant(frozenset({Right.ADD}), zones=frozenset({other.pk})).to_json(), created_at=NOW
    )
    scope = [Grant(EVERY_RIGHT, zones=frozenset({other.pk}), types=frozenset({1})).to_json()]
    token = actor_of_token(Token(owner=alice, scope=scope))
    assert token is not None
    seen = {}
    for person in (alice, charlie, dora, mia, paul, token):
        visible = set(access.zones_visible_to(person).values_list("name", flat=True))
        found = set()
        for name in ("tagged.test.", "team.test.", "other.test.", "gone.test.", "none.test."):
            try:
                found.add(access.zone_alone(person, name).name)
            except access.Unknown:
                continue
        assert found == visible
        seen[str(getattr(person, "username", "token"))] = len(found)
    assert seen == {"alice": 3, "charlie": 3, "": 0, "mia": 1, "paul": 1, "token": 1}


def test_somebody_deactivated_is_a_stranger(bob: User, zone: Zone) -> None:
    bob.is_active = False
    assert not access.zones_visible_to(bob).exists()


def test_the_door_takes_a_name_as_people_type_it_and_refuses_nonsense(bob: User, zone: Zone) -> None:
    assert access.zone_for_reading(bob, "Example.Test") == zone
    for name in ("other.test.", "..", "a b"):
        with pytest.raises(access.Unknown):
            access.zone_for_reading(bob, name)


def test_a_deleted_zone_is_only_in_the_trash(bob: User, charlie: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    with pytest.raises(access.Unknown):
        access.zone_for_reading(bob, ZONE)
    assert access.trash_visible_to(bob).get() == zone
    assert access.trashed_zone_for_restoring(bob, zone.pk) == zone
    with pytest.raises(access.Forbidden):
        access.trashed_zone_for_restoring(charlie, zone.pk)
    with pytest.raises(access.Unknown):
        access.trashed_zone_for_restoring(bob, zone.pk + 1)


def test_a_zone_in_the_trash_says_so_to_who_may_know_of_it(make_zone: MakeZone, bob: User, charlie: User) -> None:
    """Previously the page said that the zone did not exist, so people created it again after deleting it by mistake."""
    first = make_zone()
    edit.delete_zone(zone=first, acting=Acting(bob, "web", NOW))
    second = make_zone()
    edit.delete_zone(zone=second, acting=Acting(bob, "web", NOW + timedelta(hours=2)))
    for person in (bob, charlie):
        with pytest.raises(access.InTrash, match=f"{ZONE} was moved to the trash on 20.* and can be restored") as found:
            access.zone_for_reading(person, "Example.test")
        assert (found.value.zone_id, found.value.deleted_at) == (second.pk, NOW + timedelta(hours=2))
        assert found.value.gone_at == NOW + timedelta(days=30, hours=2)
    with pytest.raises(access.Unknown) as hidden:
        access.zone_for_reading(make_person("mia", Role.MEMBER), ZONE)
    assert type(hidden.value) is access.Unknown
    assert str(hidden.value) == f"Zone not found: {ZONE}"


def test_a_name_is_looked_for_in_the_trash_by_an_index(bob: User) -> None:
    fill = """
        INSERT INTO zones_zone
            (name, sort_name, serial, revision, rrset_count, created_at, changed_at, sequence, deleted_at)
        SELECT made.name, made.name, 1, 1, 0, now(), now(), 0, now() FROM generate_series(1, 5000) n
        CROSS JOIN LATERAL (SELECT 'z' || n || '.estate.test.') AS made (name)"""
    # Pending index entries make the index look expensive. In a panel, the index maintenance has already merged them.
    with connection.cursor() as cursor:
        cursor.execute(fill)
        waiting_entries.sort_in(waiting_entries.NAMES_AND_TEXTS)
        cursor.execute("ANALYZE zones_zone")
    with CaptureQueriesContext(connection) as queries:
        assert isinstance(access.unknown_to(bob, "z77.estate.test."), access.InTrash)
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + queries.captured_queries[-1]["sql"])
        assert "zone_name_trigram" in "\n".join(row for (row,) in cursor.fetchall())


def test_a_member_finds_the_zones_of_teams_and_grants_and_no_others(make_zone: MakeZone) -> None:
    of_team, tagged, granted, other = (make_zone(name=f"{name}.test.") for name in ("team", "tag", "grant", "other"))
    mia = make_person("mia", Role.MEMBER)
    team = Team.objects.create(name="shop", created_at=NOW)
    Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    Zone.objects.filter(pk=of_team.pk).update(team=team)
    Zone.objects.filter(pk=tagged.pk).update(tags=["blue"])
    read, every = frozenset({Right.READ}), EVERY_RIGHT
    for grant in (Grant(read, tags=frozenset({"blue"})), Grant(every, zones=frozenset({granted.pk}), names=("www",))):
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    assert {zone.name for zone in access.zones_visible_to(mia)} == {"team.test.", "tag.test.", "grant.test."}
    with pytest.raises(access.Unknown):
        access.zone_for_reading(mia, other.name)
    with pytest.raises(access.Forbidden):
        access.zone_for_editing(mia, tagged.name)
    assert access.zone_for_editing(mia, granted.name) == granted
    assert access.zone_for(mia, of_team.name, Right.DELETE_ZONE) == of_team
    with pytest.raises(access.RightMissing, match=r"delete or restore the zone tag\.test"):
        access.zone_for(mia, tagged.name, Right.DELETE_ZONE)


def test_a_right_over_part_of_a_zone_changes_that_part_only(make_zone: MakeZone) -> None:
    zone = make_zone("www 60 A 192.0.2.1")
    mia = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("www", "*.www"), types=frozenset({1}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    www, mail = rr("www 60 A 192.0.2.2"), rr("mail 60 A 192.0.2.2")
    access.refuse_changes(mia, zone, [Change(www.name, 1, None, www)])
    access.refuse_changes(None, zone, [Change(mail.name, 1, None, mail)])
    access.refuse_changes(mia, zone, [Change(mail.name, 1, mail, mail)])  # nothing changes
    with pytest.raises(access.RightMissing, match=r"add A mail\.example\.test\. in example\.test\."):
        access.refuse_changes(mia, zone, [Change(www.name, 1, None, www), Change(mail.name, 1, None, mail)])
    with pytest.raises(access.RightMissing):
        draft.replace_rrset(author=mia, zone=zone, rrset=mail, now=NOW)
    assert draft.replace_rrset(author=mia, zone=zone, rrset=www, now=NOW) is not None


def test_new_zones_of_a_member_belong_to_the_team_that_allows_them(make_zone: MakeZone) -> None:
    mia = make_person("mia", Role.MEMBER)
    with pytest.raises(access.RightMissing):
        edit.create_zone(zone=edit.NewZone("new.test."), acting=Acting(mia, "web", NOW))
    one, two = (Team.objects.create(name=name, created_at=NOW) for name in ("one", "two"))
    Membership.objects.create(team=one, user=mia, role=Role.EDITOR)
    mia = User.objects.get(pk=mia.pk)
    edit.create_zone(zone=edit.NewZone("new.test."), acting=Acting(mia, "web", NOW))
    assert Zone.objects.get(name="new.test.").team == one
    with pytest.raises(access.RightMissing):
        edit.create_zone(zone=edit.NewZone("newer.test."), acting=Acting(mia, "web", NOW), team=two)
    Membership.objects.create(team=two, user=mia, role=Role.EDITOR)
    mia = User.objects.get(pk=mia.pk)
    with pytest.raises(access.RightMissing):  # the name is ambiguous
        edit.create_zone(zone=edit.NewZone("newer.test."), acting=Acting(mia, "web", NOW))
    edit.create_zone(zone=edit.NewZone("newer.test."), acting=Acting(mia, "web", NOW), team=two)


def test_a_token_sees_what_its_scope_lets_through(alice: User, zone: Zone) -> None:
    def visibility(*scope: Grant) -> access.Visibility | None:
        actor = actor_of_token(Token(owner=alice, scope=[grant.to_json() for grant in scope]))
        assert actor is not None
        return access.visibility_of(actor, zone)

    txt = Grant(frozenset({Right.READ}), everywhere=True, names=("_acme*",), types=frozenset({16}))
    assert access.visibility_of(alice, zone) is None
    assert visibility(Grant(frozenset({Right.READ}), everywhere=True), txt) is None
    limited = visibility(txt, Grant(frozenset({Right.READ}), zones=frozenset({zone.pk + 1})))
    assert limited is not None
    assert limited("_acme-challenge.example.test.", 16)
    assert not limited("www.example.test.", 16)
    assert not limited("_acme-challenge.example.test.", 1)
