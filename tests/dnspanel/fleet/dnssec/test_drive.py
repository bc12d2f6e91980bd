"""Tests of the rollover driver: a step needs all nodes' confirmation and the parent's DS. Time is simulated.

Tests `signing.rollovers`, `dnssec.rollover_parents`, `signing.parent_zone`, `signing.first_ds` and `dnssec.served_ttls`
too: only the driver uses their results.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant
from dnspanel.accounts.models import AuditEntry, GrantRow, Role, User
from dnspanel.alerts.alert_inputs import read
from dnspanel.fleet.dnssec.drive import drive_rollovers
from dnspanel.fleet.dnssec.keys_at_servers import SignersLook
from dnspanel.fleet.models import Divergence, Node, NodeState
from dnspanel.secondaries import members, set_up_secondaries
from dnspanel.secondaries.models import Member
from dnspanel.zones.acting import Acting
from dnspanel.zones.conditions import LogInputs
from dnspanel.zones.dnssec import key_material, policy_queries, queries, rollover
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.rollover_stages import Kind, Step
from dnspanel.zones.dnssec.served_ttls import served_ttls
from dnspanel.zones.errors import DnssecRefused, RightMissing
from dnspanel.zones.log.publish_hold import hold, release
from dnspanel.zones.models import LogHead, Publication, Rollover, Signing, Zone, ZoneKey
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.signing import automatic, policies, rollovers, sign
from dnspanel.zones.signing.first_ds import awaiting_first_ds, room_for_first_ds
from dnspanel.zones.signing.other_signers import add_other_key, remove_other_key
from replication.codec.dnssec import Nsec3
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.zones.conftest import rr, zone_maker
from tests.people import NOW, alice, make_person

__all__ = ["alice"]
pytestmark = pytest.mark.django_db(transaction=True)

CHILD = "shop.example.com."
# Looks are 550 seconds apart, and all of that counts. Looks a minute apart would take ten times as long.
STEP, CREDIT = 550, timedelta(seconds=600)
# This many looks last longer than every TTL of these zones (7200 seconds) plus the margin.
LONG = 16


class World:
    """A parent zone with a signed child zone, two nodes and a clock."""

    def __init__(self, author: User, nodes: list[Node]) -> None:
        self.author, self.nodes, self.now = author, nodes, NOW
        self.credit = CREDIT
        make = zone_maker(author)
        self.parent = make("shop 3600 NS ns1.example.net.", name="example.com.")
        self.zone = make("www 300 A 192.0.2.1", "old 7200 A 192.0.2.7", name=CHILD)

    @property
    def acting(self) -> Acting:
        return Acting(self.author, "web", self.now)

    @property
    def row(self) -> Rollover:
        return Rollover.objects.latest("pk")

    def sign(self, *, split: bool = False, has_ds: bool = True) -> None:
        sign.sign(zones=[self.zone], acting=self.acting, split=split)
        if has_ds:
            texts = [text for key in queries.keys_of(self.zone) for text in key.ds if text.split()[2] == "2"]
            self.put_ds(*texts)

    def put_ds(self, *texts: str) -> None:
        rrset = rr(f"{CHILD} 3600 DS {' | '.join(texts)}") if texts else None
        step = zone_patches.remove_rrset if rrset is None else zone_patches.replace_with(rrset)
        self.publish(self.parent, (CHILD, rdtypes.DS), step)

    def publish(self, zone: Zone, key: tuple[str, int], step: Callable[[RRset | None], RRset | None]) -> None:
        zone_patches.publish_patches(
            patches=[zone_patches.patch_of_steps(zone, [(key, step)])], acting=Acting(self.author, "web", self.now)
        )

    @property
    def ds(self) -> set[str]:
        """The key tags in the parent's DS records."""
        found = Zone.objects.get(pk=self.parent.pk).rrsets.filter(type=rdtypes.DS).first()
        return {text.split()[0] for text in found.rdata} if found else set()

    @property
    def tags(self) -> list[tuple[str, bool, bool]]:
        return [(str(key.tag), key.active, key.published) for key in queries.keys_of(self.zone)]

    def answer(self, *names: str) -> None:
        """Let these nodes, or all, confirm all publications."""
        head = LogHead.objects.get()
        nodes = Node.objects.filter(name__in=names) if names else Node.objects.all()
        nodes.update(epoch=head.epoch, acked=head.sequence)

    def look(self, seconds: int = STEP) -> Step:
        self.now += timedelta(seconds=seconds)
        drive_rollovers(clock=lambda: self.now, look_every=timedelta())
        return Step(self.row.step)

    def run(self, *, until: Step | None = None, seconds: int = STEP) -> list[Step]:
        """Let nodes confirm and time pass until the rollover ends or reaches `until`. Return the steps."""
        seen = [Step(self.row.step)]
        for _ in range(110_000 // seconds):
            if self.row.ended_at or seen[-1] == until:
                return seen
            self.answer()
            if (step := self.look(seconds)) != seen[-1]:
                seen.append(step)
        raise AssertionError(f"It does not end: {self.row.step}: {self.row.waits_for}")


@pytest.fixture
def world(alice: User, active_node: MakeNode, monkeypatch: pytest.MonkeyPatch) -> World:
    made = World(alice, [active_node("ns1", agent_port=8533), active_node("ns2", agent_port=8534)])
    steady = rollover.steady
    monkeypatch.setattr(rollover, "steady", lambda *times: steady(*times, most=made.credit))
    return made


@pytest.mark.sample(2, reason="kinds of rollovers that are driven to their ends")
@pytest.mark.parametrize(
    ("kind", "split", "steps"),
    [
        (Kind.ZSK, True, [Step.PUBLISH, Step.SIGN, Step.REMOVE]),
        (Kind.KSK, True, [Step.PUBLISH, Step.DS, Step.REMOVE, Step.CLEAN]),
        (Kind.KSK_DOUBLE_DS, True, [Step.DS, Step.EXCHANGE, Step.CLEAN]),
        (Kind.CSK, False, [Step.PUBLISH, Step.DS, Step.REMOVE, Step.CLEAN]),
        (Kind.INSECURE, False, [Step.DS, Step.REMOVE]),
        (Kind.ALGORITHM, True, [Step.SIGN, Step.PUBLISH, Step.DS, Step.UNPUBLISH, Step.REMOVE]),
    ],
)
def test_every_kind_goes_through_its_steps_to_the_end(world: World, kind: Kind, split: bool, steps: list[Step]) -> None:
    world.sign(split=split)
    before = {tag for tag, _, _ in world.tags}
    ds_before = world.ds
    algorithm = 15 if kind is Kind.ALGORITHM else None
    rolled = rollovers.begin(zone=world.zone, kind=kind, acting=world.acting, algorithm=algorithm)
    assert world.run() == steps
    after = world.tags
    assert not world.row.is_cancelled
    assert all(active and published for _, active, published in after)
    kept = {tag for tag, _, _ in after} & before
    if kind is Kind.INSECURE:
        assert (after, world.ds) == ([], set())
    else:
        assert len(after) == len(before)
        assert len(kept) == (1 if split and kind is not Kind.ALGORITHM else 0)
        assert world.ds <= {tag for tag, _, _ in after}
        assert (world.ds == ds_before) is (kind is Kind.ZSK)
    lost = ZoneKey.objects.filter(pk__in=rolled.old_keys)
    assert all(key.deleted_at is not None for key in lost)
    assert AuditEntry.objects.filter(action="dnssec.rollover_begin", target=CHILD).exists()


def test_since_when_the_parent_has_a_ds_is_kept_for_each_key(world: World) -> None:
    world.sign()
    [old] = ZoneKey.objects.all()
    row = rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.run(until=Step.DS)
    old.refresh_from_db()
    assert old.ds_seen_at is not None
    world.run()
    old.refresh_from_db()
    new = ZoneKey.objects.get(pk=row.new_keys[0])
    assert new.ds_seen_at is not None
    assert old.ds_gone_at is not None
    assert old.ds_seen_at < new.ds_seen_at <= old.ds_gone_at
    assert new.ds_gone_at is None


def test_the_way_to_insecure_asks_the_parent_and_takes_that_back(world: World) -> None:
    world.sign(split=True)
    sign.set_cds(zone=world.zone, cds="2", cdnskey=False, acting=world.acting)
    rollovers.begin(zone=world.zone, kind=Kind.INSECURE, acting=world.acting)
    requested = queries.signing_of(world.zone)
    assert (requested.metadata["PUBLISH-CDS"], requested.metadata["PUBLISH-CDNSKEY"]) == ("0", "0")
    world.answer()
    world.look()
    rollovers.cancel(zone=world.zone, acting=world.acting)
    assert world.run() == [Step.UNDONE]
    back = queries.signing_of(world.zone)
    assert (back.cds, back.cdnskey, back.is_signed) == ("2", False, True)


def test_a_late_node_a_drained_one_and_one_that_differs_are_waited_for(world: World) -> None:
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.answer("ns1")
    Node.objects.filter(name="ns2").update(state=NodeState.DRAINED)
    for _ in range(LONG):
        assert world.look() is Step.PUBLISH
    assert world.row.late == ["ns2"]
    assert ": ns2." in world.row.waits_for
    world.answer()
    wrong = Divergence.objects.create(
        node=world.nodes[0], zone_id=world.zone.pk, zone_name=CHILD, words="another SOA", found_at=world.now
    )
    assert world.look() is Step.PUBLISH
    assert world.row.late == ["ns1"]
    wrong.delete()
    world.look()
    assert world.row.late == []
    assert world.row.earliest == world.now + timedelta(seconds=3600 + 60)  # the DNSKEY RRset has the SOA's TTL
    assert world.run(until=Step.SIGN)[-1] is Step.SIGN


def transferred(serial: int | None = None) -> None:
    """Note all publications for the secondaries, and let them serve the newest serial or this one."""
    members.note_publications(now=NOW)
    for member in Member.objects.select_related("zone"):
        assert member.zone is not None
        Member.objects.filter(pk=member.pk).update(served_serial=member.zone.serial if serial is None else serial)


def test_a_secondary_that_answers_an_older_serial_is_waited_for_until_it_is_switched_off(
    world: World, active_node: MakeNode
) -> None:
    active_node("ring0", agent_port=8535)
    Node.objects.filter(name="ring0").update(is_ring0=True)
    world.sign(split=True)
    terms = set_up_secondaries.Terms("partner", ["9.9.9.9"], kind="bind", choice="list", zones=[CHILD])
    partner = set_up_secondaries.create_secondary(terms=terms, by=world.author, now=NOW).secondary
    transferred()
    old = Zone.objects.get(pk=world.zone.pk).serial
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.answer()
    for _ in range(3):
        assert world.look() is Step.PUBLISH
    waits = "Waiting for all of the zone’s secondaries to serve this step."
    assert world.row.waits_for == f"{waits} partner will be notified soon."
    transferred(serial=old)
    for _ in range(8):  # longer than caches keep the DNSKEY RRset, and than the delay of the alert
        assert world.look() is Step.PUBLISH
    assert world.row.waits_for == f"{waits} partner (BIND) answers with serial {old} instead of {old + 1}."
    assert (world.row.late, world.row.late_secondaries) == ([], ["partner"])
    assert world.row.secondaries_since is None
    assert world.row.answered_since is not None
    assert [name for name, _ in read(world.now).of(LogInputs).rollovers.first] == [CHILD], "somebody is told"
    transferred()
    world.look()
    assert world.row.earliest == world.now + timedelta(seconds=3600 + 60), "caches may have what it answered"
    assert world.row.late_secondaries == []
    assert world.run(until=Step.SIGN)[-1] is Step.SIGN
    transferred(serial=old + 1)
    world.answer()
    world.look()
    assert (world.row.late_secondaries, world.row.earliest) == (["partner"], None)
    set_up_secondaries.change_secondary(
        secondary=partner, terms=replace(terms, active=False), by=world.author, now=world.now
    )
    world.look()
    assert world.row.late_secondaries == []
    assert world.row.earliest == world.now + timedelta(seconds=7200 + 60), "it answered until now, as far as is known"


def test_an_emergency_waits_for_no_secondary(world: World, active_node: MakeNode) -> None:
    active_node("ring0", agent_port=8535)
    Node.objects.filter(name="ring0").update(is_ring0=True)
    world.sign()
    terms = set_up_secondaries.Terms("partner", ["9.9.9.9"], choice="list", zones=[CHILD])
    set_up_secondaries.create_secondary(terms=terms, by=world.author, now=NOW)
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting, emergency=True)
    transferred(serial=1)
    assert world.run() == [Step.REMOVE, Step.DS]
    assert world.row.late_secondaries == []


@pytest.mark.turn(2, reason="the longest ways of rollovers")
def test_it_waits_for_the_ttl_of_the_largest_record_also_if_that_is_gone_by_now(world: World) -> None:
    world.sign(split=True)
    key = f"old.{CHILD}", rdtypes.A
    world.publish(world.zone, key, zone_patches.remove_rrset)
    assert served_ttls(world.zone, now=world.now).records == 7200
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.run(until=Step.SIGN)
    world.publish(world.zone, key, zone_patches.replace_with(rr(f"old.{CHILD} 9000 A 192.0.2.8")))
    world.answer()
    world.look()
    begun = world.now
    assert world.run(seconds=55) == [Step.SIGN, Step.REMOVE]
    assert timedelta(seconds=9000) < world.now - begun < timedelta(seconds=9300)


def test_a_clock_that_jumps_lets_nothing_happen_too_soon(world: World) -> None:
    world.credit = rollover.MOST_CREDIT
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.answer()
    world.look()
    assert world.look(seconds=30 * 86_400) is Step.PUBLISH


def test_a_new_epoch_begins_the_wait_anew(world: World) -> None:
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.answer()
    world.look()
    assert world.row.answered_since is not None
    LogHead.objects.update(epoch=uuid4())
    world.look()
    assert world.row.answered_since is None
    world.answer()
    world.look()
    assert world.row.answered_since == world.row.clock


def test_a_parent_is_told_only_by_who_may_change_it(world: World, alice: User) -> None:
    world.sign()
    team_only = User.objects.create_user("bert", role="editor")
    rolled = rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=Acting(team_only, "web", world.now))
    User.objects.filter(pk=team_only.pk).update(role="reader")
    assert world.run(until=Step.DS)[-1] is Step.DS
    world.answer()
    for _ in range(5):
        world.look()
    assert world.row.add_ds == rolled.new_ds
    assert world.ds == {rolled.old_ds[0].split()[0]}
    world.put_ds(rolled.new_ds[0])
    assert world.run()[-1] is Step.CLEAN


def test_ds_that_a_late_node_still_answers_count(world: World) -> None:
    world.sign()
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.run(until=Step.DS)
    world.answer()
    world.look()  # this look puts the DS into the parent
    assert len(world.ds) == 1
    for _ in range(LONG):
        assert world.look() is Step.DS
    assert world.row.add_ds  # ns1 and ns2 may still answer with the old DS
    assert world.run()[-1] is Step.CLEAN


def test_it_can_be_cancelled_and_all_is_as_before(world: World) -> None:
    world.sign()
    tags = world.tags
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.answer()
    world.look()
    rollovers.cancel(zone=world.zone, acting=world.acting)
    assert world.run() == [Step.UNDONE]
    assert world.row.is_cancelled
    assert world.tags == tags
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.run(until=Step.DS)
    with pytest.raises(DnssecRefused, match="Withdraw the request"):
        rollovers.cancel(zone=world.zone, acting=world.acting)
    rollovers.cancel(zone=world.zone, acting=world.acting, withdrawn=True)
    assert world.run() == [Step.WITHDRAW, Step.UNDONE]
    assert (world.tags, world.ds) == (tags, {tags[0][0]})
    with pytest.raises(DnssecRefused, match="No rollover"):
        rollovers.cancel(zone=world.zone, acting=world.acting)


def test_nobody_changes_the_keys_under_a_rollover(world: World) -> None:
    world.sign(split=True)
    rolled = rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    for act in (
        lambda: sign.add_key(zone=world.zone, acting=world.acting),
        lambda: sign.delete_key(zone=world.zone, key_id=rolled.new_keys[0], acting=world.acting),
        lambda: sign.set_key(zone=world.zone, key_id=rolled.old_keys[0], active=False, acting=world.acting),
        lambda: rollovers.begin(zone=world.zone, kind=Kind.KSK, acting=world.acting),
    ):
        with pytest.raises(DnssecRefused, match="rollover"):
            act()
    sign.set_denial(zone=world.zone, nsec3=Nsec3(0, b"", False, False), acting=world.acting)
    assert world.run()[-1] is Step.REMOVE


def test_an_emergency_takes_the_old_key_away_at_once(world: World) -> None:
    world.sign()
    [(tag, _, _)] = world.tags
    assert "SERVFAIL" in rollovers.breakage(zone=world.zone, kind=Kind.CSK, now=world.now)
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting, emergency=True)
    assert tag not in {each for each, _, _ in world.tags}
    assert world.run() == [Step.REMOVE, Step.DS]
    assert world.ds == {each for each, _, _ in world.tags}


def test_a_zone_in_the_trash_stands_still(world: World) -> None:
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    edit.delete_zone(zone=world.zone, acting=Acting(world.author, "web", world.now), confirmed=True)
    for _ in range(3):
        world.answer()
        assert world.look() is Step.PUBLISH
    assert world.row.answered_since is None


def test_rollovers_are_refused_where_they_make_no_sense(world: World) -> None:
    with pytest.raises(DnssecRefused, match="not signed"):
        rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.sign()
    published = Publication.objects.count()
    for kind, more, message in (
        (Kind.ZSK, {}, "have a signing ZSK"),
        (Kind.ALGORITHM, {}, "Choose an algorithm"),
        (Kind.ALGORITHM, {"algorithm": 13}, "Choose an algorithm"),
        (Kind.CSK, {"algorithm": 15}, "Only an algorithm rollover"),
        (Kind.INSECURE, {"emergency": True}, "emergency"),
    ):
        with pytest.raises(DnssecRefused, match=message):
            rollovers.begin(zone=world.zone, kind=kind, acting=world.acting, **more)  # type: ignore[arg-type]
    reader = User.objects.create_user("carl", role="reader")
    with pytest.raises(RightMissing):
        rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=Acting(reader, "web", world.now))
    assert Publication.objects.count() == published
    assert not Rollover.objects.exists()


def test_a_key_that_somebody_changed_in_the_database_stops_it_until_a_person_looks(world: World) -> None:
    world.sign(split=True)
    rolled = rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    state = queries.signing_of(world.zone).without_key(rolled.new_keys[0])
    Signing.objects.filter(zone=world.zone).update(state=state.to_json())
    world.answer()
    world.look()
    assert world.row.is_stuck
    assert "isn’t in the state that this step needs" in world.row.waits_for


def test_times_are_shown_by_the_clock_on_the_wall(world: World) -> None:
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.answer()
    world.look()
    earliest = world.row.earliest
    assert isinstance(earliest, datetime)
    world.credit = rollover.MOST_CREDIT
    world.look(seconds=600)  # only a minute of it counts
    assert world.row.earliest == earliest + timedelta(seconds=540)


@pytest.mark.turn(2, reason="the longest ways of rollovers")
def test_new_keys_wait_until_the_name_servers_of_other_signers_have_them(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = {"lack": "Some name servers don’t have the keys: ns1.other. 192.0.2.53: missing key 1."}
    requested: list[object] = []

    def look(zone_name: str, nameservers: object, wanted: object, **_: object) -> SignersLook:
        requested.append((zone_name, nameservers, wanted))
        return SignersLook(looks["lack"], 4500)

    monkeypatch.setattr("dnspanel.fleet.dnssec.keys_at_servers.look_at_signers", look)
    world.sign(split=True)
    other = key_material.dnskey_text(256, 13, key_material.generate(13).public)
    Node.objects.update(report={"serves_stored_keys": True})
    add_other_key(zone=world.zone, text=f"{CHILD} IN DNSKEY {other}", acting=world.acting)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    for _ in range(90):
        world.answer()
        assert world.look(seconds=55) is Step.PUBLISH
    assert "must add the new key to their DNSKEY records. Some name servers don’t have the keys" in world.row.waits_for
    [new] = ZoneKey.objects.filter(pk__in=world.row.new_keys)
    zone_name, _, wanted = requested[-1]  # type: ignore[misc]
    assert (zone_name, wanted) == (CHILD, [(256, 13, bytes(new.public))])
    assert len(requested) < 90  # not at each look

    looks["lack"] = ""
    while world.row.signers_lack:
        world.look(seconds=55)
    # Caches keep the DNSKEY records of these servers longer than those of the nodes.
    assert world.row.earliest is not None
    assert world.row.earliest - world.now > timedelta(seconds=4500)
    looks["lack"] = "ns1.other. does not answer."
    for _ in range(15):
        assert world.look(seconds=55) is Step.PUBLISH
    looks["lack"] = ""
    begun = world.now
    assert world.run(seconds=55) == [Step.PUBLISH, Step.SIGN, Step.REMOVE]
    assert world.now - begun > timedelta(seconds=4500)


def test_a_step_that_is_refused_says_so_and_somebody_is_told(world: World) -> None:
    """Regression test: the refusal was only logged. The page showed no reason, and there was no alert."""
    world.sign()
    rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    world.answer()
    hold(reason="A drill.", now=world.now)
    for _ in range(140):
        world.look(seconds=55)
    assert "refused: " in world.row.waits_for
    assert world.row.waits_since < world.now - timedelta(minutes=1)
    assert not world.row.is_stuck, "who decides about the hold is told of that"
    assert AuditEntry.objects.filter(action="dnssec.rollover_end").count() == 0
    release()
    world.look(seconds=55)
    assert "refused" not in world.row.waits_for


def test_a_ds_that_may_not_be_put_into_the_parent_by_who_began_is_said(world: World) -> None:
    world.sign()
    begun = rollovers.begin(zone=world.zone, kind=Kind.CSK, acting=world.acting)
    Rollover.objects.filter(pk=begun.pk).update(started_by=make_person("mia", Role.MEMBER))
    world.run(until=Step.DS)
    world.answer()
    world.look()
    assert world.row.is_stuck
    assert "refused: You don’t have permission" in world.row.waits_for
    assert world.row.add_ds
    since = world.row.waits_since
    for _ in range(3):
        world.look()
    assert world.row.waits_since == since
    [(name, _)] = read(world.now).of(LogInputs).rollovers.first
    assert name == CHILD


def test_the_end_of_a_rollover_is_in_the_audit_log(world: World) -> None:
    world.sign(split=True)
    rollovers.begin(zone=world.zone, kind=Kind.ZSK, acting=world.acting)
    world.run()
    entry = AuditEntry.objects.get(action="dnssec.rollover_end")
    assert (entry.target, entry.details) == (CHILD, {"kind": "zsk", "cancelled": False})


def test_a_parent_here_gets_the_first_ds_once_caches_know_the_zone_as_signed(world: World) -> None:
    """Regression test: the first DS could only be added by hand, and at any moment."""
    world.sign(has_ds=False)
    begun = rollovers.begin(zone=world.zone, kind=Kind.SECURE, acting=world.acting)
    assert begun.old_keys == []
    world.answer("ns1")
    world.look()
    assert ": ns2." in world.row.waits_for
    world.answer()
    world.look()
    since, earliest = world.now, world.row.earliest
    assert earliest is not None
    assert earliest - since >= timedelta(seconds=7200), (
        "old.shop.example.com. without a signature may be kept for so long"
    )
    with pytest.raises(DnssecRefused, match="is in progress"):
        sign.unsign(zones=[world.zone], acting=world.acting)
    assert world.run() == [Step.PUBLISH, Step.DS]
    assert world.now - since >= timedelta(seconds=7200)
    rrset = Zone.objects.get(pk=world.parent.pk).rrsets.get(type=rdtypes.DS)
    assert (rrset.ttl, rrset.rdata) == (3600, [queries.keys_of(world.zone)[0].ds[0]])
    with pytest.raises(DnssecRefused, match="already"):
        rollovers.begin(zone=world.zone, kind=Kind.SECURE, acting=world.acting)
    rollovers.begin(zone=world.zone, kind=Kind.INSECURE, acting=world.acting)
    world.run()
    assert (world.tags, world.ds) == ([], set())


def test_the_first_ds_takes_rights_over_both_zones(world: World) -> None:
    world.sign(has_ds=False)
    member = make_person("mia", Role.MEMBER)
    grant = Grant(EVERY_RIGHT, zones=frozenset({world.zone.pk}))
    GrantRow.objects.create(user=member, grant=grant.to_json(), created_at=NOW)
    with pytest.raises(RightMissing, match=r"example\.com\."):
        rollovers.begin(zone=world.zone, kind=Kind.SECURE, acting=Acting(member, "web", world.now))
    assert not Rollover.objects.exists()


def test_trust_is_cancelled_without_a_trace(world: World) -> None:
    world.sign(has_ds=False)
    before = world.tags
    rollovers.begin(zone=world.zone, kind=Kind.SECURE, acting=world.acting)
    rollovers.cancel(zone=world.zone, acting=world.acting)
    assert world.run() == [Step.UNDONE]
    assert (world.tags, world.ds, world.row.is_cancelled) == (before, set(), True)


def has_first_ds(world: World, **says: Any) -> None:
    """Create a default policy that adds the first DS automatically."""
    terms = Terms(first_ds=True, **says)
    policies.create_policy(name="First", terms=terms, is_default=True, by=world.author, now=world.now)


def test_the_first_ds_comes_by_itself_where_the_policy_says_so(world: World) -> None:
    """Regression test: a user had to start this for every zone that a job signed."""
    world.sign(has_ds=False)
    assert automatic.begin_first_ds(now=world.now) == 0, "no policy says so"
    has_first_ds(world)
    applied = policy_queries.applied_to_zones([world.zone])[world.zone.pk].terms
    assert awaiting_first_ds([world.zone], {world.zone.pk: applied}) == {world.zone.pk}
    assert automatic.begin_first_ds(now=world.now) == 1
    assert (world.row.kind, world.row.started_by) == (Kind.SECURE, None)
    assert automatic.begin_first_ds(now=world.now) == 0
    since = world.now
    assert world.run() == [Step.PUBLISH, Step.DS]
    assert world.now - since >= timedelta(seconds=7200), "caches may keep what was answered without signatures"
    assert world.ds == {tag for tag, _, _ in world.tags}
    assert automatic.begin_first_ds(now=world.now) == automatic.begin_due_rollovers(now=world.now) == 0


def test_the_first_ds_waits_while_a_node_does_not_answer_signed(world: World) -> None:
    world.sign(has_ds=False)
    has_first_ds(world)
    automatic.begin_first_ds(now=world.now)
    world.answer("ns1")
    for _ in range(LONG):
        world.look()
    assert (world.row.step, world.ds, ": ns2." in world.row.waits_for) == (Step.PUBLISH, set(), True)
    assert [name for name, _ in read(world.now).of(LogInputs).rollovers.first] == [CHILD]


def test_who_decided_about_the_ds_is_not_overruled(world: World) -> None:
    """After a user cancels the rollover or removes the DS, the panel doesn't begin again."""
    world.sign(has_ds=False)
    has_first_ds(world)
    automatic.begin_first_ds(now=world.now)
    rollovers.cancel(zone=world.zone, acting=world.acting)
    world.run()
    assert automatic.begin_first_ds(now=world.now) == automatic.begin_due_rollovers(now=world.now) == 0


@pytest.mark.parametrize("had", ["ds", "delete", "nothing below"])
def test_zones_for_which_there_is_no_first_ds_to_wait_for(world: World, had: str) -> None:
    """The zone has a DS, its CDS asks for none, or its external parent can't read a CDS."""
    world.sign(has_ds=had == "ds")
    has_first_ds(world)
    if had == "delete":
        sign.set_cds(zone=world.zone, cds="0", acting=world.acting)
    if had == "nothing below":
        world.publish(world.parent, (CHILD, rdtypes.NS), zone_patches.remove_rrset)
    assert automatic.begin_first_ds(now=world.now) == automatic.begin_due_rollovers(now=world.now) == 0
    if had == "nothing below":
        sign.set_cds(zone=world.zone, cds="2", acting=world.acting)
        assert automatic.begin_first_ds(now=world.now) == 1


def test_a_first_ds_that_is_refused_is_an_alert_until_it_begins(world: World) -> None:
    world.sign(has_ds=False)
    Node.objects.update(report={"serves_stored_keys": True})
    public = key_material.generate(13).public
    text = f"{CHILD} IN DNSKEY {key_material.dnskey_text(257, 13, public)}"
    add_other_key(zone=world.zone, text=text, acting=world.acting)
    has_first_ds(world)
    assert automatic.begin_first_ds(now=world.now) == 0
    assert "Add all signers’ DS records" in Signing.objects.get(pk=world.zone.pk).due_refusal
    assert [name for name, _ in read(world.now).of(LogInputs).rollovers.first] == [CHILD]
    assert automatic.begin_first_ds(now=world.now) == 0
    remove_other_key(zone=world.zone, tag=key_material.key_tag(257, 13, public), acting=world.acting)
    assert automatic.begin_due_rollovers(now=world.now) == 1
    assert read(world.now).of(LogInputs).rollovers.count == 0


def test_parents_that_take_their_time_are_asked_less_often_and_make_room(world: World) -> None:
    world.sign(has_ds=False)
    has_first_ds(world)
    automatic.begin_first_ds(now=world.now)
    assert room_for_first_ds(1, world.now) == 0
    long_ago = world.now - timedelta(hours=2)
    Rollover.objects.update(step=Step.DS, waits_since=long_ago, parent_silent="", looked_at=world.now)
    assert room_for_first_ds(1, world.now) == 1
    soon = world.now + timedelta(minutes=20)
    assert drive_rollovers(clock=lambda: soon) == 0
    later = world.now + timedelta(minutes=31)
    assert drive_rollovers(clock=lambda: later) == 1


def test_others_that_sign_a_zone_have_their_ds_put_by_hand(world: World) -> None:
    world.sign(has_ds=False)
    Node.objects.update(report={"serves_stored_keys": True})
    other = key_material.dnskey_text(257, 13, key_material.generate(13).public)
    add_other_key(zone=world.zone, text=f"{CHILD} IN DNSKEY {other}", acting=world.acting)
    with pytest.raises(DnssecRefused, match="also has other signers"):
        rollovers.begin(zone=world.zone, kind=Kind.SECURE, acting=world.acting)


@pytest.mark.parametrize(
    ("kind", "split", "algorithm", "last"),
    [(Kind.ALGORITHM, False, 15, Step.REMOVE), (Kind.KSK_DOUBLE_DS, True, None, Step.CLEAN)],
)
def test_no_cds_names_the_wrong_keys_while_a_rollover_needs_other_ds(
    world: World, kind: Kind, split: bool, algorithm: int | None, last: Step
) -> None:
    """Regression test: a parent that followed CDS kept the DS of both algorithms, so the rollover never ended."""
    world.sign(split=split)
    sign.set_cds(zone=world.zone, cds="2", cdnskey=True, acting=world.acting)
    rollovers.begin(zone=world.zone, kind=kind, acting=world.acting, algorithm=algorithm)
    seen = []
    while not world.row.ended_at:
        state = queries.signing_of(world.zone)
        if (world.row.step, state.cds, state.cdnskey) not in seen:
            seen.append((world.row.step, state.cds, state.cdnskey))
        if world.row.step == Step.DS:
            with pytest.raises(DnssecRefused, match="controls the CDS and CDNSKEY"):
                sign.set_cds(zone=world.zone, cds="2", cdnskey=False, acting=world.acting)
        world.answer()
        world.look()
    assert [each for each in seen if each[1:] != ("", False)] == [(last, "2", True)]
    assert len(seen) > 2


@pytest.mark.parametrize(("kind", "split"), [(Kind.KSK, True), (Kind.CSK, False), (Kind.SECURE, False)])
def test_nobody_has_the_ds_deleted_that_a_rollover_needs(world: World, kind: Kind, split: bool) -> None:
    """A parent that polls CDS would make the zone insecure, and the rollover would wait forever."""
    world.sign(split=split, has_ds=kind is not Kind.SECURE)
    rollovers.begin(zone=world.zone, kind=kind, acting=world.acting)
    with pytest.raises(DnssecRefused, match="needs the DS in the parent zone"):
        sign.set_cds(zone=world.zone, cds="0", acting=world.acting)
    sign.set_cds(zone=world.zone, cds="2", acting=world.acting)
    sign.set_cds(zone=world.zone, cds="", acting=world.acting)


def test_a_cancelled_rollover_gives_the_cds_back(world: World) -> None:
    world.sign()
    sign.set_cds(zone=world.zone, cds="2,4", cdnskey=False, acting=world.acting)
    rollovers.begin(zone=world.zone, kind=Kind.ALGORITHM, acting=world.acting, algorithm=15)
    rollovers.cancel(zone=world.zone, acting=world.acting)
    world.run()
    state = queries.signing_of(world.zone)
    assert (state.cds, state.cdnskey) == ("2,4", False)
