"""Read the signing states of zones from the log, and compute the rows that make PowerDNS sign accordingly.

As with RRsets, the state at any sequence is the current state with later changes undone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.publish.errors import ZoneNotEncoded
from dnspanel.publish.keys.sealing_keys import sealing_key
from dnspanel.publish.reading.publication_log import Range, ZoneStep
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.texts import gettext
from dnspanel.zones.dnssec.signing_state import NSEC3NARROW, NSEC3PARAM, PRESIGNED, UNSIGNED, KeyState, SigningState
from replication.codec.dnssec import KeyObject, MetadataObject
from replication.codec.schema import Dbi, Schema
from replication.codec.sealed import SealingKey, seal_key
from replication.wire.operations import Op, OpKind

_STATES = "SELECT zone_id, state FROM zones_signing WHERE zone_id = ANY(%s)"
_ALL_STATES = "SELECT zone_id, state FROM zones_signing"

_CHANGES = """
    SELECT c.zone_id, v.publication_id, c.before
    FROM zones_signingchange c JOIN zones_revision v ON v.zone_id = c.zone_id AND v.number = c.revision_number
    WHERE c.zone_id = ANY(%s) AND v.publication_id > %s ORDER BY c.zone_id, c.revision_number"""

_PRIVATE = "SELECT id, private_encrypted FROM zones_zonekey WHERE id = ANY(%s)"

Rows = Sequence[tuple[Dbi, bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Signings:
    """The signing states of zones before and after a range of the log. A zone that isn't in a map is UNSIGNED."""

    before: Mapping[int, SigningState]
    after: Mapping[int, SigningState]

    def of(self, zone_id: int) -> tuple[SigningState, SigningState]:
        return self.before.get(zone_id, UNSIGNED), self.after.get(zone_id, UNSIGNED)


NO_SIGNINGS = Signings({}, {})


def signings_around(conn: Connection, span: Range, zone_ids: Collection[int]) -> Signings:
    """Return the zones' signing states before and after the range. Must run in a REPEATABLE READ transaction."""
    today = _states(conn, zone_ids)
    if not today:
        return NO_SIGNINGS
    changes = _changes_after(conn, span.first - 1, today)
    return Signings(_undone(today, changes, span.first - 1), _undone(today, changes, span.last))


def signings_at(conn: Connection, sequence: int, zone_ids: Collection[int] | None = None) -> dict[int, SigningState]:
    """Return the signing states of these zones, or of all zones, at a sequence. Omit zones that were never signed.

    Must run in a REPEATABLE READ transaction.
    """
    today = _states(conn, zone_ids)
    return _undone(today, _changes_after(conn, sequence, today), sequence) if today else {}


def _changes_after(conn: Connection, sequence: int, zone_ids: Collection[int]) -> list[tuple[int, int, Any]]:
    """Return (zone id, sequence, previous state) of each change after a sequence, in order for each zone."""
    return conn.execute(_CHANGES, (list(zone_ids), sequence)).fetchall()


def _undone(
    today: Mapping[int, SigningState], changes: Iterable[tuple[int, int, Any]], sequence: int
) -> dict[int, SigningState]:
    """Return the current states with the changes after this sequence undone."""
    found: dict[int, SigningState] = {}
    for zone_id, changed_at, before in changes:
        if changed_at > sequence and zone_id not in found:
            found[zone_id] = SigningState.from_json(before)
    return {**today, **found}


def _states(conn: Connection, zone_ids: Collection[int] | None) -> dict[int, SigningState]:
    rows = conn.execute(_ALL_STATES) if zone_ids is None else conn.execute(_STATES, (list(zone_ids),))
    return {zone_id: SigningState.from_json(state) for zone_id, state in rows}


def signing_operations(
    conn: Connection, steps: Iterable[ZoneStep], signings: Signings, schema: Schema, now: datetime
) -> list[Op]:
    """Return the operations that switch PowerDNS to the zones' new signing states, in a safe order.

    1. Delete the keys of zones that become unsigned.
    2. Delete old settings, then write new ones.
    3. Write new and changed keys, then delete old keys.

    Wherever a transaction ends, each zone is in the old state, in the new state, or not signed yet.
    """
    # Most zones were never signed, and an import creates thousands of zones.
    known = signings.before.keys() | signings.after.keys()
    plans = [_Plan.of(step, *signings.of(step.zone_id), schema) for step in steps if step.zone_id in known]
    plans = [plan for plan in plans if plan.before != plan.after]
    wanted = {key.id for plan in plans for key in plan.coming_keys}
    texts = _private_texts(conn, wanted)
    with_key = sealing_key(now=now) if wanted else None
    stages: list[list[Op]] = [[], [], [], [], []]
    for plan in plans:
        plan.fill(stages, texts, with_key)
    return list(chain.from_iterable(map(_by_table, stages)))


def attached_rows(
    conn: Connection, name: str, state: SigningState, schema: Schema, now: datetime
) -> list[tuple[Dbi, bytes, bytes]]:
    """Return the metadata and key rows of a zone with this signing state, including index rows."""
    texts = _private_texts(conn, {key.id for key in state.keys})
    rows = list(chain.from_iterable(_metadata_rows(name, state, schema).values()))
    if state.keys:
        with_key = sealing_key(now=now)
        rows += chain.from_iterable(_key_rows(name, key, schema, texts, with_key) for key in state.keys)
    return rows


def _private_texts(conn: Connection, key_ids: Collection[int]) -> dict[int, str]:
    """Return the private keys as text, keyed by key id. Keys whose private part was deleted are omitted."""
    if not key_ids:
        return {}
    rows = conn.execute(_PRIVATE, (list(key_ids),)).fetchall()
    return {id: decrypt_secret(encrypted).decode() for id, encrypted in rows if encrypted is not None}


@dataclass(frozen=True, slots=True)
class _Plan:
    name: str
    before: SigningState
    after: SigningState
    schema: Schema

    @classmethod
    def of(cls, step: ZoneStep, before: SigningState, after: SigningState, schema: Schema) -> "_Plan":
        """Return the plan for one zone. While the zone isn't served, its state is UNSIGNED, because it has no rows."""
        before = before if step.served_before else UNSIGNED
        return cls(step.name, before, after if step.serial is not None else UNSIGNED, schema)

    @property
    def coming_keys(self) -> list[KeyState]:
        return [key for key in self.after.keys if self.before.key(key.id) != key]

    def fill(self, stages: Sequence[list[Op]], texts: Mapping[int, str], with_key: SealingKey | None) -> None:
        old, new = (_metadata_rows(self.name, state, self.schema) for state in (self.before, self.after))
        for kind, rows in old.items():
            if kind not in new:
                stages[1] += self._deletes(rows)
        # Narrow (no stored chain) is written before the NSEC3 parameters, and presigned (stored signatures) last.
        for kind in reversed(new):
            if old.get(kind) != new[kind]:
                stages[2] += self._puts(new[kind])
        for key in self.coming_keys:
            assert with_key is not None
            stages[3] += self._puts(_key_rows(self.name, key, self.schema, texts, with_key))
        for key in self.before.keys:
            if self.after.key(key.id) is None:
                stages[0 if not self.after.keys else 4] += self._deletes(_bare_key_rows(self.name, key, self.schema))

    def _puts(self, rows: Rows) -> Iterator[Op]:
        return (Op(OpKind.PUT, dbi, key, body) for dbi, key, body in rows)

    def _deletes(self, rows: Rows) -> Iterator[Op]:
        """Yield deletions of these rows, each index row before its object."""
        for dbi, key, body in reversed(rows):
            yield Op(OpKind.DELETE, dbi, key, body if self.schema.dbi(dbi).dupsort else b"")


def _metadata_rows(name: str, state: SigningState, schema: Schema) -> dict[str, Rows]:
    """Return the metadata rows, keyed by kind: presigned first, then NSEC3 parameters, narrow answers, and others."""
    first = (PRESIGNED, NSEC3PARAM, NSEC3NARROW)
    kinds = sorted(state.metadata, key=lambda kind: (*(kind != each for each in first), kind))
    return {
        kind: schema.metadata_rows(state.row_ids[kind], MetadataObject(name, kind, state.metadata[kind]))
        for kind in kinds
    }


def _key_rows(name: str, key: KeyState, schema: Schema, texts: Mapping[int, str], with_key: SealingKey) -> Rows:
    if key.id not in texts:
        raise ZoneNotEncoded(
            zone_name=name, reason=gettext("the private part of key {id} is missing").format(id=key.id)
        )
    found = KeyObject(name, texts[key.id], key.flags, key.active, key.published)
    return schema.key_rows(key.id, seal_key(found, with_key, row_id=key.id))


def _bare_key_rows(name: str, key: KeyState, schema: Schema) -> Rows:
    """Return the table and row key of each row of a DNSSEC key. The body of the key's object is empty."""
    (dbi, at, _), index = schema.key_rows(key.id, KeyObject(name, "", key.flags, key.active, key.published))
    return [(dbi, at, b""), index]


def _by_table(ops: list[Op]) -> list[Op]:
    """Sort operations by table (in reverse order for deletions), so that a large segment is written table by table."""
    is_delete = bool(ops) and ops[0].kind is OpKind.DELETE
    return sorted(ops, key=lambda op: -op.dbi if is_delete else op.dbi)
