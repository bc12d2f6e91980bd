"""Check each zone's records against the zone's running digest.

The digests of a zone's rows add up to its running digest (`zone_digests`), because both change in one transaction. The
check fills in digests that were not computed yet.
"""

from collections.abc import Generator
from typing import Any, NamedTuple

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.errors import BadBytes
from replication.store.check_state import (
    ALTERED,
    EMPTIED,
    FOREIGN_RECORDS,
    OWN_ZONES,
    ROWS_AT_ONCE,
    UNREADABLE,
    ZONES_PER_STEP,
    CheckState,
    Steps,
)
from replication.store.file_row import FileRow
from replication.store.own_commits import note_commit
from replication.store.zone_digests import Running, decode_running, is_complete, running_digest, unhashed_since
from replication.wire.operations import DIGEST_MODULUS, rows_digest

# Rows added up between two steps.
ROWS_PER_STEP = 250
# Zones whose digests are written in one transaction.
ZONES_PER_COMMIT = 1_000
_HEADER_SIZE = 24
_PLAIN_HEADER_END = bytes(8)  # version 0, no flags, reserved, no extensions


class _Unknown(NamedTuple):
    """A zone whose digest is unknown: the sum of its rows, and its running digest at that time."""

    zone_id: int
    total: int
    added: int


class RecordsCheck:
    """A check of zones in the records file, which records its results in the shared state."""

    def __init__(self, state: CheckState) -> None:
        self._state = state
        self._schema, self._records = state.schema, state.records
        self._unknown: list[_Unknown] = []

    def walk(self, entries: int) -> Steps:
        """Check all zones, and fill in unknown digests. `entries` is about the number of rows in the whole check."""
        at: int | None = 0
        while at is not None:
            with self._records.env.begin() as txn:
                mark = unhashed_since(txn, self._records)
                at_rest = is_at_rest(self._records.row(txn))
                at = yield from self._some_zones(txn, at)
            if at_rest:
                self._fill(mark)
            self._unknown.clear()
            self._state.share = min(0.99, self._state.rows / entries)

    def _some_zones(self, txn: Any, first: int) -> Generator[None, None, int | None]:
        """Check zones, starting at id `first`. Return the zone id to continue with, or None at the end."""
        begun, zones_read = self._state.rows, 0
        knows_all = is_complete(txn, self._records)
        with txn.cursor(db=self._records.tables[Dbi.RECORDS]) as rows, txn.cursor(db=self._records.zones) as zones:
            more_rows, more_zones = rows.set_range(keys.zone_prefix(first)), zones.set_range(keys.zone_prefix(first))
            while more_rows or more_zones:
                zone = min(([rows.key()[:4]] if more_rows else []) + ([zones.key()] if more_zones else []))
                if self._state.rows - begun > ROWS_AT_ONCE:
                    return int.from_bytes(zone, "big")
                running = None
                if more_zones and zones.key() == zone:
                    running = self._decode(zones.value(), zone)
                    more_zones = zones.next()
                total: int | None = 0
                count = 0
                if more_rows and rows.key().startswith(zone):
                    total, count = yield from self._sum(rows, zone)
                    more_rows = bool(rows.key())
                zones_read += 1
                if not zones_read % ZONES_PER_STEP:
                    yield
                if running is not None or knows_all:
                    self._judge(int.from_bytes(zone, "big"), running, total, count)
        return None

    def zone(self, txn: Any, zone_id: int) -> Steps:
        total: int | None = 0
        count = 0
        with txn.cursor(db=self._records.tables[Dbi.RECORDS]) as rows:
            zone = keys.zone_prefix(zone_id)
            if rows.set_range(zone) and rows.key().startswith(zone):
                total, count = yield from self._sum(rows, zone)
        self._judge(zone_id, running_digest(txn, self._records, zone_id), total, count)
        self._unknown.clear()

    def _sum(self, rows: Any, zone: bytes) -> Generator[None, None, tuple[int | None, int]]:
        """Add up the digests of a zone's rows, and count the rows. The sum is None if a row is unreadable.

        Afterwards the cursor is after the zone's rows.
        """
        total, count, readable = 0, 0, True
        has_header, batch = self._schema.has_header, []
        for key, value in rows:
            if key[:4] != zone:
                break
            if not has_header:
                batch.append((key, value))
            elif value[16:_HEADER_SIZE] == _PLAIN_HEADER_END:
                batch.append((key, value[_HEADER_SIZE:]))
            else:
                body = self._state.body_of(value)
                readable &= body is not None
                batch.append((key, body or b""))
            if len(batch) == ROWS_PER_STEP:
                total += rows_digest(Dbi.RECORDS, batch)
                count += len(batch)
                batch = []
                yield
        count += len(batch)
        self._state.rows += count
        total += rows_digest(Dbi.RECORDS, batch)
        return total % DIGEST_MODULUS if readable else None, count

    def _judge(self, zone_id: int, running: Running | None, total: int | None, count: int) -> None:
        if zone_id in OWN_ZONES:
            return
        if running is None:
            if count:
                self._state.note(zone_id, "", FOREIGN_RECORDS)
        elif total is None:
            self._state.note(zone_id, "", UNREADABLE)
        elif not running.is_known:
            self._unknown.append(_Unknown(zone_id, total, running.total))
        elif running.total != total:
            self._state.note(zone_id, "", ALTERED if count else EMPTIED)

    def _decode(self, value: bytes, zone: bytes) -> Running:
        """Decode a zone's digest. If it is unreadable, record the zone as diverged and return an unknown digest."""
        try:
            return decode_running(value)
        except BadBytes:
            self._state.note(int.from_bytes(zone, "big"), "", UNREADABLE)
            return Running(is_known=False)

    def _fill(self, mark: bytes) -> None:
        """Write unknown digests, including later changes. Stop if rows without digests were added since `mark`."""
        for start in range(0, len(self._unknown), ZONES_PER_COMMIT):
            with self._state.lock:
                with self._records.env.begin() as txn:  # no other process writes these rows
                    if unhashed_since(txn, self._records) != mark or not is_at_rest(self._records.row(txn)):
                        return  # other rows came during the check; the next check reads them
                    found = []
                    for zone_id, total, added in self._unknown[start : start + ZONES_PER_COMMIT]:
                        now = running_digest(txn, self._records, zone_id)
                        if now is not None and not now.is_known:
                            found.append((keys.zone_prefix(zone_id), Running(total + now.total - added).encode()))
                with self._records.writing() as txn:
                    with txn.cursor(db=self._records.zones) as cursor:
                        cursor.putmulti(found)
                    note_commit(txn, self._records)


def is_at_rest(row: FileRow | None) -> bool:
    """Return True if the records file doesn't contain a half-applied segment."""
    return row is not None and row.begun <= row.applied
