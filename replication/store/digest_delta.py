"""Compute how operations will change the digests of both files, before the operations are written."""

from collections.abc import Sequence
from typing import Any

from replication.codec.schema import Dbi, File, Schema
from replication.store.file_row import Database
from replication.wire.operations import Op, OpKind, digest_bytes, row_digest, rows_digest


def digest_delta(
    ops: Sequence[Op], schema: Schema, main: Database, records: Database, *, before: tuple[bytes, bytes] | None = None
) -> tuple[bytes, bytes]:
    """Return the digests (main, records) after these operations. Two operations must not have the same key.

    `before` are the digests (main, records) after pending writes. If given, these operations are applied to that future
    state. The pending writes must not change the rows that these operations refer to.
    """
    with main.env.begin() as main_txn, records.env.begin() as records_txn:
        # Lists by Dbi, because this runs once per row of a bulk import.
        readers = [
            _Rows(records_txn, records, schema, dbi)
            if schema.dbi(dbi).file is File.SHARD
            else _Rows(main_txn, main, schema, dbi)
            for dbi in Dbi
        ]
        totals = [0] * len(Dbi)
        cleared = [op for op in ops if op.kind is OpKind.DELETE_PREFIX]
        for op in cleared:
            totals[op.dbi] -= readers[op.dbi].sum_below(op.key)
        puts: list[list[tuple[bytes, bytes]]] = [[] for _ in Dbi]
        for op in ops:
            if op.kind is OpKind.DELETE_PREFIX:
                continue
            if not (cleared and _is_covered(op, cleared)):
                totals[op.dbi] -= readers[op.dbi].digest_of_old(op)
            if op.kind is OpKind.PUT:
                puts[op.dbi].append((op.key, op.body))
        for dbi, rows in zip(Dbi, puts, strict=True):
            totals[dbi] += rows_digest(dbi, rows)
        now = [row.digest if row else 0 for row in (main.row(main_txn), records.row(records_txn))]
    changed = totals.pop(Dbi.RECORDS)
    start = now if before is None else [int.from_bytes(digest, "big") for digest in before]
    return digest_bytes(start[0] + sum(totals)), digest_bytes(start[1] + changed)


class _Rows:
    def __init__(self, txn: Any, database: Database, schema: Schema, dbi: Dbi) -> None:
        self._txn, self._table, self._schema, self._dbi = txn, database.tables[dbi], schema, dbi
        self._has_duplicates = schema.dbi(dbi).dupsort

    def digest_of_old(self, op: Op) -> int:
        """Return the digest of the row that this operation replaces or deletes, or 0 if the row is missing."""
        if self._has_duplicates:
            with self._txn.cursor(db=self._table) as cursor:
                return row_digest(self._dbi, op.key, op.body) if cursor.set_key_dup(op.key, op.body) else 0
        value = self._txn.get(op.key, db=self._table)
        return 0 if value is None else row_digest(self._dbi, op.key, self._schema.unwrap(value))

    def sum_below(self, prefix: bytes) -> int:
        total = 0
        with self._txn.cursor(db=self._table) as cursor:
            found = cursor.set_range(prefix)
            while found and (key := cursor.key()).startswith(prefix):
                total += row_digest(self._dbi, key, self._schema.unwrap(cursor.value()))
                found = cursor.next()
        return total


def _is_covered(op: Op, cleared: list[Op]) -> bool:
    """Return True if a deletion by prefix in `cleared` covers this operation's key."""
    return any(op.dbi is prefix.dbi and op.key.startswith(prefix.key) for prefix in cleared)
