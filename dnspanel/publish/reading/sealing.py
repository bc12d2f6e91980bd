"""Seal batches (ranges of the log compiled for one schema) as signed segments."""

from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dnspanel.publish.reading import publication_log
from replication.codec.schema import Dbi
from replication.wire.operations import Op, OpKind, ZoneMark
from replication.wire.segment import PackedPuts, SegmentHeader, seal

# Writing this number of rows takes some 10 ms.
_LARGE = 1_000


@dataclass(frozen=True, slots=True)
class Batch:
    """A range of the log, compiled for one schema, with the resulting digests of both files."""

    head: publication_log.Head
    range: publication_log.Range
    marks: list[ZoneMark]
    ops: list[Op]
    digests: tuple[bytes, bytes]
    puts: PackedPuts | None = None  # prepared rows of new zones; `ops` then has no records
    late: Sequence[Op] = ()  # on records, applied once PowerDNS uses the changes of `ops` to the main file

    @property
    def is_large(self) -> bool:
        """True if the batch takes so long to write that other publications can arrive in the meantime."""
        return self.puts is not None or len(self.ops) + len(self.late) >= _LARGE

    @property
    def is_mergeable(self) -> bool:
        """True if the batch only puts and deletes single records. Its segment can then be merged with others."""
        return (
            self.puts is None
            and not self.late
            and all(op.dbi is Dbi.RECORDS and op.kind is not OpKind.DELETE_PREFIX for op in self.ops)
        )


def seal_batch(batch: Batch, schema: int, key: Ed25519PrivateKey) -> bytes:
    """Return the batch as a signed segment. It has the last publication's time, so equal batches have equal bytes."""
    return seal(
        SegmentHeader(
            schema=schema,
            cluster=batch.head.cluster,
            epoch=batch.head.position.epoch,
            first=batch.range.first,
            last=batch.range.last,
            time_ns=int(batch.range.at.timestamp() * 1_000_000) * 1000,
            digest_main=batch.digests[0],
            digest_records=batch.digests[1],
        ),
        marks=batch.marks,
        ops=batch.ops,
        key=key,
        puts=batch.puts,
        late=batch.late,
    )
