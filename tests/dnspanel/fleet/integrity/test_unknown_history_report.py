"""Tests of the report about history that only a node has, over real TLS, and of both decisions.

Tests `integrity.decision` too.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.integrity import decision, unknown_history, unknown_history_report
from dnspanel.fleet.integrity.unknown_history_report import taken_over
from dnspanel.fleet.models import AheadReport, AheadZone, Choice
from dnspanel.fleet.tasks import push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.zones.acting import Acting
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Epoch, LogHead, Revision, RRset, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns.rrset import RRset as Values
from tests.dnspanel.fleet.conftest import Served
from tests.dnspanel.fleet.yesterday import Yesterday
from tests.dnspanel.zones.conftest import rr
from tests.people import alice as alice
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)
Serve = Callable[..., Served]
HOW: dict[str, Any] = {"author": None, "channel": "system"}
A = 1


def create(name: str, *lines: str) -> None:
    apex = ("@ 3600 SOA ns1.example.net. h.example.net. 1 10800 3600 604800 3600", "@ 3600 NS ns1.example.net.")
    rrsets = [rr(line, origin=name) for line in (*apex, *lines)]
    edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(now=timezone.now(), **HOW))


def change(name: str, *lines: str, gone: tuple[str, ...] = ()) -> None:
    zone = Zone.objects.get(name=name, deleted_at=None)
    wanted: dict[tuple[str, int], Values | None] = {(f"{each}.{name}", A): None for each in gone}
    for line in lines:
        rrset = rr(line, origin=name)
        wanted[rrset.name, rrset.type] = rrset
    change_rrsets(zone=zone, changes=wanted, now=timezone.now(), confirmed=True, **HOW)


def delete(name: str) -> None:
    edit.delete_zone(zone=Zone.objects.get(name=name, deleted_at=None), acting=Acting(now=timezone.now(), **HOW))


def publish_to(served: Served) -> None:
    while encode_step(now=timezone.now()):
        pass
    push_node(served.node.pk)


def at(name: str, zone: str) -> Values | None:
    row = RRset.objects.filter(zone__name=zone, zone__deleted_at=None, name=f"{name}.{zone}", type=A).first()
    return rrset_of(row) if row else None


@pytest.fixture
def restored(served: Serve) -> Served:
    """Set the panel back. Return its node, which has one zone more, one less, one changed and one unchanged zone."""
    made = served()
    create("same.test.", "www 300 A 192.0.2.1")
    create("changed.test.", "www 300 A 192.0.2.1", "old 300 A 192.0.2.2", "off 300 A 192.0.2.3")
    zone = Zone.objects.get(name="changed.test.")
    change_rrsets(
        zone=zone,
        now=timezone.now(),
        confirmed=True,
        **HOW,
        changes={
            ("off.changed.test.", A): rr(
                "off 300 A 192.0.2.3 | 192.0.2.4", disabled=("192.0.2.4",), comment="keep", origin="changed.test."
            ),
        },
    )
    create("deleted.test.", "www 300 A 192.0.2.1")
    create("trashed.test.", "www 300 A 192.0.2.1")
    delete("trashed.test.")
    publish_to(made)
    yesterday = Yesterday()
    change("changed.test.", "www 300 A 192.0.2.99", "new 300 A 192.0.2.5", "off 300 A 192.0.2.7", gone=("old",))
    change("changed.test.", "new 60 A 192.0.2.6")
    delete("deleted.test.")
    create("new.test.", "www 300 A 192.0.2.1", "a.b 300 A 192.0.2.2")
    edit.restore_zone(zone=Zone.objects.get(name="trashed.test."), now=timezone.now(), **HOW)
    publish_to(made)
    yesterday.come_back()
    return made


def made_report() -> AheadReport:
    assert publish_hold.current_hold() or publish_hold.hold(reason="ns1 knows more.", now=timezone.now())
    assert decision.step(now=timezone.now()) == "the nodes were asked"
    report = unknown_history.newest_report()
    assert report is not None
    return report


def decide(report: AheadReport, choice: Choice, by: User, *, accepts_breaks: bool = False) -> None:
    unknown_history.decide(
        report=report,
        choice=choice,
        typed=unknown_history.TYPED[choice],
        reason="a test",
        by=by,
        now=timezone.now(),
        accepts_breaks=accepts_breaks,
    )
    assert decision.step(now=timezone.now()).endswith("has begun")


def test_what_only_the_node_knows_is_found(restored: Served) -> None:
    report = made_report()
    assert (report.error, report.is_ahead, report.node_name) == ("", True, "ns1")
    assert report.ended_at is not None
    assert report.zones_done == report.zones_total
    assert report.highest_sequence == restored.agent.status().position.sequence  # type: ignore[union-attr]
    found = {zone.name: zone for zone in report.zones.all()}
    assert set(found) == {"changed.test.", "deleted.test.", "new.test.", "trashed.test."}
    assert (found["changed.test."].serial_here, found["changed.test."].serial_there) == (2, 4)
    assert (found["deleted.test."].id_there, found["new.test."].id_here) == (None, None)
    assert found["trashed.test."].in_trash
    rrsets = {rrset.name: rrset for rrset in found["changed.test."].rrsets.all()}
    assert set(rrsets) == {f"{name}.changed.test." for name in ("www", "old", "new", "off")}
    assert rrsets["www.changed.test."].here["rdata"] == ["192.0.2.1"]
    assert rrsets["www.changed.test."].there["rdata"] == ["192.0.2.99"]
    assert rrsets["old.changed.test."].there is None
    assert rrsets["new.changed.test."].here is None
    assert found["new.test."].rrsets.count() == 4
    assert unknown_history.numbers(report) == unknown_history.Numbers(
        only_nodes=2,
        only_panel=1,
        differing=1,
        rrsets=4,
        unreadable=0,
        unreadable_here=0,
        signed=0,
        broken={"take_over": 0, "keep": 0},
    )


def test_taking_over_loses_nothing_that_nodes_have(restored: Served, alice: User) -> None:
    there = restored.agent.status().position
    assert there is not None
    new_id = restored.agent.store.zone_id("new.test.")
    decide(made_report(), Choice.TAKE_OVER, alice)
    head = LogHead.objects.get()
    assert head.epoch != there.epoch
    assert head.sequence > there.sequence
    assert publish_hold.current_hold() is None
    assert at("www", "changed.test.") == rr("www 300 A 192.0.2.99", origin="changed.test.")
    assert at("old", "changed.test.") is None
    assert at("new", "changed.test.") == rr("new 60 A 192.0.2.6", origin="changed.test.")
    kept = at("off", "changed.test.")
    assert kept is not None
    assert (kept.served, kept.disabled, kept.comment) == (("192.0.2.7",), ("192.0.2.4",), "keep")
    assert Zone.objects.get(name="changed.test.").serial > 4
    new = Zone.objects.get(name="new.test.")
    assert new.pk == new_id
    assert at("a.b", "new.test.") is not None
    assert Zone.objects.get(name="deleted.test.").deleted_at is not None
    assert Zone.objects.get(name="trashed.test.").deleted_at is None
    assert Zone.objects.get(name="same.test.").serial == 1
    assert Epoch.objects.get().by == alice


def test_keeping_the_panels_only_raises_serials(restored: Served, alice: User) -> None:
    before = {(r.zone_id, r.name, r.type): r.rdata for r in RRset.objects.exclude(type=6)}
    decide(made_report(), Choice.KEEP, alice)
    assert {(r.zone_id, r.name, r.type): r.rdata for r in RRset.objects.exclude(type=6)} == before
    assert Zone.objects.get(name="changed.test.").serial == 5
    assert Zone.objects.get(name="same.test.").serial == 1
    assert not Zone.objects.filter(name="new.test.").exists()
    there = restored.agent.status().position
    assert there is not None
    assert LogHead.objects.get().sequence > there.sequence
    create("next.test.")
    assert Zone.objects.get(name="next.test.").pk > (restored.agent.store.zone_id("new.test.") or 0)


def test_a_decision_is_carried_out_once(restored: Served, alice: User) -> None:
    decide(made_report(), Choice.KEEP, alice)
    revisions, epoch = Revision.objects.count(), LogHead.objects.get().epoch
    assert decision.step(now=timezone.now()) == "nothing is held"
    assert (Revision.objects.count(), LogHead.objects.get().epoch) == (revisions, epoch)


def test_the_same_serial_with_other_records_is_seen_too(served: Serve) -> None:
    made = served()
    create("forked.test.", "www 300 A 192.0.2.1")
    create("same.test.", "www 300 A 192.0.2.1")
    publish_to(made)
    yesterday = Yesterday()
    change("forked.test.", "www 300 A 192.0.2.77")
    publish_to(made)
    yesterday.come_back()
    change("forked.test.", "www 300 A 192.0.2.88")
    report = made_report()
    assert Zone.objects.get(name="forked.test.").serial == 2
    (zone,) = report.zones.all()
    assert (zone.name, zone.serial_here, zone.serial_there) == ("forked.test.", 2, 2)
    (rrset,) = zone.rrsets.all()
    assert (rrset.here["rdata"], rrset.there["rdata"]) == (["192.0.2.88"], ["192.0.2.77"])


def test_a_zone_made_again_under_another_id_is_one_zone(served: Serve) -> None:
    made = served()
    create("one.test.")
    publish_to(made)
    yesterday = Yesterday()
    create("again.test.", "www 300 A 192.0.2.1")
    publish_to(made)
    yesterday.come_back()
    create("other.test.")
    create("again.test.", "www 300 A 192.0.2.2")
    report = made_report()
    found = {zone.name: zone for zone in report.zones.all()}
    assert set(found) == {"again.test.", "other.test."}
    assert found["again.test."].id_here != found["again.test."].id_there
    assert found["again.test."].rrsets.get().there["rdata"] == ["192.0.2.1"]
    assert found["other.test."].id_there is None


def test_a_node_that_is_only_behind_has_nothing_to_take_over(served: Serve) -> None:
    made = served()
    create("one.test.")
    publish_to(made)
    create("two.test.")
    report = made_report()
    assert not report.is_ahead
    assert "don’t have any changes" in unknown_history.may_choose(report, Choice.TAKE_OVER)
    assert unknown_history.may_choose(report, Choice.KEEP) == ""


def test_nodes_that_do_not_answer_are_named_and_asked_again(served: Serve) -> None:
    made = served()
    made.agent.stop()
    report = made_report()
    assert report.ended_at is None
    assert "responded" in report.error
    assert report.silent_nodes == ["ns1"]
    assert decision.step(now=timezone.now()) == "waits for a person"
    assert decision.step(now=timezone.now() + timedelta(seconds=20)) == "the nodes were asked"


def test_a_history_that_only_nodes_know_is_remembered(restored: Served, alice: User) -> None:
    there = restored.agent.status().position
    assert there is not None
    LogHead.objects.update(epoch=uuid4())
    Epoch.objects.all().delete()
    from dnspanel.zones.models import Publication

    Publication.objects.update(epoch=LogHead.objects.get().epoch)
    assert not publish_hold.is_of_this_history(there.epoch)
    report = made_report()
    assert report.foreign_epochs == [there.epoch]
    assert report.is_ahead
    decide(report, Choice.KEEP, alice)
    assert publish_hold.is_of_this_history(there.epoch)


def test_zones_without_a_soa_on_the_node_are_named_and_stay_out(restored: Served, alice: User) -> None:
    report = made_report()
    AheadZone.objects.filter(report=report, name="new.test.").update(error="it has no SOA record there")
    assert (unknown_history.numbers(report).unreadable, unknown_history.numbers(report).created_count) == (1, 1)
    decide(report, Choice.TAKE_OVER, alice)
    assert not Zone.objects.filter(name="new.test.").exists()
    assert at("www", "changed.test.") == rr("www 300 A 192.0.2.99", origin="changed.test.")


def test_what_never_travels_stays_when_an_rrset_is_taken_over() -> None:
    here = rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",), comment="mine")
    there = rr("www 60 A 192.0.2.9")
    assert taken_over(None, there) == there
    assert taken_over(rr("www 300 A 192.0.2.1"), None) is None
    assert taken_over(here, there) == rr("www 60 A 192.0.2.9 | 192.0.2.2", disabled=("192.0.2.2",), comment="mine")
    assert taken_over(here, None) == rr("www 300 A 192.0.2.2", disabled=("192.0.2.2",), comment="mine")
    served_again = taken_over(here, rr("www 300 A 192.0.2.2"))
    assert served_again == rr("www 300 A 192.0.2.2", comment="mine")


def test_pages_of_a_nodes_zones_do_not_change_what_is_found(restored: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_history_report, "_PAGE", 1)
    monkeypatch.setattr(unknown_history_report, "_DIGEST_RRSETS", 1)
    names = set(made_report().zones.values_list("name", flat=True))
    assert names == {"changed.test.", "deleted.test.", "new.test.", "trashed.test."}
