"""Snapshots: made from a store that continues to publish, and opened only if signature and hashes are right."""

import threading
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from replication.errors import BadSignature, BadSnapshot, Busy, UnknownSchema
from replication.store import snapshot
from replication.store.snapshot import (
    CHUNK_SIZE,
    MANIFEST_NAME,
    Manifest,
    SnapshotFile,
    chunk_name,
    open_manifest,
    snapshot_id,
    write_snapshot,
)
from replication.store.store import Store
from replication.wire.position import Position
from tests.replication.panel import (
    CLUSTER,
    EPOCH,
    MAP_SIZE,
    PUBLIC_KEYS,
    SIGNING_KEY,
    TIME_NS,
    Panel,
    records,
    small_zone,
    zone_digest,
)

ZONE = "example.test."


def write(panel: Panel, directory: Path) -> Manifest:
    return write_snapshot(panel.store, directory, key=SIGNING_KEY, time_ns=TIME_NS)


def unpack(directory: Path, manifest: Manifest, path: Path) -> Path:
    """Unpack the two files of a snapshot to `path` and `<path>-0`."""
    paths = {SnapshotFile.MAIN: path, SnapshotFile.RECORDS: path.with_name(path.name + "-0")}
    for target in paths.values():
        target.touch()
    for number, chunk in enumerate(manifest.chunks):
        with paths[chunk.file].open("r+b") as file:
            file.seek(chunk.offset)
            file.write(chunk.open((directory / chunk_name(number)).read_bytes()))
    return path


def test_a_snapshot_is_the_store_as_it_was_at_its_position(panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.9"))
    manifest = write(panel, tmp_path / "snapshot")
    digests = panel.store.digests()
    panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.10"))
    assert manifest.position == Position(EPOCH, 2)
    assert (manifest.digest_main, manifest.digest_records) == digests
    path = unpack(tmp_path / "snapshot", manifest, tmp_path / "copy.lmdb")
    with Store.open(path, 4, MAP_SIZE, cluster=CLUSTER, create=False) as copy:
        assert copy.position() == Position(EPOCH, 2)
        assert copy.zone_id(ZONE) == 1
        assert zone_digest(copy, 1) != zone_digest(panel.store, 1)


def test_its_directory_holds_the_manifest_and_its_chunks_and_nothing_else(panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    manifest = write(panel, tmp_path / "new" / "snapshot")
    names = {path.name for path in (tmp_path / "new" / "snapshot").iterdir()}
    assert names == {MANIFEST_NAME, *(chunk_name(number) for number in range(len(manifest.chunks)))}
    stored = sum(path.stat().st_size for path in (tmp_path / "new" / "snapshot").glob("0*"))
    assert stored == manifest.stored_size


def test_a_sealed_manifest_opens_as_what_it_was(panel: Panel, tmp_path: Path) -> None:
    panel.create(small_zone(ZONE))
    manifest = write(panel, tmp_path / "snapshot")
    sealed = (tmp_path / "snapshot" / MANIFEST_NAME).read_bytes()
    assert open_manifest(sealed, PUBLIC_KEYS) == manifest
    assert manifest.seal(SIGNING_KEY) == sealed
    assert snapshot_id(sealed) == snapshot_id(manifest.seal(SIGNING_KEY))


def test_files_larger_than_a_chunk_are_cut(panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHUNK_SIZE", 1 << 16)
    panel.create(*(small_zone(f"z{number}.test.") for number in range(2000)))
    manifest = write(panel, tmp_path / "snapshot")
    assert len(manifest.chunks) > 4
    assert open_manifest(manifest.seal(SIGNING_KEY), PUBLIC_KEYS) == manifest
    path = unpack(tmp_path / "snapshot", manifest, tmp_path / "copy.lmdb")
    with Store.open(path, 4, MAP_SIZE, cluster=CLUSTER, create=False) as copy:
        assert copy.digests() == panel.store.digests()
        assert zone_digest(copy, 2000) == zone_digest(panel.store, 2000)


def test_a_snapshot_of_a_publisher_at_work_is_at_one_position(panel: Panel, tmp_path: Path) -> None:
    panel.create(*(small_zone(f"z{number}.test.") for number in range(300)))
    done = threading.Event()

    def publish() -> None:
        number = 0
        while not done.is_set():
            number += 1
            panel.change(f"z{number % 300}.test.", records(f"z{number % 300}.test.", "www", "A", 300, "192.0.2.7"))
            panel.create(small_zone(f"n{number}.test."))

    publishing = threading.Thread(target=publish)
    publishing.start()
    try:
        manifests = [write(panel, tmp_path / f"s{number}") for number in range(5)]
    finally:
        done.set()
        publishing.join()
    assert len({manifest.position for manifest in manifests}) > 1, "the publisher went on meanwhile"
    for number, manifest in enumerate(manifests):
        path = unpack(tmp_path / f"s{number}", manifest, tmp_path / f"c{number}.lmdb")
        with Store.open(path, 4, MAP_SIZE, cluster=CLUSTER, create=False) as copy:
            assert copy.position() == manifest.position
            check = copy.check()
            assert all(True for _ in check.everything())
            assert check.is_done
            assert not check.diverged


def test_nothing_is_made_of_a_store_without_a_position(panel: Panel, tmp_path: Path) -> None:
    with pytest.raises(Busy):
        panel.store.copy(tmp_path / "copy.lmdb", seconds=0)
    panel.store.refuse_segments()
    with pytest.raises(Busy):
        panel.store.copy(tmp_path / "copy.lmdb", seconds=0)
    assert not (tmp_path / "copy.lmdb").exists()


def test_a_failure_leaves_no_directory_behind(panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    panel.create(small_zone(ZONE))
    with pytest.raises(TypeError):
        write_snapshot(panel.store, tmp_path / "snapshot", key=SIGNING_KEY, time_ns=TIME_NS, level="best")  # type: ignore[arg-type]
    assert not (tmp_path / "snapshot").exists()


# --- what is refused


@pytest.fixture
def manifest(panel: Panel, tmp_path: Path) -> Manifest:
    panel.create(small_zone(ZONE))
    return write(panel, tmp_path / "snapshot")


def test_a_manifest_that_nobody_we_know_has_signed_is_refused(manifest: Manifest) -> None:
    with pytest.raises(BadSignature):
        open_manifest(manifest.seal(Ed25519PrivateKey.generate()), PUBLIC_KEYS)
    with pytest.raises(BadSignature):
        open_manifest(manifest.seal(SIGNING_KEY), [])


def test_every_flipped_bit_of_a_manifest_is_noticed(manifest: Manifest) -> None:
    sealed = manifest.seal(SIGNING_KEY)
    for at in range(len(sealed)):
        altered = bytearray(sealed)
        altered[at] ^= 1
        with pytest.raises((BadSignature, BadSnapshot)):
            open_manifest(bytes(altered), PUBLIC_KEYS)


def test_a_manifest_cut_short_is_refused(manifest: Manifest) -> None:
    sealed = manifest.seal(SIGNING_KEY)
    for size in (0, 3, 100, len(sealed) - 1):
        with pytest.raises((BadSignature, BadSnapshot)):
            open_manifest(sealed[:size], PUBLIC_KEYS)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: {"chunks": m.chunks[:-1]},
        lambda m: {"chunks": m.chunks + m.chunks[-1:]},
        lambda m: {"chunks": m.chunks[::-1]},
        lambda m: {"records_size": m.records_size + 1},
        lambda m: {"main_size": m.main_size + CHUNK_SIZE},
        lambda m: {"chunks": (replace(m.chunks[0], offset=4096), m.chunks[1])},
        lambda m: {"chunks": (replace(m.chunks[0], raw_size=1), m.chunks[1])},
        lambda m: {"chunks": (replace(m.chunks[0], size=1 << 30), m.chunks[1])},
        lambda m: {"chunks": (replace(m.chunks[0], size=0), m.chunks[1])},
    ],
)
def test_chunks_that_do_not_fill_the_files_are_refused_though_signed(manifest: Manifest, change: object) -> None:
    altered = replace(manifest, **change(manifest))  # type: ignore[operator]
    with pytest.raises(BadSnapshot):
        open_manifest(altered.seal(SIGNING_KEY), PUBLIC_KEYS)


def test_a_schema_that_nobody_knows_is_refused_though_signed(manifest: Manifest) -> None:
    with pytest.raises(UnknownSchema):
        open_manifest(replace(manifest, schema=9).seal(SIGNING_KEY), PUBLIC_KEYS)


def test_a_chunk_that_is_not_the_one_named_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    chunk = manifest.chunks[0]
    stored = (tmp_path / "snapshot" / chunk_name(0)).read_bytes()
    assert len(chunk.open(stored)) == chunk.raw_size
    flipped = stored[:-1] + bytes((stored[-1] ^ 1,))
    for wrong in (b"", stored[:-1], stored + b"\0", flipped, (tmp_path / "snapshot" / chunk_name(1)).read_bytes()):
        with pytest.raises(BadSnapshot, match="is not what the manifest names"):
            chunk.open(wrong)
    with pytest.raises(BadSnapshot, match="bytes that the manifest names"):
        replace(chunk, raw_size=chunk.raw_size - 1).open(stored)


def test_manifests_of_other_clusters_are_told_apart(manifest: Manifest) -> None:
    other = replace(manifest, cluster=UUID(int=1))
    assert open_manifest(other.seal(SIGNING_KEY), PUBLIC_KEYS).cluster == UUID(int=1)
    assert snapshot_id(other.seal(SIGNING_KEY)) != snapshot_id(manifest.seal(SIGNING_KEY))
