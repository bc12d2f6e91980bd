"""Tests of the inputs of alert rules, which come from PostgreSQL and Redis."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.backup.conditions import BackupInputs
from dnspanel.backup.models import Backup
from dnspanel.conditions import NamedZones
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.models import Bootstrap, Delivery, Divergence, Node, ParentCheck
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, beat
from dnspanel.primaries.conditions import TransfersInputs
from dnspanel.primaries.models import TransferredZone
from dnspanel.processes.redis_health import RedisProblem
from dnspanel.publish.conditions import PublishInputs
from dnspanel.publish.models import Segment, Snapshot, Stall
from dnspanel.zones.conditions import LogInputs
from dnspanel.zones.models import Expiry, LogHead, Publication, Rollover, Zone
from dnspanel.zones.publishing.expiry import set_expiry
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db


def publish(sequence: int, **inputs: Any) -> None:
    head = LogHead.objects.get()
    given = {"epoch": head.epoch, "at": NOW + timedelta(seconds=sequence), "channel": "web", **inputs}
    Publication.objects.create(sequence=sequence, **given)
    LogHead.objects.update(sequence=sequence)


def seal(first: int, last: int, schema: int = 4, **inputs: Any) -> None:
    head = LogHead.objects.get()
    Segment.objects.create(
        epoch=head.epoch,
        schema=schema,
        first=first,
        last=last,
        object_name=f"{schema}/{first}",
        size=1,
        digest=bytes(32),
        sealed_at=NOW,
        **inputs,
    )


def test_a_panel_in_which_nothing_ever_happened_has_nothing_to_tell() -> None:
    inputs = read(NOW)
    assert (
        inputs.of(FleetInputs).nodes,
        inputs.of(PublishInputs).stalls,
        inputs.of(FleetInputs).unencoded_since,
        inputs.of(LogInputs).hold_reason,
    ) == ((), (), None, "")
    assert (
        inputs.of(FleetInputs).collector_at,
        inputs.of(BackupInputs).backup_at,
        inputs.of(FleetInputs).set_up_at,
        inputs.of(LogInputs).failed,
    ) == (None, None, None, ())
    assert inputs.of(PanelInputs).redis_problem is None
    assert 0 < inputs.of(PanelInputs).disk_free_bytes < inputs.of(PanelInputs).disk_bytes


def test_the_oldest_publication_that_some_schema_lacks(settings: Any) -> None:
    settings.SCHEMAS = [4, 5]
    for sequence in range(1, 6):
        publish(sequence)
    assert read(NOW).of(FleetInputs).unencoded_since == NOW + timedelta(seconds=1)
    seal(1, 5)
    reading = read(NOW)
    assert (reading.of(FleetInputs).head, reading.of(FleetInputs).encoded) == (5, {4: 5, 5: 0})
    assert reading.of(FleetInputs).unencoded_since is None  # 5 is being encoded
    seal(1, 3, schema=5)
    assert read(NOW).of(FleetInputs).unencoded_since == NOW + timedelta(seconds=4)
    Snapshot.objects.create(
        epoch=LogHead.objects.get().epoch,
        schema=5,
        sequence=5,
        object_name="s",
        size=1,
        raw_size=1,
        chunks=1,
        digest=bytes(32),
        made_at=NOW,
    )
    assert read(NOW).of(FleetInputs).unencoded_since is None


def test_what_was_recorded_of_nodes(active_node: MakeNode) -> None:
    node, other = active_node("ns1"), active_node("ns2")
    Node.objects.filter(pk=node.pk).update(
        report={"clock": NOW.timestamp() + 42, "map_used": 0.5}, reported_at=NOW, digest_equal=False
    )
    for zone in (1, 2):
        Divergence.objects.create(node=node, zone_id=zone, words="x", found_at=NOW + timedelta(seconds=zone))
    Divergence.objects.create(node=other, zone_id=1, words="x", found_at=NOW, repaired_at=NOW)
    Bootstrap.objects.create(node=other, reason="new", schema=4, asked_at=NOW, error="no room")
    first, second = read(NOW).of(FleetInputs).nodes
    assert (first.name, first.clock_offset, first.digest_equal) == ("ns1", pytest.approx(42), False)
    assert (first.diverged, first.diverged_since) == (2, NOW + timedelta(seconds=1))
    assert (second.diverged, second.clock_offset, second.report) == (0, None, {})
    assert (second.bootstrap_since, second.bootstrap_error) == (NOW, "no room")
    assert first.certificate_expires_at is not None


def test_what_was_recorded_of_the_panel(active_node: MakeNode) -> None:
    active_node()
    beat(process=COLLECTOR, now=NOW)
    Stall.objects.create(schema=4, sequence=1, message="x.test. is broken", since=NOW, tried_at=NOW)
    Delivery.objects.create(stopped_reason="SERVFAIL", stopped_at=NOW, pinned=3, pinned_reason="night", pinned_at=NOW)
    Backup.objects.create(at=NOW, epoch=LogHead.objects.get().epoch, sequence=1, size=1, seconds=1)
    publish(1, failed_reason="it crashed")
    publish(2, failed_reason="long ago", at=NOW - timedelta(days=2))
    LogHead.objects.update(held_reason="ns1 is ahead")
    seal(1, 1, damaged=True)
    inputs = read(NOW)
    assert (
        inputs.of(FleetInputs).collector_at,
        inputs.of(BackupInputs).backup_at,
        inputs.of(LogInputs).hold_reason,
    ) == (NOW, NOW, "ns1 is ahead")
    assert (
        inputs.of(PublishInputs).stalls,
        inputs.of(LogInputs).failed,
        inputs.of(PublishInputs).damaged_segments,
    ) == (("x.test. is broken",), ((1, "it crashed", None),), 1)
    assert (
        inputs.of(FleetInputs).delivery.stopped_reason,
        inputs.of(FleetInputs).delivery.pinned,
        inputs.of(FleetInputs).delivery.pinned_reason,
    ) == (
        "SERVFAIL",
        3,
        "night",
    )
    assert inputs.of(FleetInputs).certificate_expires_at is not None
    assert inputs.of(FleetInputs).set_up_at is not None


def test_a_redis_that_does_not_answer_is_a_fact_and_no_error(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    assert read(NOW).of(PanelInputs).redis_problem is RedisProblem.AWAY


def test_as_many_queries_for_thirty_nodes_as_for_one(active_node: MakeNode) -> None:
    publish(1)
    counted = []
    for number in range(30):
        node = active_node(f"ns{number}")
        Divergence.objects.create(node=node, zone_id=1, words="x", found_at=NOW)
        Bootstrap.objects.create(node=node, reason="new", schema=4, asked_at=NOW)
        if number in {0, 29}:
            with CaptureQueriesContext(connection) as queries:
                assert len(read(NOW).of(FleetInputs).nodes) == number + 1
            counted.append(len(queries))
    assert counted[0] == counted[1] <= 31  # five of them find the place of a waiting publication


def test_zones_whose_parents_are_a_trouble_are_named_and_counted(make_zone: MakeZone) -> None:
    def check(name: str, state: str, hours: int, silent: int | None = None, **zone: Any) -> None:
        made = make_zone(name=name)
        Zone.objects.filter(pk=made.pk).update(tags=[], **zone)
        since = None if silent is None else NOW - timedelta(hours=silent)
        ParentCheck.objects.create(
            zone=made, due_at=NOW, state=state, since=NOW - timedelta(hours=hours), silent_since=since
        )

    for number in range(22):
        check(f"z{number:02}.test.", "differs", number)
    check("bogus.test.", "bogus", 30)
    check("matches.test.", "matches", 90)
    check("none.test.", "no-ds", 90)
    check("coming.test.", "partial", 23)
    check("late.test.", "partial", 24)
    check("deleted.test.", "bogus", 9, deleted_at=NOW)
    check("silent.test.", "unknown", 99, silent=48)
    check("busy.test.", "matches", 99, silent=47)
    inputs = read(NOW)
    assert inputs.of(FleetInputs).misled.count == 24
    assert [name for name, _ in inputs.of(FleetInputs).misled.first[:3]] == ["bogus.test.", "late.test.", "z21.test."]
    assert len(inputs.of(FleetInputs).misled.first) == 20
    assert inputs.of(FleetInputs).unknown == NamedZones(1, (("silent.test.", NOW - timedelta(hours=48)),))


def test_rollovers_that_wait_for_too_long_are_named(make_zone: MakeZone) -> None:
    epoch = LogHead.objects.get().epoch

    def rollover(name: str, hours: float, **fields: Any) -> None:
        since = NOW - timedelta(hours=hours)
        times = {"started_at": since, "step_at": since, "waits_since": since, "clock": since, "looked_at": since}
        known = {"step_revision": 1, "record_ttl": 60, "key_ttl": 60, "ttls_revision": 1, "parent_at": since}
        zone = make_zone(name=name)
        Rollover.objects.create(zone=zone, kind="csk", step="ds", old_keys=[1], epoch=epoch, **times, **known, **fields)

    rollover("stuck.test.", 0, is_stuck=True)
    rollover("late.test.", 0.6, late=["ns1"])
    rollover("recent.test.", 0.4, late=["ns1"])
    rollover("silent.test.", 7, parent_silent="No answer.")
    rollover("told.test.", 73, add_ds=["1 13 2 ab"])
    rollover("waits.test.", 1000)
    rollover("over.test.", 1000, is_stuck=True, ended_at=NOW)
    assert [name for name, _ in read(NOW).of(LogInputs).rollovers.first] == [
        "told.test.",
        "silent.test.",
        "late.test.",
        "stuck.test.",
    ]


def test_zones_with_a_record_that_stays_though_it_expired_are_named(alice: User, make_zone: MakeZone) -> None:
    for name, refusals in (
        ("stays.test.", ["", "refused", "refused"]),
        ("waits.test.", [""]),
        ("gone.test.", ["refused"]),
    ):
        zone = make_zone(*(f"h{number} 300 A 192.0.2.1" for number in range(len(refusals))), name=name)
        for number, refusal in enumerate(refusals):
            at = NOW + timedelta(hours=number)
            key = (f"h{number}.{name}", 1)
            set_expiry(zone=zone, key=key, remove_at=at, author=alice, now=NOW - timedelta(days=1))
            Expiry.objects.filter(name=key[0]).update(refusal=refusal)
    Zone.objects.filter(name="gone.test.").update(deleted_at=NOW)
    assert read(NOW + timedelta(hours=5)).of(LogInputs).expired == NamedZones(
        1, (("stays.test.", NOW + timedelta(hours=1)),)
    )
    assert read(NOW).of(LogInputs).expired == NamedZones()


def test_zones_to_which_nothing_comes_are_named_from_when_somebody_is_to_be_told(make_zone: MakeZone) -> None:
    for name, alert_after, failed_after in (
        ("silent.test.", timedelta(minutes=15), timedelta(0)),
        ("refused.test.", timedelta(hours=1), timedelta(hours=1)),
        ("gone.test.", timedelta(0), timedelta(0)),
        ("well.test.", None, None),
    ):
        TransferredZone.objects.create(
            zone=make_zone(name=name),
            addresses=["192.0.2.53"],
            alert_at=None if alert_after is None else NOW + alert_after,
            failed_since=None if failed_after is None else NOW + failed_after,
            error=f"nothing of {name}",
        )
    Zone.objects.filter(name="gone.test.").update(deleted_at=NOW)
    assert read(NOW + timedelta(minutes=14)).of(TransfersInputs) == TransfersInputs()
    first = ("silent.test.", NOW)
    found = read(NOW + timedelta(minutes=15)).of(TransfersInputs)
    assert found == TransfersInputs(NamedZones(1, (first,)), "nothing of silent.test.")
    Zone.objects.filter(name="refused.test.").update(is_served=False)
    both = NamedZones(2, (first, ("refused.test.", NOW + timedelta(hours=1))))
    assert read(NOW + timedelta(hours=2)).of(TransfersInputs) == TransfersInputs(both, "nothing of silent.test.", 1)


def test_zones_whose_signatures_end_soon_are_named(alice: User, make_zone: MakeZone) -> None:
    make_zone(name="plain.test.")
    for name, days in (
        ("ended.test.", -1),
        ("week.test.", 7),
        ("later.test.", 7.1),
        ("soon.test.", 1),
        ("gone.test.", 1),
    ):
        presigned_zone(alice, name=name, end=f"{NOW + timedelta(days=days):%Y%m%d%H%M%S}")
    Zone.objects.filter(name="gone.test.").update(deleted_at=NOW)
    found = read(NOW).of(LogInputs).ending
    assert (found.count, [name for name, _ in found.first]) == (3, ["ended.test.", "soon.test.", "week.test."])
    assert found.first[2][1] == (NOW + timedelta(days=7)).replace(microsecond=0)
