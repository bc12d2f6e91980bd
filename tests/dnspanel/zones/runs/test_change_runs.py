"""Jobs that change many zones alike: dry run, actual run, cancellation, resumption and undo."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right, actor_of_token
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_queries import own_policy_of
from dnspanel.zones.errors import ChangeRunUnknown, Forbidden, MassDeletion, RunRefused, SettingsRefused
from dnspanel.zones.models import ChangeRun, Channel, LogHead, Publication, RunState, Zone, ZoneAct
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import edit
from dnspanel.zones.runs import change_runs, run_turns
from dnspanel.zones.runs.change_run_queries import may_be_undone, run_for
from dnspanel.zones.runs.change_runs import Alike, cancel_run, create_run, start_run, undo_run, work_on_run
from dnspanel.zones.signing.policies import Target, attach, create_policy
from dnspanel.zones.tasks import drive_runs, run_changes
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

TAGS = Alike(ZoneAct.ADD_TAGS, ("eu",))
DELETE = Alike(ZoneAct.DELETE, reason="not needed")


@pytest.fixture
def zones(make_zone: MakeZone) -> list[Zone]:
    found = [make_zone("www 300 A 192.0.2.1", name=f"shop{number}.test.") for number in range(5)]
    make_zone(name="other.test.")
    Zone.objects.filter(pk=found[0].pk).update(tags=["eu", "old"])
    return found


def worked(run: ChangeRun, *, batch: int = 2) -> ChangeRun:
    """Work on the run in batches until it ends, and return it."""
    while work_on_run(run.pk, batch=batch, seconds=0):
        pass
    return ChangeRun.objects.get(pk=run.pk)


def dry(alike: Alike, by: User, search: str = "shop") -> ChangeRun:
    return worked(create_run(alike=alike, by=by, now=NOW, search=search))


def done(alike: Alike, by: User, search: str = "shop") -> ChangeRun:
    return worked(start_run(dry_run=dry(alike, by, search), by=by, now=NOW, confirmed=True))


def undone(run: ChangeRun, by: User) -> ChangeRun:
    return worked(undo_run(run=run, by=by, now=NOW))


def tags() -> list[list[str]]:
    return list(Zone.objects.order_by("pk").values_list("tags", flat=True))


def alive() -> list[str]:
    return list(Zone.objects.filter(deleted_at=None).order_by("name").values_list("name", flat=True))


def test_a_dry_run_changes_nothing_and_the_run_is_over_what_it_found(
    zones: list[Zone], make_zone: MakeZone, bob: User
) -> None:
    before = tags()
    run = dry(TAGS, bob)
    assert (run.state, run.done, run.total, run.counts) == (RunState.DONE, 5, 5, {"change": 4, "same": 1})
    assert tags() == before
    make_zone(name="shop9.test.")  # was not in the dry run
    run = worked(start_run(dry_run=run, by=bob, now=NOW))
    assert run.counts == {"change": 4}
    assert tags() == [["eu", "old"], ["eu"], ["eu"], ["eu"], ["eu"], [], []]
    assert AuditEntry.objects.filter(action="zone.settings").count() == 4
    assert AuditEntry.objects.filter(action="zone.run").count() == 1
    assert {row.zone_name for row in run.zones.all()} == {f"shop{number}.test." for number in range(1, 5)}


def test_a_run_is_taken_back_but_for_what_others_changed_since(zones: list[Zone], bob: User) -> None:
    removal = done(Alike(ZoneAct.REMOVE_TAGS, ("eu", "old")), bob)
    assert removal.counts == {"change": 1}
    run = done(TAGS, bob)
    assert run.counts == {"change": 5}
    Zone.objects.filter(pk=zones[1].pk).update(tags=["eu", "meanwhile"])
    Zone.objects.filter(pk=zones[2].pk).update(tags=[])
    back = undone(run, bob)
    assert back.counts == {"change": 4, "same": 1}
    assert tags() == [[], ["meanwhile"], [], [], [], []]
    assert undone(removal, bob).counts == {"change": 1}
    assert tags()[0] == ["eu", "old"]
    assert not may_be_undone(back)
    with pytest.raises(RunRefused):
        undo_run(run=back, by=bob, now=NOW)


def test_zones_go_to_a_team_and_back_unless_somebody_moved_them_on(zones: list[Zone], alice: User) -> None:
    web, shop = (Team.objects.create(name=name, created_at=NOW) for name in ("web", "shop"))
    Zone.objects.filter(pk=zones[0].pk).update(team=shop)
    run = done(Alike(ZoneAct.TEAM, team=web), alice)
    assert run.counts == {"change": 5}
    assert Zone.objects.filter(team=web).count() == 5
    Zone.objects.filter(pk=zones[1].pk).update(team=shop)
    assert undone(run, alice).counts == {"change": 4, "same": 1}
    assert list(Zone.objects.filter(team=shop).order_by("pk").values_list("pk", flat=True)) == [
        zones[0].pk,
        zones[1].pk,
    ]
    assert not Zone.objects.filter(team=web).exists()


def test_zones_are_deleted_in_batches_as_they_were_seen_and_restored_as_one(
    zones: list[Zone], alice: User, bob: User
) -> None:
    found = dry(DELETE, alice)
    Zone.objects.filter(pk=zones[1].pk).update(revision=7)  # another person has published since
    run = worked(start_run(dry_run=found, by=alice, now=NOW, confirmed=True))
    assert run.counts == {"change": 4, "refused": 1}
    assert alive() == ["other.test.", "shop1.test."]
    assert Publication.objects.filter(reason=f"not needed (run {run.pk})").count() == 3
    assert run.last_sequence == Publication.objects.latest("sequence").sequence
    [refused] = run.zones.filter(outcome="refused")
    assert (refused.zone_name, "changed in the meantime" in refused.message) == ("shop1.test.", True)
    edit.restore_zone(zone=Zone.objects.get(pk=zones[0].pk), author=alice, channel=Channel.WEB, now=NOW)
    assert undone(run, alice).counts == {"change": 3, "same": 1}
    assert len(alive()) == 6


def test_zones_of_the_trash_come_back_in_batches_and_go_again(
    zones: list[Zone], make_zone: MakeZone, alice: User
) -> None:
    done(DELETE, alice)
    older = Zone.objects.exclude(deleted_at=None).get(name="shop1.test.")
    newer = make_zone(name="shop1.test.")
    edit.delete_zone(zone=newer, acting=Acting(alice, Channel.WEB, timezone.now() + timedelta(hours=1)))
    make_zone(name="shop3.test.")
    restoring = Alike(ZoneAct.RESTORE, reason="not meant")
    found = dry(restoring, alice)
    assert found.counts == {"change": 4, "refused": 1}
    before = Publication.objects.count()
    run = worked(start_run(dry_run=found, by=alice, now=NOW))
    assert run.counts == {"change": 4}
    assert Publication.objects.count() - before == 2  # batches of two
    assert Publication.objects.filter(reason=f"not meant (run {run.pk})").count() == 2
    assert Zone.objects.get(name="shop1.test.", deleted_at=None).pk == newer.pk
    assert Zone.objects.get(pk=older.pk).deleted_at is not None
    Zone.objects.filter(pk=newer.pk).update(revision=9)  # another person has published since
    assert undone(run, alice).counts == {"change": 3, "same": 1}
    assert "shop1.test." in alive()


def test_what_cannot_be_restored_is_said(zones: list[Zone], make_zone: MakeZone, alice: User) -> None:
    run = done(DELETE, alice)
    make_zone(name="shop3.test.")
    back = undone(run, alice)
    assert back.counts == {"change": 4, "refused": 1}
    assert "shop3.test." in back.zones.get(outcome="refused").message


def test_a_policy_is_given_and_taken_back(zones: list[Zone], alice: User) -> None:
    old, new, later = (
        create_policy(name=name, terms=Terms(), is_default=False, by=alice, now=NOW) for name in ("old", "new", "later")
    )
    attach(policy=old, to=Target(zone=zones[0]), by=alice, now=NOW)
    attach(policy=new, to=Target(zone=zones[4]), by=alice, now=NOW)
    alike = Alike(ZoneAct.POLICY, policy=new)
    assert dry(alike, alice).counts == {"change": 4, "same": 1}
    run = done(alike, alice)
    assert {own_policy_of(zone) for zone in zones} == {new}
    attach(policy=later, to=Target(zone=zones[1]), by=alice, now=NOW)
    assert undone(run, alice).counts == {"change": 3, "same": 1}
    assert [own_policy_of(zone) for zone in zones] == [old, later, None, None, new]
    none = done(Alike(ZoneAct.POLICY), alice)
    assert none.counts == {"change": 3}
    assert {own_policy_of(zone) for zone in zones} == {None}


def test_zones_by_name_and_rights_zone_by_zone(zones: list[Zone], alice: User) -> None:
    mia = make_person("mia", Role.MEMBER)
    with pytest.raises(Forbidden):
        create_run(alike=TAGS, by=mia, now=NOW)
    for right, zone in ((Right.SETTINGS, zones[1]), (Right.READ, zones[2])):
        grant = Grant(frozenset({right, Right.READ}), zones=frozenset({zone.pk}))
        GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    mia = User.objects.get(pk=mia.pk)
    names = [zone.name for zone in zones]
    run = worked(create_run(alike=TAGS, by=mia, now=NOW, names=names))
    assert run.counts == {"change": 1, "refused": 1}
    run = worked(start_run(dry_run=run, by=mia, now=NOW))
    GrantRow.objects.filter(user=mia).delete()
    assert tags().count(["eu"]) == 1
    with pytest.raises(Forbidden):
        undo_run(run=run, by=User.objects.get(pk=mia.pk), now=NOW)
    with pytest.raises(RunRefused):
        create_run(alike=TAGS, by=alice, now=NOW, names=["x.test."] * (change_runs.MOST_NAMED + 1))


def test_who_lost_every_right_meanwhile_ends_the_run(zones: list[Zone], alice: User) -> None:
    mia = make_person("mia", Role.EDITOR)
    found = dry(TAGS, mia)
    run = start_run(dry_run=found, by=mia, now=NOW)
    User.objects.filter(pk=mia.pk).update(role=Role.READER)
    run = worked(run)
    assert (run.state, run.counts) == (RunState.FAILED, {})
    assert "You don’t have permission" in run.failure
    assert tags().count(["eu"]) == 0


def test_a_run_is_cancelled_after_its_batch_and_what_it_did_is_taken_back(zones: list[Zone], bob: User) -> None:
    run = start_run(dry_run=dry(TAGS, bob), by=bob, now=NOW)
    assert work_on_run(run.pk, batch=2, seconds=0)
    cancel_run(run=run, by=bob, now=NOW)
    run = worked(run)
    assert (run.state, run.counts) == (RunState.CANCELLED, {"change": 2})
    assert tags().count(["eu"]) == 2
    assert undone(run, bob).counts == {"change": 2}
    assert tags().count(["eu"]) == 0


def test_a_killed_worker_s_batch_is_repeated_and_not_another(
    zones: list[Zone], bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start_run(dry_run=dry(TAGS, bob), by=bob, now=NOW)
    advance = change_runs.run_turns.advance
    monkeypatch.setattr(change_runs.run_turns, "advance", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        work_on_run(run.pk, batch=2)
    assert tags().count(["eu"]) == 0  # both are saved, or neither
    monkeypatch.setattr(change_runs.run_turns, "advance", advance)
    assert worked(run).counts == {"change": 4}


def test_a_team_s_quota_ends_the_run_and_says_so(zones: list[Zone], alice: User) -> None:
    web = Team.objects.create(name="web", created_at=NOW, quotas={"zones": 1})
    run = done(Alike(ZoneAct.TEAM, team=web), alice)
    assert run.state == RunState.FAILED
    assert "web" in run.failure


def test_a_mass_deletion_waits_for_somebody_who_confirms_it(
    zones: list[Zone], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 2)
    found = dry(DELETE, alice)
    with pytest.raises(MassDeletion):
        start_run(dry_run=found, by=alice, now=NOW)
    assert worked(start_run(dry_run=found, by=alice, now=NOW, confirmed=True)).counts == {"change": 5}


def test_the_tasks_find_runs_and_finish_them(zones: list[Zone], bob: User) -> None:
    run = create_run(alike=TAGS, by=bob, now=NOW, search="shop")
    drive_runs()
    run_changes(run.pk)
    run_changes(run.pk)
    run.refresh_from_db()
    assert (run.state, run.counts) == (RunState.DONE, {"change": 4, "same": 1})


def test_nothing_is_done_while_publishing_is_held(zones: list[Zone], bob: User) -> None:
    run = start_run(dry_run=dry(TAGS, bob), by=bob, now=NOW)
    LogHead.objects.update(held_reason="Nodes hold more.", held_since=NOW)
    assert run_turns.unfinished_ids(ChangeRun) == []
    assert not work_on_run(run.pk)
    assert tags().count(["eu"]) == 0


def test_a_search_that_cannot_be_answered_yet_ends_the_run_and_says_so(zones: list[Zone], bob: User) -> None:
    run = dry(TAGS, bob, "has:warning")
    assert (run.state, "zones have been checked" in run.failure) == (RunState.FAILED, True)


def test_only_its_author_sees_a_run_and_a_token_its_own(zones: list[Zone], alice: User, bob: User) -> None:
    terms = TokenTerms("tagging", (Grant(frozenset({Right.SETTINGS, Right.READ}), everywhere=True),))
    created = create_token(owner=alice, terms=terms, by=alice, now=NOW)
    actor = actor_of_token(created.token)
    assert actor is not None
    run = create_run(alike=TAGS, by=actor, now=NOW, search="shop")
    assert worked(run).counts == {"change": 4, "same": 1}
    assert run_for(alice, run.pk) == run_for(actor, run.pk) == run
    with pytest.raises(ChangeRunUnknown):
        run_for(bob, run.pk)
    mine = dry(TAGS, alice)
    with pytest.raises(ChangeRunUnknown):
        run_for(actor, mine.pk)


def test_what_cannot_be_asked_for_is_refused(zones: list[Zone], alice: User, bob: User) -> None:
    with pytest.raises(SettingsRefused):
        create_run(alike=replace(TAGS, tags=()), by=bob, now=NOW)
    waiting = create_run(alike=TAGS, by=bob, now=NOW)
    with pytest.raises(RunRefused):
        start_run(dry_run=waiting, by=bob, now=NOW)
    with pytest.raises(RunRefused):
        undo_run(run=worked(waiting), by=bob, now=NOW)
    assert run_turns.unfinished_ids(ChangeRun) == []
