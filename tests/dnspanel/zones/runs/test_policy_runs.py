"""Jobs that apply policies to zones. Tests `signing.policy_apply` and `runs.run_turns` too."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.dispatch import Signal
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import AuditEntry, GrantRow, Token, User
from dnspanel.accounts.people import teams
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import policy_queries, queries
from dnspanel.zones.dnssec.policy import Act, Terms
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.errors import DnssecRefused, Forbidden, RunRefused, RunUnknown
from dnspanel.zones.models import (
    Channel,
    DnssecPolicy,
    LogHead,
    PolicyRun,
    Publication,
    Rollover,
    RunState,
    Signing,
    SigningChange,
    Zone,
    ZoneKey,
)
from dnspanel.zones.publishing import edit, ready_zones
from dnspanel.zones.runs import policy_runs, run_turns
from dnspanel.zones.signing import automatic, policies, policy_apply, rollovers, sign
from dnspanel.zones.signing.policies import Target
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.tasks import drive_runs, run_policies
from replication.codec.dnssec import Nsec3
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 300
TERMS = Terms(nsec3=Nsec3(), cds="2", cdnskey=True)


@pytest.fixture(autouse=True)
def rooms(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the senders of requests for room between batches. Only this fixture's receiver answers them."""
    monkeypatch.setattr(run_turns, "room_requested", Signal())
    senders: list[object] = []

    def receiver(*, sender: object, **_: object) -> bool:
        senders.append(sender)
        return len(senders) < 3

    run_turns.room_requested.connect(receiver, weak=False)
    return senders


@pytest.fixture
def policy(alice: User) -> DnssecPolicy:
    return policies.create_policy(name="Standard", terms=TERMS, is_default=True, by=alice, now=NOW)


def create_many(author: User, count: int = MANY) -> None:
    """Create `count` zones in one publication."""
    apex = (
        "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600",
        "@ 3600 NS ns1.example.net.",
    )
    ids = ready_zones.allocate_zone_ids(count)
    names = [f"zone{number:03}.test." for number in range(count)]
    rows = (
        store_rrsets.rows_of_zone(id, name, [rr(line, origin=name) for line in apex])
        for id, name in zip(ids, names, strict=True)
    )
    ready_zones.create_ready_zones(
        zones=[ready_zones.BulkZone(id, name, 1, 2) for id, name in zip(ids, names, strict=True)],
        rows=lambda: rows,
        acting=Acting(author, Channel.WEB, NOW),
    )


def begin(by: User, *, dry_run: bool = False, policy: DnssecPolicy | None = None, search: str = "") -> PolicyRun:
    return policy_runs.create_run(by=by, now=NOW, dry_run=dry_run, policy=policy, search=search)


def finished(run: PolicyRun, **options: int) -> PolicyRun:
    assert not policy_runs.work_on_run(run.pk, **options)  # type: ignore[arg-type]
    run.refresh_from_db()
    return run


def found(run: PolicyRun) -> set[tuple[str, str]]:
    return set(run.zones.values_list("zone_name", "act"))


def test_a_dry_run_counts_and_changes_nothing(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    before = Publication.objects.count()
    run = finished(begin(alice, dry_run=True))
    assert (run.state, run.total, run.done, run.counts) == (RunState.DONE, 1, 1, {"sign": 1})
    assert found(run) == {(zone.name, "sign")}
    assert (Publication.objects.count(), ZoneKey.objects.count()) == (before, 0)


def test_many_zones_are_signed_in_few_publications_though_the_worker_dies(
    policy: DnssecPolicy, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_many(alice)
    before = Publication.objects.count()
    run = begin(alice)
    advance = policy_runs._advance

    def dies_in_the_third_batch(*args: Any) -> None:
        advance(*args)
        if args[0].done == 200:
            raise OperationalError("terminating connection due to administrator command")

    with monkeypatch.context() as patch:
        patch.setattr(policy_runs, "_advance", dies_in_the_third_batch)
        with pytest.raises(OperationalError):
            policy_runs.work_on_run(run.pk, batch=100)
    run.refresh_from_db()
    assert (run.state, run.done, Signing.objects.filter(is_signed=True).count()) == (RunState.RUNNING, 200, 200)
    assert run_turns.unfinished_ids(PolicyRun) == [run.pk]
    finished(run, batch=100)
    assert (run.state, run.done, run.counts) == (RunState.DONE, MANY, {"sign": MANY})
    assert Publication.objects.count() == before + 3
    assert run.last_sequence == Publication.objects.latest("sequence").sequence
    assert ZoneKey.objects.count() == SigningChange.objects.count() == MANY
    assert AuditEntry.objects.filter(action="dnssec.policy").count() == MANY
    one = Zone.objects.get(name="zone007.test.")
    state = queries.signing_of(one)
    assert (state.nsec3, state.cds, state.cdnskey) == (Nsec3(), "2", True)
    assert [key.id for key in state.keys] == [key.id for key in queries.keys_of(one)]
    assert "PrivateKey" in queries.private_text(zone=one, key_id=state.keys[0].id, person=alice)
    assert finished(begin(alice)).counts == {"same": MANY}
    assert Publication.objects.count() == before + 3


def test_the_number_of_queries_does_not_depend_on_the_number_of_zones(policy: DnssecPolicy, alice: User) -> None:
    create_many(alice, 60)
    few = queries_of(begin(alice, search="zone00"))
    assert queries_of(begin(alice)) <= few


def queries_of(run: PolicyRun) -> int:
    with CaptureQueriesContext(connection) as capture:
        policy_runs.work_on_run(run.pk)
    run.refresh_from_db()
    assert run.counts["sign"] >= 10
    # The master key's fingerprint is read again when it is five seconds old, in whichever run that is.
    return sum("accounts_masterkey" not in str(query["sql"]) for query in capture)


def test_zones_whose_first_ds_is_awaited_are_counted_and_cost_no_more(alice: User) -> None:
    terms = Terms(cds="2", first_ds=True)
    policy = policies.create_policy(name="First", terms=terms, is_default=True, by=alice, now=NOW)
    create_many(alice, 60)
    few = queries_of(begin(alice, search="zone00"))
    assert queries_of(begin(alice)) <= few + 2, "how those that are signed by now are, and what is above them"
    assert not Rollover.objects.exists(), "it begins later"
    for dry_run in (True, False):
        assert finished(begin(alice, dry_run=dry_run)).counts == {"first-ds": 60}
    assert automatic.begin_first_ds(now=NOW, most=20) == 20
    assert automatic.begin_first_ds(now=NOW) == 40
    assert Rollover.objects.filter(kind="secure", started_by=None).count() == 60
    assert finished(begin(alice, policy=policy)).counts == {"refused": 60}


def test_batches_give_way_to_edits_while_somebody_has_room(
    policy: DnssecPolicy, alice: User, rooms: list[object]
) -> None:
    create_many(alice, 20)
    assert finished(begin(alice), batch=2).counts == {"sign": 20}
    assert rooms == [Publication] * 3
    finished(begin(alice, dry_run=True), batch=2)
    assert len(rooms) == 3


def test_each_zone_becomes_what_its_own_policy_says(make_zone: MakeZone, policy: DnssecPolicy, alice: User) -> None:
    zones = {name: make_zone(name=f"{name}.test.") for name in ("new", "old", "other", "hidden")}
    acting = Acting(alice, Channel.WEB, NOW)
    sign.sign(zones=[zones["old"]], acting=acting)
    sign.sign(zones=[zones["other"]], acting=acting, algorithm=15, nsec3=Nsec3())
    sign.add_key(zone=zones["hidden"], acting=acting, active=False)
    narrow = policies.create_policy(name="n", terms=Terms(split=True, nsec3=Nsec3(narrow=True)), by=alice, now=NOW)
    policies.attach(policy=narrow, to=Target(zone=zones["new"]), by=alice, now=NOW)
    dry = finished(begin(alice, dry_run=True))
    counts = {"sign": 1, "denial": 1, "cds": 2, "rollover": 1, "refused": 1}
    assert dry.counts == counts
    run = finished(policy_runs.start_run(dry_run=dry, by=alice, now=NOW))
    assert (run.counts, found(run), run.dry_run_of) == (counts, found(dry), dry)
    assert ("hidden.test.", "refused") in found(run)
    assert len(queries.keys_of(zones["new"])) == 2
    assert queries.signing_of(zones["old"]).metadata.keys() == {"NSEC3PARAM", "PUBLISH-CDS", "PUBLISH-CDNSKEY"}
    again = finished(begin(alice))
    assert again.counts == {"same": 2, "rollover": 1, "refused": 1}


def test_a_change_between_two_chains_of_nsec3_is_counted_once(
    make_zone: MakeZone, policy: DnssecPolicy, alice: User
) -> None:
    salted, new = make_zone(name="salted.test."), make_zone(name="new.test.")
    sign.sign(zones=[salted], acting=Acting(alice, Channel.WEB, NOW), nsec3=Nsec3(5, b"\xab"))
    before = Publication.objects.count()
    run = finished(begin(alice))
    assert (run.counts, Publication.objects.count()) == ({"denial": 1, "cds": 1, "sign": 1}, before + 2)
    assert [queries.signing_of(zone).nsec3 for zone in (salted, new)] == [Nsec3(), Nsec3()]


def test_only_the_zones_of_the_policy_and_of_the_search_are_taken(
    make_zone: MakeZone, policy: DnssecPolicy, alice: User
) -> None:
    for name in ("a", "b", "ab"):
        make_zone(name=f"{name}.test.")
    own = policies.create_policy(name="own", terms=Terms(), by=alice, now=NOW)
    policies.attach(policy=own, to=Target(zone=Zone.objects.get(name="b.test.")), by=alice, now=NOW)
    assert found(finished(begin(alice, dry_run=True, policy=own))) == {("b.test.", "sign")}
    assert finished(begin(alice, dry_run=True, policy=policy)).total == 2
    assert finished(begin(alice, dry_run=True, policy=policy, search="b")).total == 1
    assert finished(begin(alice, dry_run=True, search="b")).total == 2


def test_zones_without_a_policy_and_without_the_right_stay_as_they_are(
    make_zone: MakeZone, alice: User, charlie: User
) -> None:
    first, second = make_zone(name="first.test."), make_zone(name="second.test.")
    make_zone(name="third.test.")
    policy = policies.create_policy(name="own", terms=Terms(), by=alice, now=NOW)
    for zone in (first, second):
        policies.attach(policy=policy, to=Target(zone=zone), by=alice, now=NOW)
    grant = Grant(frozenset({Right.READ, Right.DNSSEC}), zones=frozenset({first.pk}))
    GrantRow.objects.create(user=charlie, grant=grant.to_json(), created_at=NOW)
    run = finished(begin(User.objects.get(pk=charlie.pk)))
    assert run.counts == {"sign": 1, "refused": 1, "no-policy": 1}
    assert list(Signing.objects.filter(is_signed=True).values_list("zone__name", flat=True)) == ["first.test."]
    assert run.zones.get(act="refused").message == "You don’t have permission to sign second.test or change its keys."


def test_who_may_sign_nothing_begins_nothing(zone: Zone, policy: DnssecPolicy, charlie: User) -> None:
    with pytest.raises(Forbidden):
        begin(charlie)
    assert not PolicyRun.objects.exists()


def test_a_run_is_cancelled_between_two_batches(policy: DnssecPolicy, alice: User) -> None:
    create_many(alice, 20)
    run = begin(alice)
    assert policy_runs.work_on_run(run.pk, batch=10, seconds=0)
    policy_runs.cancel_run(run=run, by=alice, now=NOW)
    finished(run)
    assert (run.state, run.done, Signing.objects.count()) == (RunState.CANCELLED, 10, 10)
    with pytest.raises(RunRefused):
        policy_runs.cancel_run(run=run, by=alice, now=NOW)


def test_a_batch_whose_run_was_cancelled_meanwhile_publishes_nothing(
    zone: Zone, policy: DnssecPolicy, alice: User
) -> None:
    run = begin(alice)
    stale = PolicyRun.objects.select_related("author", "token", "policy").get(pk=run.pk)
    PolicyRun.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    stale.state = RunState.RUNNING
    policy_runs.cancel_run(run=run, by=alice, now=NOW)
    with pytest.raises(run_turns.Stopped):
        policy_runs._take_batch(stale, 10, None)
    assert not Signing.objects.exists()


def test_a_changed_policy_stops_the_run_and_outdates_the_dry_run(policy: DnssecPolicy, alice: User) -> None:
    create_many(alice, 20)
    dry, run = finished(begin(alice, dry_run=True)), begin(alice)
    assert policy_runs.work_on_run(run.pk, batch=10, seconds=0)
    policies.attach(policy=policy, to=Target(tag="web"), by=alice, now=NOW)
    finished(run)
    assert (run.state, run.done) == (RunState.FAILED, 10)
    assert "changed in the meantime" in run.failure
    with pytest.raises(RunRefused, match="A policy, its tags or its teams have changed since"):
        policy_runs.start_run(dry_run=dry, by=alice, now=NOW)
    with pytest.raises(RunRefused, match="Only a finished dry run"):
        policy_runs.start_run(dry_run=run, by=alice, now=NOW)


def test_a_run_ends_when_its_author_may_do_nothing_any_more(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    actor = token_actor(alice, Grant(frozenset({Right.READ, Right.DNSSEC}), everywhere=True))
    runs = [policy_runs.create_run(by=actor, now=NOW, dry_run=False) for _ in range(2)]
    Token.objects.update(revoked_at=NOW)
    assert finished(runs[0]).state == RunState.FAILED
    PolicyRun.objects.filter(pk=runs[1].pk).update(token=None)
    assert finished(runs[1]).state == RunState.FAILED
    assert not Signing.objects.exists()


def test_the_same_form_twice_is_one_run_and_many_at_once_are_refused(policy: DnssecPolicy, alice: User) -> None:
    form_id = uuid4()
    runs = [policy_runs.create_run(by=alice, now=NOW, form_id=form_id) for _ in range(2)]
    assert runs[0] == runs[1]
    for _ in range(run_turns.MOST_UNFINISHED - 1):
        begin(alice)
    with pytest.raises(RunRefused, match="Wait until one finishes, or cancel one"):
        begin(alice)


def test_one_sees_ones_own_runs_and_who_changes_policies_all(zone: Zone, policy: DnssecPolicy, charlie: User) -> None:
    team = teams.create_team(name="Web", by=None, now=NOW)
    grant = Grant(frozenset({Right.READ, Right.DNSSEC}), teams=frozenset({team.pk}))
    GrantRow.objects.create(user=charlie, grant=grant.to_json(), created_at=NOW)
    someone = User.objects.get(pk=charlie.pk)
    own, other = begin(someone, dry_run=True), policy_runs.create_run(by=None, now=NOW)
    assert list(policy_runs.runs_visible_to(someone)) == [own]
    assert policy_runs.run_for(someone, own.pk) == own
    with pytest.raises(RunUnknown):
        policy_runs.run_for(someone, other.pk)
    alice = User.objects.get(username="alice")
    assert set(policy_runs.runs_visible_to(alice)) == {own, other}


def test_rollovers_begin_by_themselves_where_the_policy_says_so(
    make_zone: MakeZone, policy: DnssecPolicy, alice: User
) -> None:
    zones = [make_zone(name=f"{name}.test.") for name in ("first", "second", "third")]
    sign.sign(zones=zones, acting=Acting(alice, Channel.WEB, NOW), algorithm=15)
    terms = Terms(automatic=True)
    policies.change_policy(policy=policy, name="auto", terms=terms, is_default=True, by=alice, now=NOW)
    by_hand = policies.create_policy(name="by hand", terms=Terms(), by=alice, now=NOW)
    policies.attach(policy=by_hand, to=Target(zone=zones[2]), by=alice, now=NOW)
    begun = []

    def begin_rollover(zone: Zone, kind: Kind, acting: Acting, algorithm: int | None) -> None:
        if zone == zones[1]:
            raise DnssecRefused("One is under way.")
        begun.append((zone.name, kind, algorithm, acting.author and acting.author.user))

    run = begin(alice)
    assert not policy_runs.work_on_run(run.pk, begin_rollover=begin_rollover)
    run.refresh_from_db()
    assert begun == [("first.test.", Kind.ALGORITHM, 13, alice)]
    assert (run.state, run.counts) == (RunState.DONE, {"rollover": 2, "refused": 1})


def test_what_rollovers_publish_that_a_run_begins_is_published_by_the_run(
    zone: Zone, policy: DnssecPolicy, alice: User
) -> None:
    # The run learns that the canary has refused one of its publications.
    sign.sign(zones=[zone], acting=Acting(alice, Channel.WEB, NOW), algorithm=15)
    terms = Terms(automatic=True)
    policies.change_policy(policy=policy, name="auto", terms=terms, is_default=True, by=alice, now=NOW)
    run = begin(alice)
    assert not policy_runs.work_on_run(run.pk, begin_rollover=automatic.begin_rollover)
    run.refresh_from_db()
    zone.refresh_from_db()
    assert run.sequences == [zone.sequence]


def test_zones_follow_their_policies_without_a_run_too(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    applied = policy_queries.applied_to_zones([zone])
    applying = policy_apply.Applying(Acting(alice, Channel.WEB, NOW, form_id=uuid4()))
    for _ in range(2):
        publications, findings = policy_apply.follow_policies(zones=[zone], applied=applied, applying=applying)
        assert len(publications) <= 1
    assert findings[zone.pk] == []
    assert len(queries.keys_of(zone)) == 1
    made = policy_queries.keys_made_at([zone.pk])[zone.pk]
    assert list(made.values()) == [NOW]


def test_a_zone_that_is_gone_is_no_reason_to_stop(policy: DnssecPolicy, alice: User, make_zone: MakeZone) -> None:
    gone, kept = make_zone(name="gone.test."), make_zone(name="kept.test.")
    run = begin(alice, dry_run=True)
    edit.delete_zone(zone=gone, acting=Acting(alice, Channel.WEB, NOW + timedelta(minutes=1)))
    assert found(finished(run)) == {(kept.name, "sign")}


def test_the_tasks_find_runs_and_finish_them(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    run = begin(alice)
    drive_runs()
    run_policies(run.pk)
    run_policies(run.pk)
    run.refresh_from_db()
    assert (run.state, run.counts) == (RunState.DONE, {Act.SIGN: 1})


def test_nothing_is_done_while_publishing_is_held(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    run = begin(alice)
    LogHead.objects.update(held_reason="Nodes hold more.", held_since=NOW)
    assert run_turns.unfinished_ids(PolicyRun) == []
    assert not policy_runs.work_on_run(run.pk)
    assert not Signing.objects.exists()


def test_a_zone_with_a_rollover_under_way_waits(zone: Zone, policy: DnssecPolicy, alice: User) -> None:
    acting = Acting(alice, "web", NOW)
    sign.sign(zones=[zone], acting=acting)
    rollovers.begin(zone=zone, kind=Kind.CSK, acting=acting)
    before = Publication.objects.count()
    for dry_run in (True, False):
        run = finished(begin(alice, dry_run=dry_run))
        assert run.counts == {"refused": 1}
        assert "rollover is in progress" in run.zones.get().message
    assert Publication.objects.count() == before
