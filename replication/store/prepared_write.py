"""Plan the next write transaction on a file before the transaction begins.

All other writers of the file wait while a write transaction is open, so only LMDB's own work is done inside it. The
existing rows, their digests, decrypted DNSSEC keys and the bytes to write are determined before, in a read transaction
(`Waiting.plan`). LMDB numbers its commits one by one, so the numbers of the two transactions show whether another
process has committed between them. In that case the plan is made again, inside the write transaction.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from operator import itemgetter
from typing import Any, NamedTuple

from replication.codec.schema import ATTACHED_TABLES, Dbi, Schema
from replication.errors import BadSegment
from replication.store.attached import AttachedChanges
from replication.store.file_row import Database
from replication.store.key_opener import KeyOpener
from replication.store.writing import Row, put_before, rows_behind
from replication.store.zone_digests import Changes, digests_by_zone
from replication.wire.operations import Op, OpKind, Puts, ascend, row_digest, rows_digest

# Each row can change another page, and the kernel also maps its neighbors: up to 64 KiB.
ROWS_PER_RELEASE = 128


class Placed(Enum):
    """The position of a run's rows relative to the existing rows."""

    TOGETHER = 1
    AMONG_OTHERS = 2


class _Run(NamedTuple):
    """Rows to put with one call. `may_append` is True if they ascend, and no other row is between or waits after."""

    puts: Puts
    may_append: bool


class _Removed(NamedTuple):
    """A marker for the removal of a zone: all its rows have been deleted, or their deletions precede the marker."""

    zone: bytes


class NotAlone(Exception):
    """The key of a new row already exists. The transaction must not be committed."""


@dataclass(slots=True)
class Plan:
    """A transaction's writes, and their effect on the digest. Tables are LMDB handles."""

    digest: int = 0  # the value to add to the file's digest
    rows: int = 0  # the number of rows to put or delete
    appended: list[tuple[Any, Sequence[Row], Sequence[Row]]] = field(default_factory=list)  # rows, those after them
    added: list[tuple[Any, Sequence[Row], bool]] = field(default_factory=list)  # rows, True with duplicates
    deleted: list[tuple[Any, Sequence[Row]]] = field(default_factory=list)
    put: list[tuple[Any, Sequence[Row]]] = field(default_factory=list)
    missing: list[tuple[Any, Sequence[Row]]] = field(default_factory=list)  # put only if the key is missing

    def write(self, txn: Any, release_pages: Callable[[], None]) -> None:
        """Write the plan. `txn` must read the state used for planning. Raise NotAlone if a new row's key exists."""
        for table, rows, behind in self.appended:
            with txn.cursor(db=table) as cursor:
                put_before(cursor, rows, behind)
        for table, rows, has_duplicates in self.added:
            with txn.cursor(db=table) as cursor:
                _, added = cursor.putmulti(rows, dupdata=not has_duplicates, overwrite=has_duplicates)
            if added != len(rows):
                raise NotAlone
        for table, rows in self.deleted:
            _delete(txn, table, rows, release_pages)
        for table, rows in self.put:
            with txn.cursor(db=table) as cursor:
                _put_rows(cursor, rows, release_pages)
        for table, rows in self.missing:
            with txn.cursor(db=table) as cursor:
                cursor.putmulti(rows, overwrite=False)


def _delete(txn: Any, table: Any, rows: Sequence[Row], release_pages: Callable[[], None]) -> None:
    for number, (key, value) in enumerate(rows, 1):
        txn.delete(key, value, db=table)
        if not number % ROWS_PER_RELEASE:
            release_pages()


def _put_rows(cursor: Any, rows: Sequence[Row], release_pages: Callable[[], None]) -> None:
    for start in range(0, len(rows), ROWS_PER_RELEASE):
        cursor.putmulti(rows[start : start + ROWS_PER_RELEASE])
        if start:
            release_pages()


class Waiting:
    """A segment's operations on one file that wait for the next write transaction."""

    def __init__(  # noqa: PLR0913  # a file, and what a segment says of its rows
        self,
        database: Database,
        schema: Schema,
        opener: KeyOpener,
        *,
        time_ns: int,
        last: int,
        only_new_rows: bool,
        is_first_time: bool,
    ) -> None:
        self._database, self._schema, self._opener = database, schema, opener
        self._header = schema.wrap(b"", time_ns, last)
        # The digest of new zones' rows is added once, when the file is complete. So the rows needn't be hashed singly.
        self._only_new_rows = only_new_rows
        # The file contains nothing of this segment yet, so this isn't a replay.
        self._is_first_time = is_first_time
        self._has_duplicates = [schema.dbi(dbi).dupsort for dbi in schema.all_dbis]
        self._steps = [-1 if schema.dbi(dbi).integerkey else 1 for dbi in schema.all_dbis]
        self._actions: list[Op | _Run | _Removed] = []
        self._singles: dict[Dbi, bytes] = {}  # the highest key of single rows of each table, in LMDB's order
        self._runs: dict[Dbi, bytes] = {}  # the highest key of rows in runs
        self.bytes = 0
        self.release_pages: Callable[[], None] = lambda: None

    def __bool__(self) -> bool:
        return bool(self._actions)

    def clear(self) -> None:
        """Drop all waiting operations, because they have been written or will never be written."""
        self._actions.clear()
        self._singles.clear()
        self._runs.clear()
        self.bytes = 0

    def add(self, op: Op) -> None:
        """Queue an operation that puts or deletes one row."""
        compared = self._compared_key(op.dbi, op.key)
        if op.dbi in self._runs and (op.dbi is not Dbi.RECORDS or compared <= self._runs[op.dbi]):
            self._take_apart(op.dbi)
        self._singles[op.dbi] = max(compared, self._singles.get(op.dbi, b""))
        self._actions.append(op)
        self.bytes += len(op.key) + len(op.body)

    def add_run(self, puts: Puts) -> Placed | None:
        """Queue rows to put with one LMDB call, and return their position, or None if the result could be wrong.

        The result is right if the keys ascend, and no row exists or waits from the first to the last key. In tables
        other than those of records, metadata and keys, other rows can be in between if no part of the segment was
        written before.
        """
        dbi, rows = puts
        if dbi in self._singles and (
            dbi is not Dbi.RECORDS or self._singles[dbi] >= self._compared_key(dbi, rows[0][0])
        ):
            return None
        last = self._compared_key(dbi, rows[-1][0])
        if self._is_in_order(puts) and self._runs.get(dbi, b"") < self._compared_key(dbi, rows[0][0]):
            with self._database.env.begin() as txn:
                is_free = self._rows_behind(txn, puts) is not None
        else:
            is_free = False
        if not (is_free or self._may_lie_between(dbi)):
            return None
        self._runs[dbi] = max(last, self._runs.get(dbi, b""))
        self._actions.append(_Run(puts, is_free))
        self.bytes += sum(map(len, map(itemgetter(1), rows))) + len(rows) * len(rows[0][0])
        return Placed.TOGETHER if is_free else Placed.AMONG_OTHERS

    def keys_below(self, dbi: Dbi, prefix: bytes) -> list[bytes]:
        """Return the keys of rows waiting to be put that begin with `prefix`."""
        if dbi in self._runs and (dbi is not Dbi.RECORDS or prefix <= self._runs[dbi]):
            self._take_apart(dbi)
        waiting = [action for action in self._actions if isinstance(action, Op) and action.dbi is dbi]
        return [op.key for op in waiting if op.kind is OpKind.PUT and op.key.startswith(prefix)]

    def remove_zone(self, zone: bytes) -> None:
        """Record that this zone's rows have all been deleted, or wait to be deleted."""
        self._actions.append(_Removed(zone))

    def put_one_by_one(self) -> bool:
        """Split all runs into single rows, after `Plan.write` raised NotAlone. Return False if no runs are waiting."""
        runs = list(self._runs)
        for dbi in runs:
            self._take_apart(dbi)
        return bool(runs)

    def plan(self, txn: Any) -> Plan:
        """Plan the writes, based on the data that this transaction reads.

        Raise BadSegment if a new zone's row exists with another value, or UnknownSealingKey or BadBytes if a DNSSEC key
        can't be decrypted.
        """
        planner = _Planner(txn, self._database, self._schema, self._opener, self._header)
        for number, action in enumerate(self._actions, 1):
            if isinstance(action, _Run):
                self._plan_run(planner, action.puts, may_append=action.may_append)
            elif isinstance(action, _Removed):
                planner.zones.remove(action.zone)
            elif self._has_duplicates[action.dbi]:
                planner.change_duplicate(action)
            else:
                planner.change(action, only_new=self._only_new_rows)
            if not number % ROWS_PER_RELEASE:
                self.release_pages()
        return planner.finish()

    def _plan_run(self, planner: "_Planner", puts: Puts, *, may_append: bool) -> None:
        dbi, rows = puts
        behind = self._rows_behind(planner.txn, puts) if may_append else None
        if behind is None and not self._may_lie_between(dbi):  # another process has just put one of them
            for key, body in rows:
                planner.change(Op(OpKind.PUT, dbi, key, body), only_new=self._only_new_rows)
            return
        table, plan = self._database.tables[dbi], planner.plan
        with_header = self._header and not self._has_duplicates[dbi]
        values = [(key, self._header + body) for key, body in rows] if with_header else rows
        if behind is not None:
            plan.appended.append((table, values, behind))
        else:
            plan.added.append((table, values, self._has_duplicates[dbi]))
        plan.rows += len(rows)
        if dbi is not Dbi.RECORDS:
            plan.digest += rows_digest(dbi, rows)
        elif self._only_new_rows:
            planner.zones.add_unhashed({key[:4] for key, _ in rows})
        else:
            for key, digest in digests_by_zone(dbi, rows).items():
                planner.add(dbi, key, digest)

    def _rows_behind(self, txn: Any, puts: Puts) -> list[Row] | None:
        """Return some stored rows after the rows of `puts`, or None if a stored row is between those rows."""
        dbi, rows = puts
        with txn.cursor(db=self._database.tables[dbi]) as cursor:
            behind = rows_behind(cursor, rows[0][0])
        is_between = behind and self._compared_key(dbi, behind[0][0]) <= self._compared_key(dbi, rows[-1][0])
        return None if is_between else behind

    def _is_in_order(self, puts: Puts) -> bool:
        dbi, rows = puts
        if self._has_duplicates[dbi]:
            return False
        found = list(map(itemgetter(0), rows))
        return ascend(found if self._steps[dbi] == 1 else [self._compared_key(dbi, key) for key in found])

    def _may_lie_between(self, dbi: Dbi) -> bool:
        return dbi is not Dbi.RECORDS and self._is_first_time and dbi not in ATTACHED_TABLES

    def _take_apart(self, dbi: Dbi) -> None:
        self._actions = [row for action in self._actions for row in _taken_apart(action, dbi)]
        highest = self._runs.pop(dbi)
        self._singles[dbi] = max(highest, self._singles.get(dbi, b""))

    def _compared_key(self, dbi: Dbi, key: bytes) -> bytes:
        """Return a key in the byte order in which LMDB compares it: little-endian integers are reversed."""
        return key[:: self._steps[dbi]]


class _Planner:
    """A plan under construction, based on the data that one transaction reads."""

    def __init__(self, txn: Any, database: Database, schema: Schema, opener: KeyOpener, header: bytes) -> None:
        self.txn, self.plan = txn, Plan()
        self.zones, self.attached = Changes(database), AttachedChanges(database, schema)
        self._database, self._schema, self._opener, self._header = database, schema, opener, header
        # By table and key: the existing row and the required row, None if absent. In tables with duplicates, a row is
        # identified by key and value.
        self._changed: dict[Dbi, dict[Any, tuple[bytes | None, bytes | None]]] = {}

    def add(self, dbi: Dbi, key: bytes, digest: int, body: bytes = b"") -> None:
        """Add `digest` to the file's digest, and to that of the row's zone (records) or name (metadata and keys)."""
        self.plan.digest += digest
        if dbi is Dbi.RECORDS:
            self.zones.add(key, digest)
        elif dbi in ATTACHED_TABLES:
            self.attached.add(dbi, key, body, digest)

    def change(self, op: Op, *, only_new: bool) -> None:
        """Plan to put or delete a row with a unique key. With `only_new`, raise BadSegment if another value exists."""
        dbi, key = op.dbi, op.key
        changed = self._changed.setdefault(dbi, {})
        if key in changed:
            before, old = changed[key]
        else:
            before = old = self.txn.get(key, db=self._database.tables[dbi])
        body, value = b"", None
        if op.kind is OpKind.PUT:
            body = self._opener.open_body(dbi, key, op.body)
            value = self._header + body
        if old == value:
            return
        if old is not None:
            if only_new:
                raise BadSegment(reason=f"the row {key.hex()} of a new zone is there with another value")
            old_body = self._schema.unwrap(old)
            self.add(dbi, key, -row_digest(dbi, key, old_body), old_body)
        if value is not None:
            if only_new:
                self.zones.add_unhashed({key[:4]})
            else:
                self.add(dbi, key, row_digest(dbi, key, body), body)
        changed[key] = before, value
        self.plan.rows += 1

    def change_duplicate(self, op: Op) -> None:
        """Plan to put or delete a row in a table whose keys can have several values."""
        dbi, row = op.dbi, (op.key, op.body)
        changed = self._changed.setdefault(dbi, {})
        if row in changed:
            before, old = changed[row]
        else:
            with self.txn.cursor(db=self._database.tables[dbi]) as cursor:
                before = old = op.key if cursor.set_key_dup(op.key, op.body) else None
        value = op.key if op.kind is OpKind.PUT else None
        if old == value:
            return
        digest = row_digest(dbi, op.key, op.body)
        self.add(dbi, op.key, digest if value is not None else -digest)
        changed[row] = before, value
        self.plan.rows += 1

    def finish(self) -> Plan:
        """Return the plan, including the digests of zones, metadata and keys."""
        for dbi, changed in self._changed.items():
            self._write(self._database.tables[dbi], list(_rows_changed(changed)))
        if self._database.zones is not None:
            changes, unhashed = self.zones.rows(self.txn)
            self._write(self._database.zones, changes)
            if unhashed:
                self.plan.missing.append((self._database.zones, unhashed))
        if self._database.attached is not None:
            self._write(self._database.attached, self.attached.rows(self.txn))
        return self.plan

    def _write(self, table: Any, changes: Iterable[tuple[bytes, bytes | None, bytes]]) -> None:
        """Plan to put rows (key, value), or to delete them (key, None, the value of a duplicate)."""
        deleted = [(key, old) for key, value, old in changes if value is None]
        put = [(key, value) for key, value, _ in changes if value is not None]
        if deleted:
            self.plan.deleted.append((table, deleted))
        if put:
            self.plan.put.append((table, put))


def _rows_changed(changed: dict[Any, tuple[bytes | None, bytes | None]]) -> Iterator[tuple[bytes, bytes | None, bytes]]:
    for key, (before, value) in changed.items():
        if before == value:
            continue
        if isinstance(key, tuple):
            yield (key[0], None, key[1]) if value is None else (*key, b"")
        else:
            yield key, value, b""


def _taken_apart(action: Op | _Run | _Removed, dbi: Dbi) -> Iterable[Op | _Run | _Removed]:
    if isinstance(action, _Run) and action.puts.dbi is dbi:
        return [Op(OpKind.PUT, dbi, key, body) for key, body in action.puts.rows]
    return (action,)
