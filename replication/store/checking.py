"""Check every row of a store, to find the rows that another program changed.

A check is a generator. It reads for about a millisecond between two of its steps, and its caller decides how long to
rest. It can keep a read transaction open between steps, but not for more than ROWS_AT_ONCE rows, except inside one
zone.

After every commit of ours these conditions are true, and the check verifies them:

- records: the digests of a zone's rows add up to its running digest (`zone_digests`), because rows and digest change in
  one transaction;
- main file: exactly the zones in that table have an object and a name there, as `Schema.zone_rows` creates them; no
  other index row leads to a zone; and the metadata and keys of a zone add up to its digests for them (`attached`);
- the digest of each file is the sum over its contents.

The main file is compared with the records file's table, so each part of that comparison waits until both files are
complete at one position. False alarms can't happen: the check sees the state either before or after any change of ours.
The check fills in digests that were not computed yet. If all rows are right, it also corrects a file's digest that is
not the sum over its contents: a segment that was half applied over another program's rows leaves such a digest.
"""

import logging
import threading
from collections.abc import Iterable
from dataclasses import replace

from replication.codec.schema import Dbi, Schema
from replication.store.check_state import OWN_ZONES, CheckState, DivergedZone, Steps, count_rows
from replication.store.checking_attached import AttachedCheck
from replication.store.checking_records import ROWS_PER_STEP, ZONES_PER_COMMIT, RecordsCheck, is_at_rest
from replication.store.checking_zone_list import ZoneListCheck
from replication.store.file_row import ROW_KEY, Database, FileRow
from replication.store.key_opener import KeyOpener
from replication.store.own_commits import foreign_commit, newest_commit, note_commit
from replication.store.zone_digests import adopt, decode_running, is_complete, mark_complete
from replication.wire.operations import DIGEST_MODULUS

logger = logging.getLogger(__name__)


class Check:
    """One check of everything, or of some zones. Use each object once. `lock` is the store's lock."""

    def __init__(
        self, schema: Schema, main: Database, records: Database, lock: threading.Lock, opener: KeyOpener
    ) -> None:
        self._main, self._records = main, records
        self._state = CheckState(schema, main, records, lock, opener)
        self._of_records, self._of_list = RecordsCheck(self._state), ZoneListCheck(self._state)
        self._of_attached = AttachedCheck(self._state)
        self.is_done = False  # True if everything was read; False if the files were never at one position

    @property
    def diverged(self) -> dict[int, DivergedZone]:
        """The diverged zones found so far, keyed by zone id."""
        return self._state.diverged

    @property
    def rows(self) -> int:
        """The number of rows read so far."""
        return self._state.rows

    @property
    def share(self) -> float:
        """The share of all rows that was read so far, 0 to 1."""
        return self._state.share

    def everything(self) -> Steps:
        """Check both files from the first row to the last, and mark their foreign commits as checked.

        If all rows are right, correct the digests of the files. Stop early if the files have no common position.
        """
        covered = {id(database): newest_commit(database) for database in (self._main, self._records)}
        zones = count_rows(self._main, Dbi.DOMAINS)
        entries = max(1, count_rows(self._records, Dbi.RECORDS) + 3 * zones)
        if not self._adopt():
            return
        yield
        yield from self._of_records.walk(entries)
        for part in (self._of_list.walk(entries), self._of_list.names(), self._of_attached.walk()):
            if not (yield from part):
                return
        self._state.name_diverged()
        if not self._state.diverged:
            yield from self._sums()
        for database in (self._main, self._records):
            if foreign_commit(database):
                with database.writing() as txn:
                    note_commit(txn, database, checked=covered[id(database)])
        self._state.share, self.is_done = 1.0, True

    def zones(self, zone_ids: Iterable[int]) -> Steps:
        """Check only these zones: their records, and their entries in the list of zones.

        The entries are skipped if the two files have no common position.
        """
        for zone_id in zone_ids:
            with self._records.env.begin() as txn:
                yield from self._of_records.zone(txn, zone_id)
            with self._state.at_rest() as pair:
                if pair is not None:
                    self._of_list.zone(*pair, zone_id)
                    self._of_attached.zone(pair[0], zone_id)
            yield
        self._state.name_diverged()
        self.is_done = True

    def _adopt(self) -> bool:
        """Add zone digests to an older release's file. Return False while the files have no common position."""
        with self._records.env.begin() as txn:
            if is_complete(txn, self._records):
                return True
        with self._state.lock, self._state.at_rest() as pair:
            if pair is None:
                return False
            with pair[0].cursor(db=self._main.tables[Dbi.DOMAINS]) as cursor:
                ids = [self._state.row_id(key) for key in cursor.iternext(values=False)]
            zone_ids = [zone_id for zone_id in ids if zone_id not in OWN_ZONES]
            for start in range(0, len(zone_ids) + 1, ZONES_PER_COMMIT):
                with self._records.writing() as txn:
                    adopt(txn, self._records, zone_ids[start : start + ZONES_PER_COMMIT])
                    if start + ZONES_PER_COMMIT > len(zone_ids):
                        mark_complete(txn, self._records)
                    note_commit(txn, self._records)
        return True

    def _sums(self) -> Steps:
        """Set each file's digest to the sum of its rows, if all rows are ours and the sum is known."""
        main, digest, attached = self._of_list.row, self._of_list.digest, self._of_attached.digest
        if main is not None and main == self._of_attached.row and None not in (digest, attached):
            total = ((digest or 0) + (attached or 0)) % DIGEST_MODULUS
            if main.digest != total:
                self._correct(self._main, main, total)
        with self._records.env.begin() as txn, txn.cursor(db=self._records.zones) as cursor:
            row, total = self._records.row(txn), 0
            for count, value in enumerate(cursor.iternext(keys=False)):
                running = decode_running(value)
                if not running.is_known:
                    return
                total += running.total
                if not count % ROWS_PER_STEP:
                    yield
        if row is not None and is_at_rest(row) and row.digest != total % DIGEST_MODULUS:
            self._correct(self._records, row, total)

    def _correct(self, database: Database, seen: FileRow, total: int) -> None:
        """Write a file's digest, unless the file has changed since it was read."""
        with self._state.lock, database.writing() as txn:
            if database.row(txn) == seen:
                logger.warning("the digest of %s was not the sum of its rows, and is now", database.path)
                txn.put(ROW_KEY, replace(seen, digest=total % DIGEST_MODULUS).encode(), db=database.own)
                note_commit(txn, database)
