"""Compute the operations on PowerDNS's files that a range of the log requires. Pure."""

from collections.abc import Iterable, Iterator
from operator import itemgetter

from dnspanel.publish.errors import ZoneNotEncoded
from dnspanel.publish.reading.publication_log import Changes, ZoneStep
from replication.codec import keys
from replication.codec.dnssec import Nsec3
from replication.codec.schema import Dbi, Schema
from replication.compile import HELPER, ChangedRows, Row, Rows, compile_changes, compile_zone, switch_denial
from replication.dns.rrset import RRset
from replication.errors import ReplicationError
from replication.wire.operations import Op, OpKind, ZoneMark


def mark_of(step: ZoneStep) -> ZoneMark:
    return ZoneMark(step.zone_id, step.name, step.serial)


def zone_list_operations(steps: Iterable[ZoneStep], schema: Schema) -> tuple[list[Op], list[Op]]:
    """Return the operations that remove zones from the zone list, and the operations that add zones to it.

    Removals must be applied first, because a range can delete a zone and then create another zone with the same name. A
    name is only added after its zone's object.
    """
    gone, coming = [], []
    for step in steps:
        if step.serial is None:
            for dbi, key, body in schema.zone_rows(step.zone_id, step.name):
                gone.append(Op(OpKind.DELETE, dbi, key, body if schema.dbi(dbi).dupsort else b""))
        elif not step.served_before:
            coming.append(step)
    # Table by table, so that a segment with many new zones is read and written one table after another.
    rows = [row for step in coming for row in schema.zone_rows(step.zone_id, step.name)]
    rows.sort(key=itemgetter(0))
    return gone, [Op(OpKind.PUT, dbi, key, body) for dbi, key, body in rows]


def removed_zone_operations(step: ZoneStep) -> Iterator[Op]:
    """Yield the operation that removes all records of a zone."""
    yield Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, keys.zone_prefix(step.zone_id))


def changed_zone_operations(step: ZoneStep, rows: Rows, changes: Changes, nsec3: Nsec3 | None = None) -> Iterator[Op]:
    """Yield the operations on a zone's rows for these changed RRsets. The cost doesn't depend on the zone's size."""
    for (relative, type), body in _compiled_changes(step, rows, changes, nsec3).items():
        yield _record_operation(step.zone_id, relative, type, body)


def switched_zone_operations(
    step: ZoneStep, rows: Rows, changes: Changes, before: Nsec3 | None, after: Nsec3 | None
) -> tuple[list[Op], list[Op]]:
    """Return the operations on a zone's rows for changed RRsets and a new type of denial of existence.

    All rows of the zone are read. The second list deletes rows of the former denial, which are needed until PowerDNS
    uses the new one.
    """
    changed = _compiled_changes(step, rows, changes, before)
    for relative, type, body in switch_denial(step.name, ChangedRows(rows, changed), before, after):
        if rows.get(relative, type) == body:
            changed.pop((relative, type), None)
        else:
            changed[relative, type] = body
    first: list[Op] = []
    late: list[Op] = []
    for (relative, type), body in changed.items():
        is_helper = body is None and type == HELPER
        (late if is_helper else first).append(_record_operation(step.zone_id, relative, type, body))
    return first, late


def _compiled_changes(
    step: ZoneStep, rows: Rows, changes: Changes, nsec3: Nsec3 | None
) -> dict[tuple[bytes, int], bytes | None]:
    try:
        return compile_changes(step.name, rows, changes, nsec3)
    except ReplicationError as exc:
        raise ZoneNotEncoded(zone_name=step.name, reason=str(exc)) from exc


def new_zone_operations(step: ZoneStep, rrsets: Iterable[RRset], nsec3: Nsec3 | None = None) -> Iterator[Op]:
    """Yield the operations that write all records of a zone that isn't in the store yet."""
    for relative, type, body in compiled_rows(step, rrsets, nsec3):
        yield _record_operation(step.zone_id, relative, type, body)


def restored_zone_operations(
    step: ZoneStep, rows: Rows, rrsets: Iterable[RRset], nsec3: Nsec3 | None = None
) -> Iterator[Op]:
    """Yield the operations that replace all rows of the zone with the rows of `rrsets`.

    Use this for a zone that is deleted and restored within a range. Only the difference is written, so the zone's names
    don't disappear in between.
    """
    old = dict(_rows_of(rows))
    for relative, type, body in compiled_rows(step, rrsets, nsec3):
        if old.pop((relative, type), None) != body:
            yield _record_operation(step.zone_id, relative, type, body)
    for relative, type in old:
        yield _record_operation(step.zone_id, relative, type, None)


def compiled_rows(step: ZoneStep, rrsets: Iterable[RRset], nsec3: Nsec3 | None = None) -> list[Row]:
    """Return all rows of a zone, ordered by key. Raise ZoneNotEncoded if it can't be compiled."""
    try:
        return compile_zone(step.name, rrsets, nsec3)
    except ReplicationError as exc:
        raise ZoneNotEncoded(zone_name=step.name, reason=str(exc)) from exc


def _rows_of(rows: Rows) -> Iterator[tuple[tuple[bytes, int], bytes]]:
    for type, body in rows.at(keys.APEX):
        yield (keys.APEX, type), body
    for relative, type, body in rows.below(keys.APEX):
        yield (relative, type), body


def _record_operation(zone_id: int, relative: bytes, type: int, body: bytes | None) -> Op:
    key = keys.record_key(zone_id, relative, type)
    return Op(OpKind.DELETE, Dbi.RECORDS, key) if body is None else Op(OpKind.PUT, Dbi.RECORDS, key, body)
