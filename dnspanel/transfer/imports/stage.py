"""Store the prepared rows of new zones in stage files until a person confirms the import.

For each new zone of a piece, the stage file contains the rows for `COPY zones_rrset` and the operations for a segment.
Both use the zone's future id. Applying the import then only copies bytes. The zone's row of `ImportZone` contains the
offsets, and the piece contains the file's size and CRC-32.
"""

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from dnspanel.transfer.documents import ReadyRRset
from dnspanel.transfer.files.spool import import_directory
from dnspanel.zones.store.store_rrsets import copy_rows
from replication.compile import compile_wires
from replication.dns import rdata, rdtypes
from replication.wire.operations import digest_bytes, record_puts

_TYPE, _DISABLED = attrgetter("type"), attrgetter("disabled")
_SERVED = attrgetter("key", "type", "ttl", "wires")


@dataclass(frozen=True, slots=True)
class Staged:
    """The positions of one zone's rows and operations in a stage file, and the sum of its rows' digests."""

    rows_offset: int
    rows_size: int
    ops_offset: int
    ops_size: int
    op_count: int
    digest: bytes


def stage_path(job_id: int, piece: int) -> Path:
    # The name differs from that of old files, whose rows lack the column `folded`. Old files are made again.
    return import_directory(job_id) / f"staged-rrsets-{piece:06d}"


class StageWriter:
    """A writer for one stage file. `finish` returns the file's size and checksum."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.part-{os.getpid()}")
        self._file = self._unfinished.open("wb", buffering=1 << 20)
        self._size = 0
        self._checksum = 0

    def add(self, zone_id: int, zone_name: str, rrsets: Sequence[ReadyRRset]) -> Staged:
        """Write the zone's rows and operations to the file, and return their positions."""
        rows = copy_rows(zone_id, rrsets)
        compiled = compile_wires(zone_name, served_wires(rrsets))
        ops, digest = record_puts(zone_id, compiled)
        staged = Staged(self._size, len(rows), self._size + len(rows), len(ops), len(compiled), digest_bytes(digest))
        for part in (rows, ops):
            self._file.write(part)
            self._checksum = zlib.crc32(part, self._checksum)
            self._size += len(part)
        return staged

    def finish(self) -> tuple[int, int]:
        """Complete the file, sync it to disk, and give it its final name. Return (size, CRC-32)."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._unfinished.rename(self._path)
        return self._size, self._checksum

    def abandon(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def read_stage(path: Path, size: int, checksum: int) -> memoryview | None:
    """Return the file's content, or None if it is missing or its size or CRC-32 is wrong, for example after a crash."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return memoryview(content) if len(content) == size and zlib.crc32(content) == checksum else None


def served_wires(rrsets: Sequence[ReadyRRset]) -> Iterator[tuple[bytes, int, int, Sequence[bytes]]]:
    """Yield (key, type, TTL, wires) of each RRset as nodes serve it: no disabled records, some names in lowercase."""
    lowered = rdata.SIGNED_IN_LOWER_CASE
    if lowered.isdisjoint(map(_TYPE, rrsets)) and not any(map(_DISABLED, rrsets)):
        yield from map(_SERVED, rrsets)
        return
    signed = {each.key for each in rrsets if each.type == rdtypes.RRSIG}
    for rrset in rrsets:
        wires: Sequence[bytes] = rrset.wires
        if rrset.type in lowered:
            texts = [text for text in rrset.texts if text not in rrset.disabled]
            wires = rdata.to_node_wires(rrset.type, texts, comes_signed=rrset.key in signed)
        elif rrset.disabled:
            wires = [wire for text, wire in zip(rrset.texts, wires, strict=True) if text not in rrset.disabled]
        yield rrset.key, rrset.type, rrset.ttl, wires
