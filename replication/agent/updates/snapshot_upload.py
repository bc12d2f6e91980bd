"""Receive snapshots chunk by chunk, keep them across restarts, and install them when complete.

    <state_dir>/snapshot/<id>/   one snapshot at a time; others are removed when a new one is offered
        manifest                 sealed, as the panel offered it
        lmdb, lmdb-0             the main file and the records file, filled chunk by chunk
        chunks                   a byte for each chunk: 1 once it is verified and synced

After a rebuild, PowerDNS serves from hard links to these files (`rebuild_node`) until the snapshot is acknowledged. The
files are only used once the manifest's signature and the hashes of all chunks are verified.
"""

import logging
import os
import shutil
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from replication.agent.updates.apply_push import Applier
from replication.agent.updates.rebuild_node import Rebuild
from replication.disk import Disk, disk_of
from replication.errors import BadSnapshot, Busy, DiskFull, MapFull, ReplicationError, WrongCluster
from replication.store.snapshot import MANIFEST_NAME, Manifest, SnapshotFile, open_manifest, snapshot_id
from replication.store.store import RECORDS_MAP_SIZE, Copied, Store
from replication.wire.protocol import Ack

DIRECTORY = "snapshot"
# The free space that must stay on the disk for other uses while a snapshot is received.
SPARE_DISK_BYTES = 64 << 20
_FILES = {SnapshotFile.MAIN: "lmdb", SnapshotFile.RECORDS: "lmdb-0"}
_CHUNKS = "chunks"
_INODES = 6  # the directories, the files of _FILES, the chunks' marks and the manifest
# The time after an agent's start in which it expects the panel to request the ack of a rebuild.
_FORGET_SECONDS = 60.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Reception:
    name: str
    directory: Path
    manifest: Manifest
    lmdb_path: Path

    @property
    def path(self) -> Path:
        """The main file's path. The records file is next to it, as PowerDNS expects."""
        return self.directory / _FILES[SnapshotFile.MAIN]

    @property
    def is_placed(self) -> bool:
        """True if PowerDNS serves from hard links to the files of this snapshot."""
        try:
            return self.path.samefile(self.lmdb_path)
        except OSError:
            return False

    def missing(self) -> list[int]:
        if self.is_placed:
            return []
        received = (self.directory / _CHUNKS).read_bytes()
        return [number for number in range(len(self.manifest.chunks)) if received[number : number + 1] != b"\x01"]

    def begin(self, sealed: bytes) -> None:
        """Create files of full size without content. Write the manifest last, because it makes the snapshot valid."""
        self.directory.mkdir(mode=0o700, parents=True)
        for file, name in _FILES.items():
            with open(os.open(self.directory / name, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as empty:
                empty.truncate(self.manifest.file_size(file))
        (self.directory / _CHUNKS).write_bytes(bytes(len(self.manifest.chunks)))
        partial = self.directory / f"{MANIFEST_NAME}.part"
        partial.write_bytes(sealed)
        partial.replace(self.directory / MANIFEST_NAME)

    def write(self, number: int, stored: bytes) -> None:
        """Store one chunk: write it, sync it, and only then mark it as received."""
        chunk = self.manifest.chunks[number]
        raw = chunk.open(stored)
        with (self.directory / _FILES[chunk.file]).open("r+b") as file:
            file.seek(chunk.offset)
            file.write(raw)
            file.flush()
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), chunk.offset, len(raw), os.POSIX_FADV_DONTNEED)
        with (self.directory / _CHUNKS).open("r+b") as noted:
            noted.seek(number)
            noted.write(b"\x01")


class Snapshots:
    """A receiver and installer of snapshots, which handles one request at a time and rejects others with Busy."""

    def __init__(  # noqa: PLR0913  # the settings of a node
        self,
        state_dir: Path,
        store: Store,
        applier: Applier,
        rebuild: Rebuild,
        *,
        signing_keys: Sequence[bytes],
        lmdb_path: Path,
        map_size: int,
    ) -> None:
        self._directory = state_dir / DIRECTORY
        self._store, self._applier, self._rebuild = store, applier, rebuild
        self._signing_keys, self._lmdb_path, self._map_size = signing_keys, lmdb_path, map_size
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._reception = self._resume_reception()
        self._resumed = ""

    @property
    def progress(self) -> tuple[str, int, int] | None:
        """The id, received chunks and total chunks of the snapshot being received, or None between snapshots."""
        reception = self._reception
        if reception is None:
            return None
        try:
            chunks = len(reception.manifest.chunks)
            return reception.name, chunks - len(reception.missing()), chunks
        except FileNotFoundError:  # it has just been installed
            return None

    def offer(self, name: str, sealed: bytes) -> list[int]:
        """Start or continue receiving a snapshot. Return the numbers of the missing chunks.

        Raise Busy if another request is running, DiskFull if there is no room, or errors of `_refuse_unfit` and
        `open_manifest`.
        """
        with self._alone(), self._noting(), _disk_errors(self._directory):
            manifest = open_manifest(sealed, self._signing_keys)
            if snapshot_id(sealed) != name:
                raise BadSnapshot(reason="it is offered under another name")
            self._refuse_unfit(manifest)
            if self._reception is None or self._reception.name != name:
                self._forget_all()
                self._refuse_without_room(manifest)
                self._reception = _Reception(name, self._directory / name, manifest, self._lmdb_path)
                self._reception.begin(sealed)
                logger.info(
                    "snapshot offered id=%s position=%s chunks=%d bytes=%d",
                    name,
                    manifest.position,
                    len(manifest.chunks),
                    manifest.stored_size,
                )
            return self._reception.missing()

    def take_chunk(self, name: str, number: int, stored: bytes) -> None:
        """Verify and store a chunk. Raise BadSnapshot if the chunk or its hash is unexpected, DiskFull, or Busy."""
        with self._alone(), self._noting(), _disk_errors(self._directory):
            reception = self._reception_of(name)
            if not 0 <= number < len(reception.manifest.chunks):
                raise BadSnapshot(reason=f"it has no chunk {number}")
            reception.write(number, stored)

    def install(self, name: str, *, unproven: Collection[str] = ()) -> Ack:
        """Install the snapshot, and return once PowerDNS serves it. `unproven` is described in `Applier.apply`.

        Raise BadSnapshot while chunks are missing, NotServed if PowerDNS answers wrongly, and the errors of
        `Store.install`. If the files must be replaced (`rebuild_node`), replace them and raise Busy. This agent then
        restarts, and the panel must repeat the request.
        """
        with self._alone():
            reception = self._reception_of(name)
            if missing := reception.missing():
                raise BadSnapshot(reason=f"{len(missing)} of its chunks are not here")
            manifest = reception.manifest
            if not reception.is_placed and self._rebuild.is_needed_for(manifest.schema):
                with self._noting():
                    self._rebuild.place(reception.path, manifest.schema, manifest.position)
                    self._rebuild.start_anew()
                raise Busy(what="the agent, which starts anew with the new files,")
            ack = self._install(reception, unproven)
            self._forget_all()
            return ack

    def resume(self) -> None:
        """Continue an interrupted installation if all chunks have been received. Runs every second.

        Each agent process makes one attempt. If it fails, the status shows the failure, and the panel sends the
        snapshot again. If nothing is being installed, the received copy of a snapshot that PowerDNS serves is deleted
        after _FORGET_SECONDS.
        """
        name = self._store.installing()
        if name is None and time.monotonic() - self._started > _FORGET_SECONDS:
            self._forget_placed()
        if name is None or name == self._resumed or self._lock.locked():
            return
        if self._reception is None or self._reception.name != name or self._reception.missing():
            return
        self._resumed = name

        def run() -> None:
            try:
                self.install(name)
            except ReplicationError as exc:
                logger.warning("snapshot not installed id=%s: %s", name, exc)

        threading.Thread(target=run, name="install", daemon=True).start()

    def _forget_placed(self) -> None:
        """Delete the received snapshot if PowerDNS serves from hard links to its files. PowerDNS's files remain."""
        if self._reception is not None and self._reception.is_placed:
            with suppress(Busy), self._alone():
                self._forget_all()

    def _install(self, reception: _Reception, unproven: Collection[str]) -> Ack:
        manifest = reception.manifest
        copied = Copied(manifest.position, manifest.digest_main, manifest.digest_records)
        if reception.is_placed:
            return self._applier.install(lambda _: None, unproven=unproven)
        return self._applier.install(
            lambda make_zones_known: self._store.install(
                reception.name, reception.path, copied, time_ns=manifest.time_ns, before_removal=make_zones_known
            ),
            unproven=unproven,
        )

    def _refuse_unfit(self, manifest: Manifest) -> None:
        """Raise WrongCluster, BadSnapshot or MapFull unless this snapshot can be installed on this node."""
        if manifest.cluster != self._store.cluster:
            raise WrongCluster(ours=self._store.cluster, theirs=manifest.cluster)
        self._rebuild.refuse_other_schema(manifest.schema)
        at = self._store.position()
        if at is not None and at.epoch == manifest.position.epoch and at > manifest.position:
            raise BadSnapshot(reason=f"it is of sequence {manifest.position.sequence}, this node is at {at.sequence}")
        for file, map_size in zip(SnapshotFile, (self._map_size, min(self._map_size, RECORDS_MAP_SIZE)), strict=True):
            if manifest.file_size(file) > map_size:
                raise MapFull(path=f"the {file.name.lower()} file", map_size=map_size)

    def _refuse_without_room(self, manifest: Manifest) -> None:
        """Raise DiskFull unless the disk has space and inodes for the snapshot and for PowerDNS's growing files."""
        used = sum(use.used_bytes for use in self._store.use())
        if reason := _lack_of_room(manifest.raw_size, used, disk_of(self._directory.parent)):
            raise DiskFull(path=str(self._directory), reason=reason)

    def _reception_of(self, name: str) -> _Reception:
        if self._reception is None or self._reception.name != name:
            raise BadSnapshot(reason="it was not offered")
        return self._reception

    def _resume_reception(self) -> _Reception | None:
        """Return the snapshot that an earlier process was receiving, or None. Delete invalid directories."""
        for directory in self._directory.glob("*"):
            try:
                sealed = (directory / MANIFEST_NAME).read_bytes()
                if snapshot_id(sealed) == directory.name:
                    manifest = open_manifest(sealed, self._signing_keys)
                    return _Reception(directory.name, directory, manifest, self._lmdb_path)
            except (OSError, ReplicationError):
                logger.info("snapshot dropped id=%s", directory.name)
            shutil.rmtree(directory, ignore_errors=True)
        return None

    def _forget_all(self) -> None:
        self._reception = None
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise Busy(what="the snapshot that is being installed")
        try:
            if self._rebuild.anew.is_set():
                raise Busy(what="the agent, which starts anew with the new files,")
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Record errors with `Applier.note_refusal`, and raise them again."""
        try:
            yield
        except ReplicationError as exc:
            self._applier.note_refusal(exc)
            raise


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise DiskFull(path=str(path), reason=str(exc)) from exc


def _lack_of_room(size: int, used: int, disk: Disk) -> str:
    """Return why a snapshot of `size` bytes doesn't fit on the disk, or "". PowerDNS's files have `used` bytes."""
    growth = max(0, size - used)
    if disk.free_bytes < size + growth + SPARE_DISK_BYTES:
        needs = f"{growth} more beside it and {SPARE_DISK_BYTES} to spare"
        return f"a snapshot of {size} bytes needs {needs}, and {disk.free_bytes} are free"
    if disk.inodes and disk.free_inodes < _INODES:
        return f"a snapshot needs {_INODES} inodes, and {disk.free_inodes} are free"
    return ""
