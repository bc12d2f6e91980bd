"""Make snapshots of the panel's LMDB when they are due, and store them. Verbs.

    snapshots/<schema>/<epoch>/<sequence>-<hash>/manifest      `replication.store.snapshot`
    snapshots/<schema>/<epoch>/<sequence>-<hash>/00000 ...     its chunks

The chunks are stored before the manifest. The manifest is stored before the database row, which makes the snapshot
valid. The publisher continues to publish in the meantime.
"""

import logging
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dnspanel.database.sql import fetch_one
from dnspanel.publish.errors import DamagedObject
from dnspanel.publish.files.publisher import store_path, this_publisher
from dnspanel.publish.keys import segment_signing
from dnspanel.publish.models import Segment, Snapshot
from dnspanel.publish.storage.objects import put_object, read_object
from dnspanel.publish.storage.prune import discard_objects, objects_of
from dnspanel.texts import gettext
from dnspanel.zones.models import LogHead
from replication.errors import BadSnapshot, Diverged, ReplicationError
from replication.store.snapshot import MANIFEST_NAME, Manifest, chunk_name, open_manifest, snapshot_id, write_snapshot
from replication.store.store import Store
from replication.wire.position import Position

# A snapshot is due when the segments since the last one have this share of its size, and at least DUE_BYTES.
DUE_SHARE = 0.5
DUE_BYTES = 4 << 20
# A node takes this many segments in about the time that a snapshot of a small database takes.
DUE_SEGMENTS = 5_000
DUE_AGE = timedelta(days=1)
# Directories left by killed processes have this prefix.
_SCRATCH_PREFIX = "snapshot-"
_SCRATCH_SECONDS = 3600.0

_SINCE = """
    SELECT count(*), coalesce(sum(size), 0)::bigint, coalesce(bool_or(damaged), false)
    FROM publish_segment WHERE schema = %s AND epoch = %s AND last > %s"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Since:
    """The size of a schema's log since the newest snapshot. `snapshot_bytes` is None if the epoch has no snapshot."""

    snapshot_bytes: int | None
    snapshot_age: timedelta
    segments: int
    segment_bytes: int
    damaged: bool  # True if one of these segments cannot be sent to nodes


def is_due(since: Since) -> bool:
    """Return True if the schema has segments since the newest snapshot and needs another one.

    It needs one in these cases: it has no snapshot, a segment is damaged, the newest snapshot is too old, or the log
    since then is too long.
    """
    if not since.segments:
        return False
    if since.snapshot_bytes is None or since.damaged:
        return True
    return (
        since.segment_bytes > max(DUE_SHARE * since.snapshot_bytes, DUE_BYTES)
        or since.segments > DUE_SEGMENTS
        or since.snapshot_age > DUE_AGE
    )


def due_schemas(*, schemas: list[int], now: datetime) -> list[int]:
    """Return the schemas that need another snapshot."""
    head = LogHead.objects.first()
    return [schema for schema in schemas if head and is_due(_since(schema, head, now))]


def make_snapshot(*, schema: int, now: datetime) -> Snapshot | None:
    """Make and store a snapshot of the panel's LMDB, and return its row.

    Return None if nothing is encoded in this epoch, or if this position already has a snapshot. Raise
    StorageUnreachable or OSError if a write fails, and Diverged if the files don't match their last segment.
    """
    head = LogHead.objects.first()
    publisher = this_publisher()
    if head is None or not store_path(publisher.directory, schema).exists():
        return None
    try:
        store = publisher.store(schema, head.cluster)
        position = store.position()
        if position is None or position.epoch != head.epoch or _exists(schema, position):
            return None
        key = segment_signing.private_key(segment_signing.ensure_signing_key(now=now))
        return keep_snapshot(store=store, directory=publisher.directory, key=key, now=now)
    finally:
        publisher.close_store(schema)


def keep_snapshot(*, store: Store, directory: Path, key: Ed25519PrivateKey, now: datetime) -> Snapshot:
    """Make and store a snapshot of this store, and return its row. Temporary files are in `directory`.

    Raise StorageUnreachable or OSError if a write fails, and Diverged if the files don't match their last segment.
    """
    started = time.monotonic()
    with _scratch(directory) as scratch:
        manifest = write_snapshot(store, scratch / "new", key=key, time_ns=int(now.timestamp() * 1_000_000) * 1000)
        _refuse_diverged(manifest)
        sealed = (scratch / "new" / MANIFEST_NAME).read_bytes()
        place = _directory_of(manifest, sealed)
        for number in range(len(manifest.chunks)):
            put_object(f"{place}/{chunk_name(number)}", (scratch / "new" / chunk_name(number)).read_bytes())
        put_object(f"{place}/{MANIFEST_NAME}", sealed)
    snapshot = _record(manifest, f"{place}/{MANIFEST_NAME}", now)
    logger.info(
        "snapshot made schema=%s sequence=%s chunks=%s bytes=%s seconds=%.1f",
        snapshot.schema,
        snapshot.sequence,
        snapshot.chunks,
        snapshot.size,
        time.monotonic() - started,
    )
    return snapshot


def read_manifest(snapshot: Snapshot) -> tuple[bytes, Manifest]:
    """Return a sealed and parsed manifest. Raise DamagedObject if it is missing or invalid, or StorageUnreachable."""
    sealed = read_object(snapshot.object_name)
    try:
        return sealed, open_manifest(sealed, segment_signing.all_public_keys())
    except ReplicationError as exc:
        raise DamagedObject(object_name=snapshot.object_name, reason=str(exc)) from exc


def read_chunk(snapshot: Snapshot, manifest: Manifest, number: int) -> bytes:
    """Return a stored chunk of a snapshot.

    Raise DamagedObject if it is missing or doesn't match the manifest, or StorageUnreachable if the storage fails.
    """
    name = objects_of(snapshot)[1 + number]
    stored = read_object(name)
    try:
        manifest.chunks[number].open(stored)
    except BadSnapshot as exc:
        raise DamagedObject(object_name=name, reason=str(exc)) from exc
    return stored


def _since(schema: int, head: LogHead, now: datetime) -> Since:
    newest = Snapshot.objects.filter(schema=schema, epoch=head.epoch).order_by("-sequence").first()
    segments, size, damaged = fetch_one(_SINCE, (schema, head.epoch, newest.sequence if newest else 0))
    age = now - newest.made_at if newest else timedelta(0)
    return Since(newest.size if newest else None, age, segments, size, damaged)


def _exists(schema: int, position: Position) -> bool:
    return Snapshot.objects.filter(schema=schema, epoch=position.epoch, sequence=position.sequence).exists()


def _refuse_diverged(manifest: Manifest) -> None:
    """Raise Diverged if the snapshot's digests differ from those of the segment that ends at the same position."""
    at = manifest.position
    row = Segment.objects.filter(schema=manifest.schema, epoch=at.epoch, last=at.sequence).first()
    found = manifest.digest_main + manifest.digest_records
    if row is not None and bytes(row.digest) != found:
        raise Diverged(expected=bytes(row.digest), found=found, what=gettext("the panel’s LMDB"))


def _directory_of(manifest: Manifest, sealed: bytes) -> str:
    at = manifest.position
    return f"snapshots/{manifest.schema}/{at.epoch}/{at.sequence:016d}-{snapshot_id(sealed)[:16]}"


def _record(manifest: Manifest, object_name: str, now: datetime) -> Snapshot:
    """Record the snapshot and return its row. If its position already has a row, discard the new objects."""
    snapshot, is_new = Snapshot.objects.get_or_create(
        schema=manifest.schema,
        epoch=manifest.position.epoch,
        sequence=manifest.position.sequence,
        defaults={
            "object_name": object_name,
            "size": manifest.stored_size,
            "raw_size": manifest.raw_size,
            "chunks": len(manifest.chunks),
            "digest": manifest.digest_main + manifest.digest_records,
            "made_at": now,
        },
    )
    if not is_new:
        place = object_name.rpartition("/")[0]
        ours = [object_name, *(f"{place}/{chunk_name(number)}" for number in range(len(manifest.chunks)))]
        discard_objects(names=ours, now=now)
    return snapshot


@contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """Provide a temporary directory. Also delete old directories left by killed processes."""
    for left in directory.glob(f"{_SCRATCH_PREFIX}*"):
        if left.stat().st_mtime < time.time() - _SCRATCH_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=_SCRATCH_PREFIX) as scratch:
        yield Path(scratch)
