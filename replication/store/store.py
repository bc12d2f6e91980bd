"""Write the two LMDB files of one PowerDNS in place, while it serves from them.

`<path>` is the main file (zones), `<path>-0` the records file. A transaction never spans both. In addition to
PowerDNS's tables, each file has a table of ours, `dnspanel`. Its row `position` is written in the same transaction
as the data:

    offset  size  row `position`
    0       1     version, 1
    1       16    epoch
    17      8     applied: this file is complete up to here
    25      8     begun: rows of later sequences, up to here, may already be in this file
    33      16    digest of the rows that are in this file now (of a segment of new zones, once it is complete)
    49      8     main required: this file's `applied` only counts if `applied` of the main file is at least this

How a segment is applied, and why a crash at any point is harmless:

1. Transactions follow the segment's order: rows of new zones (unseen), the main file, rows of removed zones.
2. The transaction of the main file that ends its operations sets its `applied`. A segment without such operations does
   not touch the main file at all, so an ordinary edit costs one synced commit.
3. The last commit of a segment is always in the records file. It sets `applied` there, and also changes the answer of
   the position zone. After a crash before it, `applied` is unchanged, and the segment is applied again from the start.
   Doing a put or a delete twice has the same result as doing it once.
4. `applied` of the records file only counts while the main file is not behind `main required`. If an older main file
   was restored, the position is that of the main file, and later segments are replayed onto both files.
5. Digests follow the rows that were really found: each change subtracts the digest of the old row and adds that of the
   new row. This keeps digests right through crashes and replays. If another program alters a row, the comparison with
   the segment's digest detects it, before the commit that would change the position. While `begun` is beyond the
   segment (a replay), the file is ahead of it, and is compared once it is no longer ahead.
6. The writes are planned before a file is locked (`prepared_write`). During the lock LMDB writes, and the commit waits
   for the disk. That wait must be inside the lock. Otherwise PowerDNS could answer with data that isn't durable yet,
   and after a power failure the node would answer with older data again.

Rows depend only on the segments (the header of schemas 5 and 6 takes its time and transaction id from the segment).
Therefore two stores with the same history have the same keys and values.
"""

import errno
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import lmdb

from replication.codec import keys, values
from replication.codec.domains import ZoneObject, decode_domain
from replication.codec.schema import Dbi, File, Schema, schema_for
from replication.codec.sealed import SecretOf
from replication.dns import rdtypes
from replication.errors import BadSegment, BadSnapshot, Busy, Damaged, Gap, Unfinished, WrongCluster, WrongEpoch
from replication.store import key_table, mapped
from replication.store.applying import POSITION_ZONE, POSITION_ZONE_ID, Application, Watch, own_rows
from replication.store.attached import attached_rows
from replication.store.checking import Check
from replication.store.digest_delta import digest_delta
from replication.store.file_row import INSTALLING_KEY, Database, combined_position, common_position
from replication.store.install_snapshot import Installation, Source, Target
from replication.store.key_opener import KeyOpener
from replication.store.opening import DAMAGE, FileUse, file_use, lmdb_errors, open_copy, open_file
from replication.store.own_commits import foreign_commit, note_commit
from replication.store.repair_zone import Repaired, RepairWriter
from replication.store.zone_digests import mark_complete, running_digest
from replication.store.zone_rows import ZoneRows
from replication.wire.operations import Op, digest_bytes
from replication.wire.position import Position
from replication.wire.segment import Segment

RECORDS_MAP_SIZE = 16000 << 20  # PowerDNS before 4.9.6 maps the records file with this size, regardless of its settings
HOLD_SECONDS = 0.02
COPY_SECONDS = 30.0
LMDB_VERSION = ".".join(map(str, lmdb.version()))

_COPY_PAUSE_SECONDS = 0.02
_KEYS_AT_ONCE = 1_000

# Above this many resident bytes, pages of mapped files are released after a commit.
_RESIDENT_FILE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of `apply`. If `already` is True, the store had the whole segment, and the other numbers are 0."""

    position: Position
    already: bool = False
    rows: int = 0
    commits: int = 0
    longest_hold_ms: float = 0.0
    leaves_attached: bool = False  # DNSSEC keys or metadata changed, and `before_late` wasn't called after that


@dataclass(frozen=True, slots=True)
class StoredZone:
    """A zone in the files. `serial` is None without an SOA, and the expected `digest` is empty until it is computed."""

    zone_id: int
    name: str
    serial: int | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class Copied:
    """The contents of a copy of both files: the position, and the digests of the main file and of the records file."""

    position: Position
    digest_main: bytes
    digest_records: bytes


class Store:
    """The two open LMDB files of one PowerDNS. A process must open them only once; threads can share the store."""

    def __init__(
        self, main: Database, records: Database, schema: Schema, cluster: UUID, opener: KeyOpener | None = None
    ) -> None:
        self.schema, self.cluster = schema, cluster
        self._opener = opener or KeyOpener(schema)
        self._main, self._records = main, records
        self._ranges = mapped.ranges_of((main.path, records.path))
        self._lock = threading.Lock()

    @classmethod
    def open(  # noqa: PLR0913  # the settings of a store
        cls,
        path: str | os.PathLike[str],
        schema: int,
        map_size: int,
        *,
        cluster: UUID,
        create: bool = True,
        sync: bool = True,
        sealing_keys: SecretOf | None = None,
    ) -> Self:
        """Open the store at `path`, creating missing files in the form that PowerDNS accepts.

        `sealing_keys` maps a sealing key's id to its secret. If it is given, DNSSEC keys are decrypted before they are
        written, because PowerDNS serves from this store. Otherwise they stay sealed.

        `map_size` (bytes) must not be above PowerDNS's `lmdb-map-size`. Raise FileNotFoundError if the main file is
        missing and `create` is false, and BadBytes if the files are damaged or have another schema. Raise RuntimeError
        if the LMDB library's format differs from PowerDNS's.
        """
        if lmdb.version()[:2] != (0, 9):
            raise RuntimeError(f"PowerDNS needs LMDB 0.9, this Python has {lmdb.version()}")
        if not create and not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        kind = schema_for(schema)
        main_path = os.path.realpath(path)
        opened: list[Database] = []
        try:
            opened.append(open_file(main_path, File.MAIN, kind, map_size, sync=sync, cluster=cluster))
            shard_size = min(map_size, RECORDS_MAP_SIZE)
            opened.append(open_file(main_path + "-0", File.SHARD, kind, shard_size, sync=sync))
            store = cls(opened[0], opened[1], kind, cluster, KeyOpener(kind, sealing_keys))
            store._write_own_zone()
        except BaseException as exc:
            for database in opened:
                database.env.close()
            if isinstance(exc, DAMAGE):
                raise Damaged(what=main_path, reason=str(exc)) from exc
            raise
        return store

    def close(self) -> None:
        self._ranges = []  # the next mapping at these addresses isn't ours to release
        self._main.env.close()
        self._records.env.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def position(self) -> Position | None:
        """Return the position at which both files are complete.

        Return None if the store is empty or contains an unfinished snapshot.
        """
        return None if self.installing() else combined_position(self._main.row(), self._records.row())

    def installing(self) -> str | None:
        """Return the id of the snapshot whose installation is unfinished, or None."""
        return self._main.installing() or self._records.installing()

    def digests(self) -> tuple[bytes, bytes]:
        """Return the current digests of the main file and of the records file."""
        rows = (self._main.row(), self._records.row())
        return digest_bytes(rows[0].digest if rows[0] else 0), digest_bytes(rows[1].digest if rows[1] else 0)

    def position_and_digests(self) -> tuple[Position | None, bytes, bytes]:
        """Return the position (or None) and the digests (main, records), read at the same moment.

        The digests are empty if there is no position, or while a segment is half applied.
        """
        with self._records.env.begin() as records, self._main.env.begin() as main:
            rows = self._main.row(main), self._records.row(records)
        position = None if self.installing() else combined_position(*rows)
        if position is None or common_position(*rows) != position:
            return position, b"", b""
        main_digest, records_digest = (digest_bytes(row.digest if row else 0) for row in rows)
        return position, main_digest, records_digest

    def use(self) -> tuple[FileUse, FileUse]:
        """Return the fill levels and the oldest readers of the main file and of the records file."""
        return file_use(self._main), file_use(self._records)

    def zone(self, zone_id: int) -> ZoneObject | None:
        """Return the zone with this id, or None if it doesn't exist."""
        with self._main.env.begin() as txn:
            value = txn.get(self.schema.row_id_key(zone_id), db=self._main.tables[Dbi.DOMAINS])
        return None if value is None else decode_domain(self.schema.unwrap(value))

    def zone_id(self, name: str) -> int | None:
        """Return the id of the zone with this name, or None if the zone doesn't exist."""
        start, _ = self.schema.index_row(name, 0)
        with self._main.env.begin() as txn, txn.cursor(db=self._main.tables[Dbi.DOMAINS_INDEX]) as cursor:
            if not self.schema.has_header:
                value = txn.get(start, db=self._main.tables[Dbi.DOMAINS_INDEX])
                return None if value is None else int.from_bytes(value, "little")
            if cursor.set_range(start) and cursor.key().startswith(start[:-4]):
                return int.from_bytes(cursor.key()[-4:], "big")
        return None

    def rows(self, zone_id: int) -> ZoneRows:
        """Return a zone's record rows, in the form that `compile` reads."""
        return ZoneRows(self._records, self.schema, zone_id)

    def zones_from(self, first: int, *, limit: int) -> list[StoredZone]:
        """Return at most `limit` zones with ids from `first` on, ordered by id, without our own zone."""
        found: list[StoredZone] = []
        table = self._main.tables[Dbi.DOMAINS]
        with self._main.env.begin() as main, self._records.env.begin() as records, main.cursor(db=table) as cursor:
            more = cursor.set_range(self.schema.row_id_key(first))
            while more and len(found) < limit:
                zone = decode_domain(self.schema.unwrap(cursor.value()))
                if zone.id != POSITION_ZONE_ID:
                    found.append(self._stored_zone(records, zone))
                more = cursor.next()
        return found

    def _stored_zone(self, records: Any, zone: ZoneObject) -> StoredZone:
        key = keys.record_key(zone.id, keys.APEX, rdtypes.SOA)
        value = records.get(key, db=self._records.tables[Dbi.RECORDS])
        running = running_digest(records, self._records, zone.id)
        return StoredZone(
            zone.id,
            zone.name,
            None if value is None else _serial_in(self.schema.unwrap(value)),
            running.encode() if running is not None and running.is_known else b"",
        )

    def has_keys(self, zone: str) -> bool:
        """Return True if this zone has DNSSEC keys, active or not."""
        return key_table.has_keys(self._main, self.schema, zone)

    def signed_zones(self, zones: Iterable[str]) -> set[str]:
        """Return the given zones that PowerDNS has to sign: they have an active or an unreadable key."""
        return key_table.signed_zones(self._main, self.schema, zones)

    def zones_with_keys(self) -> list[str]:
        """Return a sample of the zones with keys, spread over the key table. If only a few have keys, return all."""
        return key_table.zones_with_keys(self._main, self.schema)

    def attached_rows(self, zone: str) -> list[tuple[Dbi, bytes, bytes]]:
        """Return table, key and body of each stored row of a zone's metadata and DNSSEC keys."""
        with self._main.env.begin() as txn:
            return list(attached_rows(txn, self._main, self.schema, zone))

    def open_keys(self) -> None:
        """Decrypt all sealed DNSSEC keys in files that have just been replaced. Idempotent.

        Raise UnknownSealingKey or BadBytes if a key can't be decrypted. After an error nothing has changed.
        """
        table = self._main.tables[Dbi.KEYDATA]
        with lmdb_errors(self._main, self._records), self._main.writing() as txn:
            last, changed = None, False
            while True:
                with txn.cursor(db=table) as cursor:
                    more = cursor.first() if last is None else cursor.set_range(last) and cursor.next()
                    rows = list(islice(cursor.iternext(), _KEYS_AT_ONCE)) if more else []
                for key, value in rows:
                    opened = self._opener.opened_value(Dbi.KEYDATA, key, value)
                    if opened != value:
                        txn.put(key, opened, db=table)
                        changed = True
                if not rows:
                    break
                last = rows[-1][0]
            if changed:
                note_commit(txn, self._main)

    def digest_delta(self, ops: Sequence[Op], *, before: tuple[bytes, bytes] | None = None) -> tuple[bytes, bytes]:
        """Return the digests (main, records) after these operations, without writing anything.

        Two operations must not have the same key. `before` are the digests before the operations, if they will differ
        from the current ones.
        """
        return digest_delta(ops, self.schema, self._main, self._records, before=before)

    def apply(
        self, segment: Segment, *, watch: Watch | None = None, before_late: Callable[[], None] = lambda: None
    ) -> Applied:
        """Update the store to the panel's state at `segment.after` (see the module's docstring).

        A segment whose sequences are all applied already changes nothing (`Applied.already`). `watch` receives the keys
        of records that are put or deleted, except deletions by prefix. `before_late` is called after a committed change
        of DNSSEC keys or metadata, and before record operations that are only right once PowerDNS uses this change.
        Raise Gap, WrongCluster, WrongEpoch, Unfinished, Diverged, BadSegment or UnknownSealingKey if the segment
        doesn't fit. Raise MapFull or DiskFull if there is no space, or Busy if another process writes our rows. The
        next attempt repeats what was committed before.
        """
        with self._lock:
            main, records = self._main.row(), self._records.row()
            if segment.is_repair:
                raise BadSegment(reason="it repairs a zone and moves nothing")
            if segment.cluster != self.cluster:
                raise WrongCluster(ours=self.cluster, theirs=segment.cluster)
            if self.installing():
                raise Unfinished(what=self._main.path)
            if records is not None and records.epoch != segment.epoch:
                raise WrongEpoch(ours=records.epoch, theirs=segment.epoch)
            at = combined_position(main, records)
            if at is not None and at.sequence >= segment.last:
                return Applied(at, already=True)
            if segment.schema != self.schema.number:
                raise BadSegment(reason=f"it is for schema {segment.schema}, this store has {self.schema.number}")
            if (at.sequence if at else 0) < segment.first - 1:
                raise Gap(have=at, got=segment.first)
            application = Application(segment, self.schema, self._main, self._records, self._opener)
            with lmdb_errors(self._main, self._records):
                application.run(watch, self.release_pages, before_late)
        hold = application.longest.total * 1000
        return Applied(
            segment.after,
            rows=application.rows,
            commits=application.commits,
            longest_hold_ms=hold,
            leaves_attached=application.leaves_attached,
        )

    def repair(self, segment: Segment) -> Repaired:
        """Make one zone equal to the panel's zone at the store's position, writing only differences.

        Idempotent. Raise Gap if the store is at another position, plus the errors of `apply`.
        """
        with self._lock, lmdb_errors(self._main, self._records):
            if segment.cluster != self.cluster:
                raise WrongCluster(ours=self.cluster, theirs=segment.cluster)
            if segment.schema != self.schema.number:
                raise BadSegment(reason=f"it is for schema {segment.schema}, this store has {self.schema.number}")
            if self.installing():
                raise Unfinished(what=self._main.path)
            writer = RepairWriter(segment, self.schema, self._main, self._records, self._opener)
            return writer.run(self.release_pages)

    def refuse_segments(self) -> None:
        """Reject everything except a snapshot from now on."""
        for database in (self._main, self._records):
            with database.writing() as txn:
                txn.put(INSTALLING_KEY, bytes(16), db=database.own)
                note_commit(txn, database)

    def install(
        self,
        name: str,
        path: str | os.PathLike[str],
        copied: Copied,
        *,
        time_ns: int,
        hold_seconds: float = HOLD_SECONDS,
        before_removal: Callable[[], None] = lambda: None,
    ) -> Applied:
        """Make the store equal to the copy at `path`, in place (`install_snapshot`). `name` is the snapshot's id.

        `before_removal` is called when the index rows of zones that the copy lacks are deleted, but their records still
        exist. At that time PowerDNS must drop these zones from its list in memory.

        The expected contents `copied` must come from a signed manifest. Raise BadSnapshot if the copy has other
        contents, or is older than the store's position in the same epoch. Raise UnknownSealingKey before anything is
        written, MapFull or DiskFull if there is no space, or Busy if another process writes to the files. After Busy
        the installation has to be repeated before the store has a position again.
        """
        with self._lock, open_copy(path, self.schema) as (main, records):
            found = common_position(main.row(), records.row())
            digests = [digest_bytes(row.digest if row else 0) for row in (main.row(), records.row())]
            if (found, *digests) != (copied.position, copied.digest_main, copied.digest_records):
                raise BadSnapshot(reason=f"its files are at {found}, the manifest says {copied.position}")
            at = self.position()
            if at is not None and at.epoch == copied.position.epoch and at > copied.position:
                raise BadSnapshot(reason=f"it is of sequence {copied.position.sequence}, this node is at {at.sequence}")
            source = Source(name, copied.position, copied.digest_main, copied.digest_records, time_ns, main, records)
            ranges = mapped.ranges_of((main.path, records.path))

            def release_pages() -> None:
                if mapped.file_bytes_resident() > _RESIDENT_FILE_BYTES:
                    mapped.release(chain(self._ranges, ranges))

            target = Target(self.schema, self._main, self._records, self._opener)
            installation = Installation(source, target, hold_seconds, release_pages, before_removal)
            with lmdb_errors(self._main, self._records):
                installation.run()
        hold = installation.longest.total * 1000
        return Applied(copied.position, rows=installation.rows, commits=installation.commits, longest_hold_ms=hold)

    def check(self) -> Check:
        """Return a check of this store's rows. It reads nothing until one of its methods is called."""
        return Check(self.schema, self._main, self._records, self._lock, self._opener)

    def has_foreign_commit(self) -> bool:
        """Return True if another process has written to a file since the last full check."""
        return any(foreign_commit(database) for database in (self._main, self._records))

    def copy(self, path: str | os.PathLike[str], *, seconds: float = COPY_SECONDS) -> Copied:
        """Write compact copies of both files to `path` and `<path>-0`. Return their common position and digests.

        Readers and writers don't have to wait. Raise Busy if the files have no common position within `seconds`. A
        segment is then half applied, a snapshot is unfinished, or the store is empty.
        """
        until = time.monotonic() + seconds
        while True:
            with self._main.env.begin() as main, self._records.env.begin() as records:
                rows = self._main.row(main), self._records.row(records)
                if (position := common_position(*rows)) is not None and not self.installing():
                    self._main.env.copy(os.fspath(path), compact=True, txn=main)
                    self._records.env.copy(os.fspath(path) + "-0", compact=True, txn=records)
                    return Copied(position, *(digest_bytes(row.digest if row else 0) for row in rows))
            if time.monotonic() > until:
                raise Busy(what=self._main.path)
            time.sleep(_COPY_PAUSE_SECONDS)

    def clear_dead_readers(self) -> None:
        """Clear LMDB reader slots of killed processes, because they keep old pages from being reused."""
        self._main.env.reader_check()
        self._records.env.reader_check()

    def release_pages(self) -> None:
        """Release mapped pages if many are resident, to limit this process's resident memory."""
        if mapped.file_bytes_resident() > _RESIDENT_FILE_BYTES:
            mapped.release(self._ranges)

    def _write_own_zone(self) -> None:
        """Write the zone that answers with the position, and the guard row at the end of the key space, if missing."""
        records = [(Dbi.RECORDS, *row) for row in own_rows()]
        self._put_missing(self._records, Dbi.RECORDS, records)
        self._put_missing(self._main, Dbi.DOMAINS, self.schema.zone_rows(POSITION_ZONE_ID, POSITION_ZONE))

    def _put_missing(self, database: Database, first: Dbi, rows: Sequence[tuple[Dbi, bytes, bytes]]) -> None:
        """Put our own rows if they are missing. If table `first` is empty, the file counts as checked.

        A new records file also counts as complete.
        """
        with database.writing() as txn:
            is_new = not txn.stat(database.tables[first])["entries"]
            missing = [row for row in rows if txn.get(row[1], db=database.tables[row[0]]) is None]
            for dbi, key, body in missing:
                txn.put(key, self.schema.wrap(body, 0, 0), db=database.tables[dbi])
            if is_new and database is self._records:
                mark_complete(txn, database)
            if missing:
                note_commit(txn, database, checked=txn.id() if is_new else 0)


def _serial_in(soa: bytes) -> int | None:
    """Return the serial in an SOA row's body (20 bytes before the rdata's end), or None if it has no records."""
    records = values.decode_records(soa)
    return int.from_bytes(records[0].content[-20:-16], "big") if records else None
