"""Tests of pruning: the segments that are dropped or kept, and the deletion of their objects."""

from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.snapshots import make_snapshot
from dnspanel.publish.models import FirstSealing, Garbage, PreparedRows, Segment, Snapshot
from dnspanel.publish.reading.prepared import put_prepared
from dnspanel.publish.storage.objects import put_object
from dnspanel.publish.storage.prune import (
    GARBAGE_LIFETIME,
    PREPARED_LIFETIME,
    Pruned,
    objects_of,
    prune_log,
    remove_garbage,
    remove_prepared_leftovers,
)
from dnspanel.zones.models import LogHead
from replication.dns import rdtypes
from tests.dnspanel.publish.audited import audit_store
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset

pytestmark = pytest.mark.django_db(transaction=True)

SOON = timedelta(minutes=1)


def make_log(changes: int, snapshots_at: tuple[int, ...]) -> None:
    """Create a log: sequence 1 creates a zone, and each later sequence changes it."""
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    for number in range(1, changes + 2):
        if number > 1:
            change(zone, rrset("www.example.test.", rdtypes.A, f"192.0.2.{number}"))
        encode_all()
        if number in snapshots_at:
            make_snapshot(schema=4, now=timezone.now())


def firsts() -> list[int]:
    return list(Segment.objects.order_by("first").values_list("first", flat=True))


def objects(directory: Path) -> set[str]:
    root = directory / "segments"
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def prune(needed: dict[int, int], now: datetime | None = None) -> Pruned:
    return prune_log(needed=needed, now=now or timezone.now() + SOON)


def test_what_every_node_has_and_a_snapshot_holds_is_dropped() -> None:
    make_log(5, snapshots_at=(4,))
    prune({4: 3})
    assert firsts() == [4, 5, 6]
    prune({4: 6})
    assert firsts() == [5, 6]


def test_without_a_node_the_snapshot_decides() -> None:
    make_log(5, snapshots_at=(4,))
    prune({})
    assert firsts() == [5, 6]


def test_without_a_snapshot_everything_stays() -> None:
    make_log(5, snapshots_at=())
    assert prune({4: 6}) == Pruned(0, 0, 0)
    assert firsts() == [1, 2, 3, 4, 5, 6]


def test_a_node_that_stays_away_holds_nothing_for_ever(settings) -> None:
    make_log(5, snapshots_at=(4,))
    prune({4: 1})
    assert firsts() == [2, 3, 4, 5, 6]
    assert FirstSealing.objects.exists()
    prune({4: 1}, now=timezone.now() + timedelta(days=settings.LOG_DAYS, hours=1))
    assert not FirstSealing.objects.exists()
    assert firsts() == [5, 6]


def test_what_lies_before_a_damaged_segment_leads_nowhere_and_goes_once_a_snapshot_is_there() -> None:
    make_log(5, snapshots_at=(2,))
    Segment.objects.filter(first=4).update(damaged=True)
    prune({4: 1})
    assert firsts() == [2, 3, 4, 5, 6]
    make_snapshot(schema=4, now=timezone.now())
    prune({4: 1})
    assert firsts() == [5, 6]


def test_objects_go_an_hour_after_their_rows(publisher_directory: Path) -> None:
    make_log(3, snapshots_at=(3,))
    named = set(Segment.objects.values_list("object_name", flat=True))
    prune({})
    gone = named - set(Segment.objects.values_list("object_name", flat=True))
    assert len(gone) == 3
    assert gone <= objects(publisher_directory)
    assert remove_garbage(now=timezone.now() + GARBAGE_LIFETIME / 2) == 0
    assert remove_garbage(now=timezone.now() + GARBAGE_LIFETIME + 2 * SOON) == 3
    assert not gone & objects(publisher_directory)
    assert not Garbage.objects.exists()


def test_an_object_that_counts_again_is_not_removed(publisher_directory: Path) -> None:
    make_log(1, snapshots_at=())
    name = Segment.objects.get(first=1).object_name
    Garbage.objects.create(object_name=name, since=timezone.now() - 2 * GARBAGE_LIFETIME)
    remove_garbage(now=timezone.now())
    assert name in objects(publisher_directory)
    assert not Garbage.objects.exists()


def test_the_newest_two_snapshots_stay(publisher_directory: Path) -> None:
    make_log(4, snapshots_at=(1, 2, 3, 4))
    oldest = Snapshot.objects.get(sequence=1)
    prune({4: 0})
    assert sorted(Snapshot.objects.values_list("sequence", flat=True)) == [3, 4]
    assert set(objects_of(oldest)) <= objects(publisher_directory)
    remove_garbage(now=timezone.now() + GARBAGE_LIFETIME + 2 * SOON)
    assert not set(objects_of(oldest)) & objects(publisher_directory)


def test_an_earlier_epoch_goes_once_the_present_one_has_a_snapshot() -> None:
    from dnspanel.zones.models import Epoch

    make_log(3, snapshots_at=(2,))
    former, new = LogHead.objects.get().epoch, uuid4()
    Epoch.objects.create(epoch=new, began_at=timezone.now(), began_after=100, reason="a test")
    LogHead.objects.update(epoch=new, sequence=100)
    prune({})
    assert Segment.objects.filter(epoch=former).count() == 4
    encode_all()
    prune({})
    assert not Segment.objects.filter(epoch=former).exists()
    assert list(Snapshot.objects.values_list("epoch", "sequence")) == [(new, 100)]


def test_the_publisher_goes_on_behind_a_log_of_which_nothing_is_left() -> None:
    make_log(3, snapshots_at=(4,))
    prune({})
    assert firsts() == []
    create("other.test.")
    assert encode_step(now=timezone.now()) is not None
    assert firsts() == [5]
    audit = audit_store(schema=4)
    assert audit is not None
    assert audit.equal


def test_what_was_prepared_for_a_publication_that_never_came_is_removed(publisher_directory: Path) -> None:
    left = put_prepared(puts=[(1, b"\x10" * 20)], rows=1, digest=1)
    kept = put_prepared(puts=[(1, b"\x11" * 20)], rows=1, digest=1)
    PreparedRows.objects.create(sequence=1, object_name=kept.object_name, rows=1, digest=bytes(16), size=kept.size)
    put_object("4/elsewhere", b"a segment")
    assert remove_prepared_leftovers(now=timezone.now()) == 0
    assert remove_prepared_leftovers(now=timezone.now() + PREPARED_LIFETIME + SOON) == 1
    assert objects(publisher_directory) == {kept.object_name, "4/elsewhere"}
    assert left.object_name not in objects(publisher_directory)


def test_without_a_log_there_is_nothing_to_prune() -> None:
    assert prune({}) == Pruned(0, 0, 0)
