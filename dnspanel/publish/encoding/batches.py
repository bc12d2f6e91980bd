"""Compile the next range of the log into a `Batch`, after a check that the range doesn't break a zone. Verbs.

The compiler needs the state of the panel's LMDB before the range, at least for the zones that the range changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.publish.checks import chain_of_trust
from dnspanel.publish.errors import ChainBroken
from dnspanel.publish.reading import file_operations, publication_log, referrers, zone_signing
from dnspanel.publish.reading.prepared import prepared_puts
from dnspanel.publish.reading.publisher_session import Connection
from dnspanel.publish.reading.sealing import Batch
from dnspanel.zones.dnssec.signing_state import chains_differ
from replication.store.store import Store
from replication.wire.operations import Op, ZoneMark, digest_bytes
from replication.wire.segment import PackedPuts


@dataclass(frozen=True, slots=True)
class Found:
    """A range of the log, and its effects on zones."""

    range: publication_log.Range
    steps: Sequence[publication_log.ZoneStep]
    changed: Mapping[int, publication_log.Changes]
    signings: zone_signing.Signings

    def signs_anew(self, zone_id: int) -> bool:
        """Return True if the range changes the zone's signing state."""
        before, after = self.signings.of(zone_id)
        return before != after

    @property
    def mixes_chains(self) -> bool:
        return any(chains_differ(*(state.denial for state in self.signings.of(step.zone_id))) for step in self.steps)


def next_batch(
    conn: Connection, store: Store, head: publication_log.Head, encoded: publication_log.Encoded, now: datetime
) -> Batch | None:
    """Compile the next range of the log into a batch for the store. Return None if the whole log is encoded.

    Must run in a REPEATABLE READ transaction. Raise ChainBroken if the range would break a zone, or ZoneNotEncoded if a
    zone can't be compiled.
    """
    found = next_sound(conn, head, encoded)
    return compile_found(conn, store, head, found, now) if found else None


def next_sound(conn: Connection, head: publication_log.Head, encoded: publication_log.Encoded) -> Found | None:
    """Return the next range and its effects, or None if the whole log is encoded.

    Raise ChainBroken if the range breaks a zone. If a later publication fixes the zone, extend the range to it instead,
    unless this would mix two NSEC3 chains.
    """
    found = _read_next_range(conn, head, encoded)
    try:
        if found is not None:
            chain_of_trust.refuse_broken(conn, found.range, found.steps, found.changed, found.signings)
    except ChainBroken as broken:
        mended = _read_next_range(conn, head, encoded, together=True)
        if mended is None or mended.mixes_chains:
            raise
        try:
            chain_of_trust.refuse_broken(conn, mended.range, mended.steps, mended.changed, mended.signings)
        except ChainBroken:
            raise broken from None
        return mended
    return found


def _read_next_range(
    conn: Connection, head: publication_log.Head, encoded: publication_log.Encoded, *, together: bool = False
) -> Found | None:
    last = head.position.sequence
    span = publication_log.next_range(conn, after=encoded.sequence, head=last, together=together)
    if span is None:
        return None
    steps = [step for step in publication_log.zone_steps(conn, span) if not step.leaves_no_trace]
    changed = publication_log.changes_in(conn, span, [step.zone_id for step in steps if step.changed])
    return Found(span, steps, changed, zone_signing.signings_around(conn, span, [step.zone_id for step in steps]))


def compile_found(
    conn: Connection,
    store: Store,
    head: publication_log.Head,
    found: Found,
    now: datetime,
    *,
    before: tuple[bytes, bytes] | None = None,
) -> Batch:
    """Compile the range's effects into a batch for the store, in the transaction in which `found` was read.

    `before` contains the digests of both files before the range. It is only needed if the store hasn't reached the
    start of the range yet.
    """
    span, steps, changed, signings = found.range, found.steps, found.changed, found.signings
    # Prepared rows are correct only for unsigned zones and for zones with NSEC.
    is_plain = all(state.denial is None for state in signings.after.values())
    puts = _prepared_puts(span, steps) if is_plain else None
    gone, come = file_operations.zone_list_operations(steps, store.schema)
    attached = zone_signing.signing_operations(conn, steps, signings, store.schema, now)
    ops = [*gone, *attached, *come]
    late: list[Op] = []
    if puts is None:
        early, late = _record_operations(conn, store, span, steps, changed, signings)
        ops += early
    marks = [file_operations.mark_of(step) for step in steps] + _referring_marks(conn, span, steps, changed)
    main, records = store.digest_delta([*ops, *late], before=before)
    if puts is not None and span.prepared is not None:
        records = digest_bytes(int.from_bytes(records, "big") + span.prepared.digest)
    return Batch(head, span, marks, ops, (main, records), puts, late)


def _prepared_puts(span: publication_log.Range, steps: Sequence[publication_log.ZoneStep]) -> PackedPuts | None:
    """Return the range's prepared rows, or None if they are missing, unusable or include a zone that isn't new."""
    if span.prepared is None or any(step.serial is None or step.served_before for step in steps):
        return None
    return prepared_puts(span.prepared, [step.zone_id for step in steps])


def _referring_marks(
    conn: Connection,
    span: publication_log.Range,
    steps: Sequence[publication_log.ZoneStep],
    changed: Mapping[int, publication_log.Changes],
) -> list[ZoneMark]:
    """Return the marks of unchanged zones whose answers include changed records."""
    names = {name for changes in changed.values() for name, _ in changes}
    touched = [step.zone_id for step in steps]
    full = [zone_id for zone_id in touched if zone_id not in changed]
    return referrers.referring_marks(conn, span, names, touched=touched, full=full)


def _record_operations(
    conn: Connection,
    store: Store,
    span: publication_log.Range,
    steps: Sequence[publication_log.ZoneStep],
    changed: Mapping[int, publication_log.Changes],
    signings: zone_signing.Signings,
) -> tuple[list[Op], list[Op]]:
    """Return the operations on records to apply now, and those to apply once PowerDNS uses the main file's changes."""
    ops: list[Op] = []
    late: list[Op] = []
    for step in steps:
        state_before, state_after = signings.of(step.zone_id)
        before, after = state_before.denial, state_after.denial
        if step.serial is None:
            ops += file_operations.removed_zone_operations(step)
        elif step.changed:
            rows, changes = store.rows(step.zone_id), changed[step.zone_id]
            if before == after:
                ops += file_operations.changed_zone_operations(step, rows, changes, after)
            else:
                first, last = file_operations.switched_zone_operations(step, rows, changes, before, after)
                ops += first
                # A paused zone gets no answers computed with the former parameters.
                (ops if state_before.paused else late).extend(last)
    full = {step.zone_id: step for step in steps if step.is_full}
    serials = {zone_id: step.serial for zone_id, step in full.items() if step.serial is not None}
    for zone_id, rrsets in publication_log.rrsets_at(conn, span.last, serials):
        step, denial = full[zone_id], signings.of(zone_id)[1].denial
        if step.served_before:
            ops += file_operations.restored_zone_operations(step, store.rows(zone_id), rrsets, denial)
        else:
            ops += file_operations.new_zone_operations(step, rrsets, denial)
    return ops, late
