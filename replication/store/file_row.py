"""Access an open file of a store, and the row that stores the file's state."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from replication.errors import BadBytes
from replication.garbage import collection_paused
from replication.store.lock_time import Stopwatch
from replication.wire.operations import digest_bytes
from replication.wire.position import Position

ROW_KEY = b"position"
INSTALLING_KEY = b"installing"  # 16 bytes: the id of the snapshot that is being installed (`installing`)
_ROW = struct.Struct(">B16sQQ16sQ")
_ROW_VERSION = 1


@dataclass(frozen=True, slots=True)
class FileRow:
    """The `position` row of a file. `store` describes its layout."""

    epoch: UUID
    applied: int
    begun: int
    digest: int
    main_required: int = 0

    def encode(self) -> bytes:
        digest = digest_bytes(self.digest)
        return _ROW.pack(_ROW_VERSION, self.epoch.bytes, self.applied, self.begun, digest, self.main_required)


def decode_file_row(value: bytes | None) -> FileRow | None:
    """Decode a `position` row. Return None for None. Raise BadBytes if the value is invalid."""
    if value is None:
        return None
    if len(value) != _ROW.size or value[0] != _ROW_VERSION:
        raise BadBytes(what="position row", reason=f"{value.hex()} is not of version {_ROW_VERSION}")
    _, epoch, applied, begun, digest, required = _ROW.unpack(value)
    return FileRow(UUID(bytes=epoch), applied, begun, int.from_bytes(digest, "big"), required)


def combined_position(main: FileRow | None, records: FileRow | None) -> Position | None:
    """Return the records file's position, or a lower one if the main file is too old, or None if `records` is None."""
    if records is None:
        return None
    main_applied = main.applied if main is not None and main.epoch == records.epoch else 0
    if main_applied >= records.main_required:
        return Position(records.epoch, records.applied)
    return Position(records.epoch, min(main_applied, records.applied))


def common_position(main: FileRow | None, records: FileRow | None) -> Position | None:
    """Return the position at which both files are complete without newer data, or None if no such position exists."""
    if records is None or records.begun > records.applied:
        return None
    if main is None:
        return Position(records.epoch, records.applied) if not records.main_required else None
    if main.epoch != records.epoch or not records.main_required <= main.applied == main.begun <= records.applied:
        return None
    return Position(records.epoch, records.applied)


@dataclass(frozen=True, slots=True)
class Database:
    """One open LMDB file and the handles of its tables. Fields are untyped, because py-lmdb's objects have no types."""

    path: str
    map_size: int
    env: Any
    own: Any
    tables: list[Any]  # by Dbi; None for a table of the other file
    zones: Any = None  # of the records file: the digests of zones (`zone_digests`)
    attached: Any = None  # of the main file: the digests of metadata and keys (`attached`)

    @contextmanager
    def writing(self, stopwatch: Stopwatch | None = None) -> Iterator[Any]:
        """Open a write transaction and commit it at the end of the block. An error in the block rolls it back."""
        stopwatch = stopwatch or Stopwatch()
        with collection_paused():  # a search for cycles would prolong the lock
            txn = self.env.begin(write=True)
            stopwatch.begin()
            try:
                yield txn
            except BaseException:
                txn.abort()
                raise
            stopwatch.commit(txn)

    def installing(self) -> str | None:
        """Return the id of the snapshot whose installation into this file is unfinished, or None."""
        with self.env.begin() as reading:
            value = reading.get(INSTALLING_KEY, db=self.own)
        return None if value is None else bytes(value).hex()

    def row(self, txn: Any = None) -> FileRow | None:
        """Return the `position` row, as `txn` reads it if given. Return None if the row is missing."""
        if txn is not None:
            return decode_file_row(txn.get(ROW_KEY, db=self.own))
        with self.env.begin() as reading:
            return decode_file_row(reading.get(ROW_KEY, db=self.own))
