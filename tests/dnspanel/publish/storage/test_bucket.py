"""Tests of the segment storage in a bucket, against a real S3-compatible service."""

import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.errors import DamagedObject, StorageUnreachable
from dnspanel.publish.files.snapshots import make_snapshot, read_chunk, read_manifest
from dnspanel.publish.models import PreparedRows, Segment, Stall
from dnspanel.publish.storage import bucket
from dnspanel.publish.storage.objects import (
    delete_object,
    objects_below,
    open_object,
    open_segment_object,
    put_object,
    read_object,
)
from dnspanel.publish.storage.prune import GARBAGE_LIFETIME, prune_log, remove_garbage
from dnspanel.zones.models import Zone
from replication.dns import rdtypes
from tests.dnspanel.publish.audited import audit_store
from tests.dnspanel.publish.bucket_server import BucketServer
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset
from tests.dnspanel.publish.reading.test_prepared import prepare, publish_zones

PREFIX = "panel/one/"


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    server = BucketServer(tmp_path_factory.mktemp("bucket"))
    yield server
    server.stop()


@pytest.fixture
def server(running_server: BucketServer, publisher_directory: Path, settings: Any) -> BucketServer:
    """Return the emptied service, configured as the panel's segment storage."""
    for key in running_server.objects():
        running_server.remove(key)
    settings.STORAGES = settings.STORAGES | {"segments": running_server.storage}
    return running_server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the timeouts for a service that doesn't answer."""
    monkeypatch.setattr(bucket, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(bucket, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(bucket, "ATTEMPTS", 1)


def test_an_object_is_stored_below_the_prefix_and_read_back(server: BucketServer) -> None:
    for _ in range(2):
        put_object("4/some-segment", b"segment")
    assert server.objects() == [f"{PREFIX}4/some-segment"]
    assert read_object("4/some-segment") == b"segment"
    with open_object("4/some-segment") as file:
        assert (file.read(3), file.read()) == (b"seg", b"ment")


def test_storing_it_again_mends_a_damaged_object(server: BucketServer) -> None:
    server.put(f"{PREFIX}4/some-segment", b"seg")
    put_object("4/some-segment", b"segment")
    assert read_object("4/some-segment") == b"segment"


def test_a_missing_object_is_damage_and_may_be_removed_again(server: BucketServer) -> None:
    with pytest.raises(DamagedObject, match="missing"):
        open_object("4/some-segment")
    delete_object("4/some-segment")


def test_objects_are_listed_by_age(server: BucketServer) -> None:
    for name in ("prepared/a", "prepared/b", "4/c"):
        put_object(name, b"x")
    later = timezone.now() + timedelta(hours=1)
    assert list(objects_below("prepared", before=later)) == ["prepared/a", "prepared/b"]
    assert list(objects_below("prepared", before=later - timedelta(hours=2))) == []
    assert list(objects_below("nothing", before=later)) == []


def test_a_service_that_refuses_or_is_silent_is_unreachable(
    server: BucketServer, settings: Any, impatient: None
) -> None:
    options = server.storage["OPTIONS"]
    assert isinstance(options, dict)
    for wrong in ({"bucket_name": "no-such-bucket"}, {"endpoint_url": "http://127.0.0.1:9"}):
        settings.STORAGES = settings.STORAGES | {"segments": server.storage | {"OPTIONS": options | wrong}}
        with pytest.raises(StorageUnreachable):
            put_object("4/some-segment", b"segment")
    settings.STORAGES = settings.STORAGES | {"segments": dict(server.storage)}
    server.pause(signal.SIGSTOP)
    try:
        for act in (lambda: put_object("4/x", b"x"), lambda: read_object("4/x"), lambda: delete_object("4/x")):
            with pytest.raises(StorageUnreachable):
                act()
    finally:
        server.pause(signal.SIGCONT)


@pytest.mark.django_db(transaction=True)
def test_segments_snapshots_and_prepared_rows_live_in_it(server: BucketServer) -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    prepare(publish_zones())
    assert len([key for key in server.objects() if key.startswith(f"{PREFIX}prepared/")]) == 1
    change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
    encode_all()
    assert not PreparedRows.objects.exists()
    for segment in Segment.objects.all():
        with open_segment_object(segment.object_name) as file:
            assert len(file.read()) == segment.size
    snapshot = make_snapshot(schema=4, now=timezone.now())
    assert snapshot is not None
    _, manifest = read_manifest(snapshot)
    for number in range(snapshot.chunks):
        read_chunk(snapshot, manifest, number)
    prune_log(needed={}, now=timezone.now())
    remove_garbage(now=timezone.now() + 2 * GARBAGE_LIFETIME)
    place = snapshot.object_name.rpartition("/")[0]
    chunks = [f"{PREFIX}{place}/{number:05d}" for number in range(snapshot.chunks)]
    assert server.objects() == [*chunks, f"{PREFIX}{snapshot.object_name}"]
    audit = audit_store(schema=4)
    assert audit is not None
    assert audit.equal


@pytest.mark.django_db(transaction=True)
def test_while_it_is_away_publishing_waits_and_says_so_and_edits_are_saved(
    server: BucketServer, impatient: None
) -> None:
    zone = create("example.test.", rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    encode_all()
    server.pause(signal.SIGSTOP)
    try:
        change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.2"))
        change(zone, rrset("www.example.test.", rdtypes.A, "192.0.2.3"))
        assert Zone.objects.get().revision == 3
        assert encode_step(now=timezone.now()) is None
        assert "the segment storage failed" in Stall.objects.get().message
    finally:
        server.pause(signal.SIGCONT)
    assert encode_step(now=timezone.now()) is not None
    assert not Stall.objects.exists()
    assert list(Segment.objects.order_by("first").values_list("first", "last")) == [(1, 1), (2, 3)]


@pytest.mark.django_db(transaction=True)
def test_an_object_altered_in_the_bucket_is_never_given_out(server: BucketServer) -> None:
    create("example.test.")
    encode_all()
    name = Segment.objects.get().object_name
    content = bytearray(read_object(name))
    content[40] ^= 1
    server.put(PREFIX + name, bytes(content))
    with pytest.raises(DamagedObject, match="match its name"):
        open_segment_object(name)
