"""Read one zone's record rows from the records file."""

from collections.abc import Iterator

from replication.codec import keys
from replication.codec.schema import Dbi, Schema
from replication.store.file_row import Database


class ZoneRows:
    """The record rows of one zone. Each call reads the state of the last commit."""

    def __init__(self, records: Database, schema: Schema, zone_id: int) -> None:
        self._env, self._table = records.env, records.tables[Dbi.RECORDS]
        self._schema, self._zone_id = schema, zone_id
        self._prefix = keys.zone_prefix(zone_id)

    def get(self, rel: bytes, type: int) -> bytes | None:
        with self._env.begin() as txn:
            value = txn.get(keys.record_key(self._zone_id, rel, type), db=self._table)
        return None if value is None else self._schema.unwrap(value)

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        """Return the types and bodies of a name's rows, ordered by type."""
        start = self._prefix + rel + b"\0"
        return [(int.from_bytes(key[-2:], "big"), body) for key, body in self._scan(start, start)]

    def below(self, rel: bytes) -> Iterator[tuple[bytes, int, bytes]]:
        """Yield relative key, type and body of every row strictly below a name, in key order."""
        prefix = self._prefix if rel == keys.APEX else self._prefix + rel
        for key, body in self._scan(prefix + b"\x01", prefix):
            yield key[4:-3], int.from_bytes(key[-2:], "big"), body

    def raw(self, *, after: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Return an iterator over the zone's record keys and bodies in key order, or over those after `after`."""
        return self._scan(after + b"\0" if after else self._prefix, self._prefix)

    def _scan(self, start: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._env.begin() as txn, txn.cursor(db=self._table) as cursor:
            found = cursor.set_range(start)
            while found and (key := cursor.key()).startswith(prefix):
                yield key, self._schema.unwrap(cursor.value())
                found = cursor.next()
