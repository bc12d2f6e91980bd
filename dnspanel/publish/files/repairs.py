"""Compile one zone at any position from PostgreSQL, and seal it as a repair for a node at that position."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dnspanel.publish.keys import segment_signing
from dnspanel.publish.reading import file_operations, publication_log
from dnspanel.publish.reading.publisher_session import Connection, reading
from dnspanel.publish.reading.zone_signing import attached_rows, signings_at
from dnspanel.zones.dnssec.signing_state import UNSIGNED
from dnspanel.zones.models import NOT_SERVED, LogHead
from replication.codec import keys
from replication.codec.schema import Dbi, schema_for
from replication.compile import Row
from replication.dns import names
from replication.store.repair_zone import repair_header, seal_repair
from replication.wire.operations import ZoneMark
from replication.wire.position import Position

_ZONE = """
    SELECT z.name, v.kind, v.serial FROM zones_revision v JOIN zones_zone z ON z.id = v.zone_id
    WHERE v.zone_id = %s AND v.publication_id <= %s ORDER BY v.number DESC LIMIT 1"""

_DIGEST = """
    SELECT digest FROM publish_segment WHERE schema = %(schema)s AND epoch = %(epoch)s AND last = %(sequence)s
    UNION ALL
    SELECT digest FROM publish_snapshot WHERE schema = %(schema)s AND epoch = %(epoch)s AND sequence = %(sequence)s
    LIMIT 1"""


@dataclass(frozen=True, slots=True)
class ZoneRepair:
    """A sealed repair. `is_served` is False if the repair removes a zone that isn't served at the node's position."""

    zone_name: str
    is_served: bool
    sealed: bytes


def make_repair(*, schema: int, zone_id: int, told_name: str, position: Position, now: datetime) -> ZoneRepair:
    """Return a repair that brings a node's copy of the zone to the log's content at the node's position.

    If the zone isn't served at that position or never existed, the repair removes it. `told_name` is the zone's name
    according to the node. Raise ZoneNotEncoded if the zone can't be compiled.
    """
    kind = schema_for(schema)
    cluster: UUID = LogHead.objects.values_list("cluster", flat=True).get()
    with reading() as conn:
        step = _zone_at(conn, zone_id, position.sequence)
        rows: list[Row] = []
        attached: list[tuple[Dbi, bytes, bytes]] = []
        if step is not None and step.serial is not None:
            state = signings_at(conn, position.sequence, [zone_id]).get(zone_id, UNSIGNED)
            for _, rrsets in publication_log.rrsets_at(conn, position.sequence, {zone_id: step.serial}):
                rows = file_operations.compiled_rows(step, rrsets, state.denial)
            attached = attached_rows(conn, step.name, state, kind, now)
        digests = _digests_at(conn, schema, position) or (bytes(16), bytes(16))
    name = step.name if step is not None else told_name or names.ROOT
    mark = ZoneMark(zone_id, name, step.serial if step is not None else None)
    key = segment_signing.private_key(segment_signing.ensure_signing_key(now=now))
    sealed = seal_repair(
        repair_header(
            schema=kind,
            cluster=cluster,
            position=position,
            time_ns=int(now.timestamp() * 1_000_000) * 1000,
            digests=digests,
        ),
        mark=mark,
        key=key,
        attached=attached,
        records=((keys.record_key(zone_id, relative, type), body) for relative, type, body in rows),
    )
    return ZoneRepair(name, mark.serial is not None, sealed)


def digest_at(*, schema: int, position: Position) -> bytes | None:
    """Return the digests of both files (main, then records), or None if no segment or snapshot ends at the position."""
    with reading() as conn:
        digests = _digests_at(conn, schema, position)
    return None if digests is None else b"".join(digests)


def _zone_at(conn: Connection, zone_id: int, sequence: int) -> publication_log.ZoneStep | None:
    """Return the zone's state at a sequence, or None if it didn't exist. `serial` is None if it wasn't served."""
    row = conn.execute(_ZONE, (zone_id, sequence)).fetchone()
    if row is None:
        return None
    name, kind, serial = row
    return publication_log.ZoneStep(
        zone_id, name, None if kind in NOT_SERVED else serial, served_before=False, is_full=True
    )


def _digests_at(conn: Connection, schema: int, position: Position) -> tuple[bytes, bytes] | None:
    values = {"schema": schema, "epoch": position.epoch, "sequence": position.sequence}
    row = conn.execute(_DIGEST, values).fetchone()
    return (bytes(row[0][:16]), bytes(row[0][16:])) if row else None
