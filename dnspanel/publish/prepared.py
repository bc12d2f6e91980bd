"""Rows made beforehand: a bulk import compiles the zones that it will create before it publishes them. Verbs.

The publisher then has nothing to read from PostgreSQL and nothing to compile:
it splices what lies ready into the segment. What is prepared is a cache like
the LMDB files: it is looked through before it is used, and where it is
missing, damaged or of other zones, the publisher makes the same rows itself.
"""

import hashlib
import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from dnspanel.publish.models import PreparedRows
from dnspanel.publish.objects import delete_object, open_object, put_object
from dnspanel.publish.session import Connection
from dnspanel.texts import gettext
from replication.codec.keys import zone_prefix
from replication.codec.schema import Dbi
from replication.errors import BadSegment
from replication.wire.operations import OpKind, Puts, ascend, digest_bytes
from replication.wire.segment import PackedPuts, pack_puts

_PREPARED = "SELECT sequence, object_name FROM publish_preparedrows ORDER BY sequence"

_ENCODED = """
    SELECT coalesce(max(g.last), 0) FROM unnest(%s::int[]) s (schema)
    LEFT JOIN publish_segment g ON g.schema = s.schema AND g.epoch = %s
    GROUP BY s.schema ORDER BY 1 LIMIT 1"""

_FORGET = "DELETE FROM publish_preparedrows WHERE sequence = ANY(%s)"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows in the storage of segments: how many, the sum of their digests, and the size of their object."""

    object_name: str
    rows: int
    digest: int
    size: int


def put_prepared(*, puts: Iterable[bytes], rows: int, digest: int) -> Prepared:
    """The encoded PUTs (`record_puts`, by zone id) lie in the storage, where nothing counts without `record_prepared`.

    `rows` is their number, `digest` the sum of their digests.
    """
    packed = pack_puts(puts)
    name = _name_of(packed, digest)
    put_object(name, packed)
    return Prepared(name, rows, digest, len(packed))


def record_prepared(*, sequence: int, prepared: Prepared) -> None:
    """These rows are those of the zones that `sequence` creates. Inside the transaction that publishes it."""
    PreparedRows.objects.create(
        sequence=sequence,
        object_name=prepared.object_name,
        rows=prepared.rows,
        digest=digest_bytes(prepared.digest),
        size=prepared.size,
    )


def prepared_puts(prepared: Prepared, zone_ids: Collection[int]) -> PackedPuts | None:
    """Return the rows if they are whole and of exactly these zones; else None, and the reason is in the log."""
    try:
        with open_object(prepared.object_name) as file:
            packed = file.read()
        if _name_of(packed, prepared.digest) != prepared.object_name:
            raise BadSegment(reason=gettext("the object is damaged"))
        puts = PackedPuts(packed, prepared.rows, prepared.digest)
        _check(puts, {zone_prefix(zone_id) for zone_id in zone_ids})
    except (BadSegment, OSError) as exc:
        logger.warning("prepared rows are not used, PostgreSQL is read object=%s: %s", prepared.object_name, exc)
        return None
    return puts


def drop_prepared(conn: Connection, *, schemas: Sequence[int], epoch: UUID) -> None:
    """What every one of these schemas has in a segment is prepared no more. Idempotent."""
    rows = conn.execute(_PREPARED).fetchall()
    if not rows:
        return
    encoded = conn.execute(_ENCODED, (list(schemas), epoch)).fetchone()
    done = [(sequence, name) for sequence, name in rows if encoded and sequence <= encoded[0]]
    for _, name in done:
        delete_object(name)
    conn.execute(_FORGET, ([sequence for sequence, _ in done],))


def _name_of(packed: bytes, digest: int) -> str:
    """Neither the rows nor the sum of their digests can be others under this name."""
    return f"prepared/{hashlib.sha256(digest_bytes(digest) + packed).hexdigest()[:32]}"


def _check(puts: PackedPuts, zones: set[bytes]) -> None:
    """Raise BadSegment unless these are PUTs of records, ascending, of these zones.

    They are not hashed once more: the object's name says that it was stored with this sum of their digests.
    """
    last = b""
    seen: set[bytes] = set()
    for run in puts.runs():
        if run.dbi is not Dbi.RECORDS or not (isinstance(run, Puts) or run.kind is OpKind.PUT):
            raise BadSegment(reason=gettext("something else than rows of records"))
        rows = run.rows if isinstance(run, Puts) else [(run.key, run.body)]
        keys = [key for key, _ in rows]
        if last >= keys[0] or not ascend(keys):
            raise BadSegment(reason=gettext("the rows are not sorted"))
        last = keys[-1]
        seen.update([key[:4] for key in keys])
    if seen != zones:
        raise BadSegment(
            reason=gettext("rows of {seen} zones for {zones} zones, or of others").format(
                seen=len(seen), zones=len(zones)
            )
        )
