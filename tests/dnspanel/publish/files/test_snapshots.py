"""Tests of snapshots of the panel's LMDB: when one is due, storage, and equality with the segments."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.utils import timezone

from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.files.publisher import this_publisher
from dnspanel.publish.files.snapshots import (
    DUE_AGE,
    DUE_BYTES,
    DUE_SEGMENTS,
    Since,
    due_schemas,
    is_due,
    make_snapshot,
    read_chunk,
    read_manifest,
)
from dnspanel.publish.models import Garbage, Segment, Snapshot
from dnspanel.zones.models import LogHead
from replication.dns import rdtypes
from replication.errors import Diverged
from replication.store.snapshot import SnapshotFile
from replication.store.store import Store
from tests.dnspanel.publish.encoding.test_encode import create, encode_all, rrset
from tests.faults.disk import flip_bit

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("since", "due"),
    [
        # Nothing was published, at all or since then.
        (Since(None, timedelta(0), 0, 0, False), False),
        (Since(10 << 20, 30 * DAY, 0, 0, False), False),
        # No snapshot exists.
        (Since(None, timedelta(0), 1, 300, False), True),
        # A share of the snapshot's size, but at least a minimum.
        (Since(100, timedelta(0), 10, DUE_BYTES, False), False),
        (Since(100, timedelta(0), 10, DUE_BYTES + 1, False), True),
        (Since(40 << 20, timedelta(0), 10, 20 << 20, False), False),
        (Since(40 << 20, timedelta(0), 10, (20 << 20) + 1, False), True),
        # Many segments, or an old snapshot.
        (Since(40 << 20, timedelta(0), DUE_SEGMENTS + 1, 300, False), True),
        (Since(40 << 20, DUE_AGE, 1, 300, False), False),
        (Since(40 << 20, DUE_AGE + DAY, 1, 300, False), True),
        # No node can be brought past a damaged segment.
        (Since(40 << 20, timedelta(0), 1, 300, True), True),
    ],
)
def test_a_snapshot_is_due_when_one_is_missing_or_much_has_come_since(since: Since, due: bool) -> None:
    assert is_due(since) is due


@pytest.mark.django_db(transaction=True)
class TestMaking:
    def test_it_holds_what_the_last_segment_says(self, tmp_path: Path) -> None:
        zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
        encode_all()
        assert due_schemas(schemas=[4], now=timezone.now()) == [4]
        snapshot = make_snapshot(schema=4, now=timezone.now())
        assert snapshot is not None
        assert (snapshot.schema, snapshot.sequence) == (4, 1)
        assert bytes(snapshot.digest) == bytes(Segment.objects.get().digest)
        assert due_schemas(schemas=[4], now=timezone.now()) == []
        _, manifest = read_manifest(snapshot)
        assert manifest.raw_size == snapshot.raw_size
        files: dict[SnapshotFile, bytes] = {SnapshotFile.MAIN: b"", SnapshotFile.RECORDS: b""}
        for number, chunk in enumerate(manifest.chunks):
            files[chunk.file] += chunk.open(read_chunk(snapshot, manifest, number))
        (tmp_path / "copy").write_bytes(files[SnapshotFile.MAIN])
        (tmp_path / "copy-0").write_bytes(files[SnapshotFile.RECORDS])
        with Store.open(tmp_path / "copy", 4, 1 << 30, cluster=LogHead.objects.get().cluster) as store:
            assert store.zone_id("example.test.") == zone.pk
            assert b"".join(store.digests()) == bytes(snapshot.digest)

    def test_twice_at_one_position_is_once(self) -> None:
        create("example.test.")
        encode_all()
        assert make_snapshot(schema=4, now=timezone.now()) is not None
        assert make_snapshot(schema=4, now=timezone.now()) is None
        assert Snapshot.objects.count() == 1

    def test_of_two_that_make_it_at_once_one_counts_and_the_other_is_garbage(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        create("example.test.")
        encode_all()
        monkeypatch.setattr("dnspanel.publish.files.snapshots._exists", lambda *_: False)
        first = make_snapshot(schema=4, now=timezone.now())
        second = make_snapshot(schema=4, now=timezone.now() + DAY)
        assert first == second
        assert Garbage.objects.count() == 1 + first.chunks
        read_chunk(first, read_manifest(first)[1], 0)

    def test_without_a_log_or_an_lmdb_there_is_none(self) -> None:
        assert make_snapshot(schema=4, now=timezone.now()) is None
        create("example.test.")
        assert make_snapshot(schema=4, now=timezone.now()) is None

    def test_files_that_are_not_what_their_segment_says_are_never_offered(self) -> None:
        create("example.test.")
        encode_all()
        Segment.objects.update(digest=bytes(32))
        with pytest.raises(Diverged):
            make_snapshot(schema=4, now=timezone.now())
        assert not Snapshot.objects.exists()

    def test_an_altered_or_missing_object_is_damage(self, publisher_directory: Path) -> None:
        create("example.test.")
        encode_all()
        snapshot = make_snapshot(schema=4, now=timezone.now())
        assert snapshot is not None
        _, manifest = read_manifest(snapshot)
        place = publisher_directory / "segments" / snapshot.object_name
        chunk = place.with_name("00000")
        chunk.write_bytes(chunk.read_bytes()[:-1])
        with pytest.raises(DamagedObject):
            read_chunk(snapshot, manifest, 0)
        chunk.unlink()
        with pytest.raises(DamagedObject, match="missing"):
            read_chunk(snapshot, manifest, 0)
        flip_bit(place, place.stat().st_size - 1)
        with pytest.raises(DamagedObject):
            read_manifest(snapshot)

    def test_nothing_is_left_in_the_publishers_directory(self, publisher_directory: Path) -> None:
        create("example.test.")
        encode_all()
        make_snapshot(schema=4, now=timezone.now())
        assert [path.name for path in (publisher_directory / "publisher").iterdir()] == ["4"]
        assert storages["segments"].listdir("snapshots/4")[0] == [str(LogHead.objects.get().epoch)]
        assert this_publisher().directory == publisher_directory / "publisher"
