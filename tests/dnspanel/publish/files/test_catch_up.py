"""Tests of the panel's LMDB: it follows its segments, and is rebuilt from PostgreSQL if segments are missing."""

import shutil
from pathlib import Path
from uuid import uuid4

import pytest
from django.utils import timezone

from dnspanel.publish.encoding import encode
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.files.snapshots import make_snapshot, read_manifest
from dnspanel.publish.models import Segment, Snapshot, Stall
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Epoch, LogHead, Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from tests.dnspanel.publish.encoding.test_encode import (
    assert_equal_to_postgresql,
    change,
    create,
    encode_all,
    rrset,
    store,
)

pytestmark = pytest.mark.django_db(transaction=True)


def make_log(changes: int = 4) -> Zone:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    gone = create("gone.test.")
    encode_all()
    edit.delete_zone(zone=gone, acting=Acting(None, "system", timezone.now()))
    encode_all()
    for number in range(changes):
        change(zone, rrset("www.example.test.", rdtypes.A, f"192.0.2.{number + 2}"))
        encode_all()
    return zone


def lose_the_lmdb(directory: Path) -> None:
    this_publisher().close()
    shutil.rmtree(directory / "publisher")


def go_on(zone: Zone) -> None:
    """Publish a change, and check that the LMDB equals PostgreSQL."""
    change(zone, rrset("new.example.test.", rdtypes.A, "192.0.2.99"))
    encode_all()
    assert not Stall.objects.exists()
    head = LogHead.objects.get()
    position = store().position()
    assert position is not None
    assert (position.epoch, position.sequence) == (head.epoch, head.sequence)
    assert_equal_to_postgresql()


def test_a_lost_lmdb_behind_the_pruned_log_is_made_from_postgresql(publisher_directory: Path) -> None:
    zone = make_log()
    make_snapshot(schema=4, now=timezone.now())
    Segment.objects.filter(last__lt=5).delete()
    lose_the_lmdb(publisher_directory)
    go_on(zone)
    assert store().zone_id("gone.test.") is None


def test_an_old_lmdb_behind_the_pruned_log_is_made_from_postgresql(publisher_directory: Path) -> None:
    zone = make_log(1)
    this_publisher().close()
    shutil.copytree(publisher_directory / "publisher", publisher_directory / "old")
    for number in range(3):
        change(zone, rrset("www.example.test.", rdtypes.A, f"192.0.2.{number + 50}"))
        encode_all()
    lose_the_lmdb(publisher_directory)
    shutil.copytree(publisher_directory / "old", publisher_directory / "publisher")
    Segment.objects.filter(last__lt=6).delete()
    go_on(zone)


def test_a_lost_lmdb_is_made_from_postgresql_where_a_segment_is_damaged(publisher_directory: Path) -> None:
    zone = make_log()
    segment = Segment.objects.get(last=4)
    path = publisher_directory / "segments" / segment.object_name
    path.write_bytes(path.read_bytes()[:-10])
    lose_the_lmdb(publisher_directory)
    go_on(zone)
    segment.refresh_from_db()
    assert segment.damaged


def test_a_lost_lmdb_is_made_from_postgresql_where_an_object_is_missing(publisher_directory: Path) -> None:
    zone = make_log()
    (publisher_directory / "segments" / Segment.objects.get(last=4).object_name).unlink()
    lose_the_lmdb(publisher_directory)
    go_on(zone)
    assert Segment.objects.get(last=4).damaged


def test_what_is_made_anew_must_be_what_the_last_segment_says(publisher_directory: Path) -> None:
    make_log()
    Segment.objects.filter(last=4).delete()
    Segment.objects.filter(last=7).update(digest=bytes(32))
    lose_the_lmdb(publisher_directory)
    assert encode_step(now=timezone.now()) is None
    assert "PostgreSQL's content" in Stall.objects.get().message


def begin_epoch(after: int) -> None:
    epoch = uuid4()
    Epoch.objects.create(epoch=epoch, began_at=timezone.now(), began_after=after, reason="a test")
    LogHead.objects.update(epoch=epoch, sequence=after)


def test_a_new_epoch_begins_with_a_snapshot_of_what_postgresql_holds() -> None:
    zone = make_log()
    begin_epoch(after=500)
    encode_all()
    snapshot = Snapshot.objects.get()
    head = LogHead.objects.get()
    assert (snapshot.epoch, snapshot.sequence) == (head.epoch, 500)
    assert read_manifest(snapshot)[1].position.sequence == 500
    assert not Segment.objects.filter(epoch=head.epoch).exists()
    assert_equal_to_postgresql()
    go_on(zone)
    assert list(Segment.objects.filter(epoch=head.epoch).values_list("first", "last")) == [(501, 501)]


def test_a_lmdb_of_an_earlier_epoch_is_made_anew(publisher_directory: Path) -> None:
    zone = make_log()
    this_publisher().close()
    shutil.copytree(publisher_directory / "publisher", publisher_directory / "old")
    begin_epoch(after=500)
    encode_all()
    lose_the_lmdb(publisher_directory)
    shutil.copytree(publisher_directory / "old", publisher_directory / "publisher")
    go_on(zone)


def test_an_epoch_that_nobody_began_stops_everything_in_words() -> None:
    make_log()
    LogHead.objects.update(epoch=uuid4())
    assert encode_step(now=timezone.now()) is None
    assert "epoch" in Stall.objects.get().message


def test_a_schema_that_comes_late_begins_with_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnspanel.publish.reading.schemas import use_schema

    monkeypatch.setattr(encode, "LONGEST_FROM_BEGINNING", 3)
    zone = make_log()
    use_schema(schema=6, now=timezone.now())
    encode_all()
    assert list(Snapshot.objects.values_list("schema", "sequence")) == [(6, 7)]
    assert not Segment.objects.filter(schema=6).exists()
    go_on(zone)
    assert list(Segment.objects.filter(schema=6).values_list("first", "last")) == [(8, 8)]


def test_of_a_short_log_a_schema_that_comes_late_gets_all() -> None:
    from dnspanel.publish.reading.schemas import use_schema

    make_log()
    use_schema(schema=6, now=timezone.now())
    encode_all()
    assert Segment.objects.get(schema=6).last == 7
    assert not Snapshot.objects.exists()
