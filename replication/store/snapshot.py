"""Pack a full LMDB at one position as a snapshot, for a node that segments cannot update.

A snapshot consists of compact copies of a store's two files at one position, cut into chunks that are deflated one by
one, and a signed manifest that lists all chunks. The manifest determines every byte of the chunks. Therefore chunks can
arrive in any order, from any source, and again after a restart, and wrong data is never used.

On disk a snapshot is a directory: `manifest`, and next to it `00000`, `00001` ... (`chunk_name`). The manifest, all
integers big endian:

    offset   size  manifest
    0        4     magic `DPSN`
    4        1     version, 1
    5        1     PowerDNS schema: 4, 5 or 6
    6        2     reserved, 0
    8        16    cluster
    24       16    epoch
    40       8     sequence
    48       8     time of copying, ns since 1970
    56       16    digest of the main file's rows
    72       16    digest of the records file's rows
    88       8     size of the main file
    96       8     size of the records file
    104      4     number n of chunks
    108      49 n  chunks: file (1: 0 = main, 1 = records), offset in it (8), size there (4), size as stored (4),
                   SHA-256 of the stored bytes (32); first the main file's, each file from its beginning, without gaps
    108+49n  64    Ed25519 signature over `dnspanel snapshot 1` 00 and the BLAKE2b-512 of all bytes before it

A stored chunk is a zlib stream of at most CHUNK_SIZE bytes of one file. A snapshot's id is the beginning of the SHA-256
of its manifest, including the signature.
"""

import hashlib
import os
import shutil
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from replication.codec.schema import schema_for
from replication.errors import BadSignature, BadSnapshot
from replication.store.store import Store
from replication.wire.position import Position

MAGIC = b"DPSN"
VERSION = 1
CHUNK_SIZE = 4 << 20
MANIFEST_NAME = "manifest"
# A larger manifest is refused unread: its snapshot would have terabytes.
MAX_MANIFEST = 64 << 20
# A chunk that can't be compressed grows a little.
MAX_STORED_CHUNK = CHUNK_SIZE + (64 << 10)
# Neighboring rows are similar: the fastest level compresses to a twentieth, and a bootstrap waits for this step.
LEVEL = 1

_HEADER = struct.Struct(">4sBB2x16s16sQQ16s16sQQI")
_CHUNK = struct.Struct(">BQII32s")
_SIGNATURE_SIZE = 64
_SIGNED = b"dnspanel snapshot 1\0"


class SnapshotFile(IntEnum):
    """The file to which a chunk belongs. The numbers never change, because manifests contain them."""

    MAIN = 0
    RECORDS = 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one file: its place in the file, and the size and hash of its stored bytes."""

    file: SnapshotFile
    offset: int
    raw_size: int
    size: int  # as stored
    sha256: bytes

    def open(self, stored: bytes) -> bytes:
        """Decompress a chunk's stored bytes. Raise BadSnapshot unless the bytes are exactly the chunk."""
        if len(stored) != self.size or hashlib.sha256(stored).digest() != self.sha256:
            raise BadSnapshot(reason=f"the chunk at {self.offset} of {self.file.name} is not what the manifest names")
        inflate = zlib.decompressobj()
        try:
            raw = inflate.decompress(stored, self.raw_size + 1)
        except zlib.error as exc:
            raise BadSnapshot(reason=f"a chunk does not inflate ({exc})") from exc
        if len(raw) != self.raw_size or not inflate.eof:
            raise BadSnapshot(reason=f"a chunk is not of the {self.raw_size} bytes that the manifest names")
        return raw


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a snapshot and all its chunks."""

    schema: int
    cluster: UUID
    position: Position
    time_ns: int
    digest_main: bytes
    digest_records: bytes
    main_size: int
    records_size: int
    chunks: tuple[Chunk, ...]

    @property
    def raw_size(self) -> int:
        """The size of both files, in bytes."""
        return self.main_size + self.records_size

    @property
    def stored_size(self) -> int:
        """The size of all chunks as sent, in bytes."""
        return sum(chunk.size for chunk in self.chunks)

    def file_size(self, file: SnapshotFile) -> int:
        return self.main_size if file is SnapshotFile.MAIN else self.records_size

    def seal(self, key: Ed25519PrivateKey) -> bytes:
        position = self.position
        header = _HEADER.pack(
            MAGIC,
            VERSION,
            self.schema,
            self.cluster.bytes,
            position.epoch.bytes,
            position.sequence,
            self.time_ns,
            self.digest_main,
            self.digest_records,
            self.main_size,
            self.records_size,
            len(self.chunks),
        )
        rows = [_CHUNK.pack(c.file, c.offset, c.raw_size, c.size, c.sha256) for c in self.chunks]
        content = header + b"".join(rows)
        return content + key.sign(_SIGNED + hashlib.blake2b(content).digest())


def snapshot_id(sealed: bytes) -> str:
    """Return the id of a snapshot, from its sealed manifest: 32 hex digits."""
    return hashlib.sha256(sealed).hexdigest()[:32]


def chunk_name(number: int) -> str:
    """Return a stored chunk's file name. Numbers start at 0."""
    return f"{number:05d}"


def open_manifest(sealed: bytes, public_keys: Sequence[bytes]) -> Manifest:
    """Parse a manifest. Raise BadSignature unless one of `public_keys` (32 bytes each) has signed it.

    Raise BadSnapshot or UnknownSchema if the content is invalid. The chunks of a returned manifest fill both files
    exactly.
    """
    if len(sealed) < _HEADER.size + _SIGNATURE_SIZE or not sealed.startswith(MAGIC):
        raise BadSnapshot(reason="it does not start like a manifest")
    content, signature = sealed[:-_SIGNATURE_SIZE], sealed[-_SIGNATURE_SIZE:]
    if content[len(MAGIC)] != VERSION:
        raise BadSnapshot(reason=f"its format has version {content[len(MAGIC)]}, this side knows version {VERSION}")
    _check_signature(content, signature, public_keys)
    _, _, schema, cluster, epoch, sequence, time_ns, main, records, *rest = _HEADER.unpack_from(content)
    main_size, records_size, count = rest
    schema_for(schema)
    if len(content) != _HEADER.size + count * _CHUNK.size:
        raise BadSnapshot(reason=f"a manifest of {len(sealed)} bytes does not name {count} chunks")
    try:
        found = [(SnapshotFile(row[0]), *row[1:]) for row in _CHUNK.iter_unpack(content[_HEADER.size :])]
        manifest = Manifest(
            schema,
            UUID(bytes=cluster),
            Position(UUID(bytes=epoch), sequence),
            time_ns,
            main,
            records,
            main_size,
            records_size,
            tuple(Chunk(*row) for row in found),
        )
    except ValueError as exc:
        raise BadSnapshot(reason=str(exc)) from exc
    _refuse_gaps(manifest)
    return manifest


def write_snapshot(
    store: Store, directory: Path, *, key: Ed25519PrivateKey, time_ns: int, level: int = LEVEL
) -> Manifest:
    """Write a snapshot of the store to `directory`, which must not exist yet. Return the manifest.

    Publishing can continue at the same time, in this process or in another one. Writing needs disk space for copies of
    the two files and for the chunks, and the memory of one chunk. Raise Busy while no complete state can be copied.
    After an error, the directory is removed.
    """
    directory.mkdir(parents=True)
    try:
        paths = directory / "copy", directory / "copy-0"
        copied = store.copy(paths[0])
        chunks: list[Chunk] = []
        for file, path in zip(SnapshotFile, paths, strict=True):
            for chunk, stored in _pack(file, path, level):
                (directory / chunk_name(len(chunks))).write_bytes(stored)
                chunks.append(chunk)
        main_size, records_size = (path.stat().st_size for path in paths)
        manifest = Manifest(
            store.schema.number,
            store.cluster,
            copied.position,
            time_ns,
            copied.digest_main,
            copied.digest_records,
            main_size,
            records_size,
            tuple(chunks),
        )
        (directory / MANIFEST_NAME).write_bytes(manifest.seal(key))
        for path in paths:
            path.unlink()
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return manifest


def _pack(file: SnapshotFile, path: Path, level: int) -> Iterator[tuple[Chunk, bytes]]:
    """Yield each chunk of a file with its stored bytes. Drop packed pages from the page cache."""
    with path.open("rb") as source:
        offset = 0
        while raw := source.read(CHUNK_SIZE):
            stored = zlib.compress(raw, level)
            yield Chunk(file, offset, len(raw), len(stored), hashlib.sha256(stored).digest()), stored
            os.posix_fadvise(source.fileno(), offset, len(raw), os.POSIX_FADV_DONTNEED)
            offset += len(raw)


def _check_signature(content: bytes, signature: bytes, public_keys: Sequence[bytes]) -> None:
    signed = _SIGNED + hashlib.blake2b(content).digest()
    for key in public_keys:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
        except InvalidSignature:
            continue
        return
    raise BadSignature(reason=f"none of the {len(public_keys)} keys known here has signed the snapshot")


def _refuse_gaps(manifest: Manifest) -> None:
    """Raise BadSnapshot unless the chunks, in order, fill exactly the main file and then the records file."""
    at = [(file, offset) for file in SnapshotFile for offset in range(0, manifest.file_size(file), CHUNK_SIZE)]
    if [(chunk.file, chunk.offset) for chunk in manifest.chunks] != at:
        raise BadSnapshot(reason="its chunks leave gaps or overlap")
    for chunk in manifest.chunks:
        if chunk.raw_size != min(CHUNK_SIZE, manifest.file_size(chunk.file) - chunk.offset):
            raise BadSnapshot(reason="a chunk has another size than its place")
        if not 0 < chunk.size <= MAX_STORED_CHUNK:
            raise BadSnapshot(reason=f"a chunk of {chunk.size} bytes")
