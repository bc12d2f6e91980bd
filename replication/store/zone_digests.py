"""Keep a running digest for each zone: the expected sum over its record rows. Each writer updates it with the rows.

Table `dnspanel_zones` of the records file has one row for each zone that was ever written here and not removed since:

    key     zone id (u32 big endian)
    value   16 bytes          digest of the zone's rows, a sum as in `operations`
            empty             not computed yet: the rows came without being hashed (segment of version 2, snapshot)
            17 bytes          as empty; 01, then what edits have added to the digest since

Two rows of the table `dnspanel` belong to this. `complete` means that every zone of ours has a row, so a zone without a
row was not written by us. In a file that an older release created, the first check adds it (`adopt`). `unhashed`
contains 8 random bytes, which change each time that zones with rows get an empty digest. A sum of rows that was started
before such a change must not be written.

The digests change in the transaction that changes the records, and the file's digest is the sum of its zones' digests.
If another program alters rows, this table does not change, so the sum over a zone's rows differs from this table.
"""

import os
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any

from replication.codec import keys
from replication.codec.schema import Dbi
from replication.errors import BadBytes
from replication.store.file_row import Database
from replication.wire.operations import DIGEST_MODULUS, DIGEST_SIZE, digest_bytes, rows_digest

ZONES_DBI = b"dnspanel_zones"
COMPLETE_KEY = b"complete"
UNHASHED_KEY = b"unhashed"
_COMPLETE = b"\x01"
_UNKNOWN = b"\x01"


class Running:
    """The digest of a zone's rows. If it is unknown, `total` is the sum of all changes since it became unknown."""

    __slots__ = ("is_known", "total")

    def __init__(self, total: int = 0, *, is_known: bool = True) -> None:
        self.total, self.is_known = total % DIGEST_MODULUS, is_known

    def plus(self, delta: int) -> "Running":
        return Running(self.total + delta, is_known=self.is_known)

    def encode(self) -> bytes:
        if self.is_known:
            return digest_bytes(self.total)
        return _UNKNOWN + digest_bytes(self.total) if self.total else b""


def decode_running(value: bytes) -> Running:
    """Decode a running digest: the inverse of `Running.encode`. Raise BadBytes if the value is invalid."""
    if len(value) == DIGEST_SIZE:
        return Running(int.from_bytes(value, "big"))
    if not value:
        return Running(is_known=False)
    if len(value) == DIGEST_SIZE + 1 and value[:1] == _UNKNOWN:
        return Running(int.from_bytes(value[1:], "big"), is_known=False)
    raise BadBytes(what="digest of a zone", reason=f"{value.hex()} is none")


class Changes:
    """A write transaction's changes to zone digests in the records file."""

    def __init__(self, records: Database) -> None:
        self._records = records
        self._added: dict[bytes, int] = {}
        self._unhashed: set[bytes] = set()
        self._removed: set[bytes] = set()

    def add(self, key: bytes, digest: int) -> None:
        """Add `digest` to the sum of the zone to which this key belongs."""
        zone = key[:4]
        self._added[zone] = self._added.get(zone, 0) + digest

    def add_unhashed(self, zones: Collection[bytes]) -> None:
        """Record that rows of these new zones were written without being hashed. Zone ids are encoded as in keys."""
        self._unhashed.update(zones)

    def remove(self, zone: bytes) -> None:
        """Record that all rows of this zone have been deleted. The caller must also call `add` for each row."""
        self._removed.add(zone)

    def rows(self, txn: Any) -> tuple[list[tuple[bytes, bytes | None, bytes]], list[tuple[bytes, bytes]]]:
        """Return the rows to put or delete (value None), and separately the rows to put only if their keys are missing.

        The result is based on the data that `txn` reads.
        """
        table = self._records.zones
        is_complete = bool(self._added) and txn.get(COMPLETE_KEY, db=self._records.own) is not None
        changed: dict[bytes, bytes | None] = {}
        for zone, digest in self._added.items():
            value = txn.get(zone, db=table)
            before = Running(is_known=is_complete) if value is None else decode_running(value)
            changed[zone] = before.plus(digest).encode()
        for zone in self._removed:
            value = changed[zone] if zone in changed else txn.get(zone, db=table)
            if value is not None and _is_nothing(decode_running(value)):
                changed[zone] = None
        unhashed = [(zone, b"") for zone in sorted(self._unhashed)]
        return [(zone, value, b"") for zone, value in changed.items()], unhashed


def digests_by_zone(dbi: Dbi, rows: Sequence[tuple[bytes, bytes]]) -> dict[bytes, int]:
    """Return the sum of the rows' digests for each zone id (the first four bytes of the keys).

    The rows must be in key order. Rows of tables other than the records table are one group.
    """
    if rows[0][0][:4] == rows[-1][0][:4] or dbi is not Dbi.RECORDS:
        return {rows[0][0][:4]: rows_digest(dbi, rows)}
    return {zone: rows_digest(dbi, of_zone) for zone, of_zone in groupby(rows, key=_zone_of)}


def _zone_of(row: tuple[bytes, bytes]) -> bytes:
    return row[0][:4]


def _is_nothing(running: Running) -> bool:
    """Return True if the digest of a zone without rows can be deleted.

    The digest must be kept if the deleted rows were not the rows that had been written. In that case, a repair of this
    zone also corrects the error in the file's digest.
    """
    return not running.is_known or not running.total


def running_digest(txn: Any, records: Database, zone_id: int) -> Running | None:
    """Return a zone's running digest, or None if we never wrote the zone or have removed it."""
    value = txn.get(keys.zone_prefix(zone_id), db=records.zones)
    return None if value is None else decode_running(value)


def put_digest(txn: Any, records: Database, zone_id: int, running: Running | None) -> None:
    """Store a zone's running digest, or delete the stored digest if `running` is None."""
    zone = keys.zone_prefix(zone_id)
    if running is None:
        txn.delete(zone, db=records.zones)
    else:
        txn.put(zone, running.encode(), db=records.zones)


def mark_unknown(txn: Any, records: Database, zone_ids: Collection[int]) -> None:
    """Record that these zones' rows were written without being hashed. The next check computes their digests."""
    txn.put(UNHASHED_KEY, os.urandom(8), db=records.own)
    with txn.cursor(db=records.zones) as cursor:
        cursor.putmulti([(keys.zone_prefix(zone_id), b"") for zone_id in sorted(zone_ids)])


def adopt(txn: Any, records: Database, zone_ids: Collection[int]) -> None:
    """Add these zones to a file that has no zone digests. The next check computes their digests."""
    with txn.cursor(db=records.zones) as cursor:
        cursor.putmulti([(keys.zone_prefix(zone_id), b"") for zone_id in sorted(zone_ids)], overwrite=False)


def unhashed_since(txn: Any, records: Database) -> bytes:
    """Return the value of the row `unhashed`, or b"" if it is missing."""
    return bytes(txn.get(UNHASHED_KEY, db=records.own) or b"")


def is_complete(txn: Any, records: Database) -> bool:
    """Return True if every zone of ours has a row, so that a zone without a row is foreign."""
    return txn.get(COMPLETE_KEY, db=records.own) is not None


def mark_complete(txn: Any, records: Database) -> None:
    """Record that every zone in the file now has a row."""
    txn.put(COMPLETE_KEY, _COMPLETE, db=records.own)
