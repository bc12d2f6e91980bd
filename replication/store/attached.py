"""Read and digest metadata and DNSSEC keys, which are attached to zones by name.

PowerDNS finds metadata and keys by the index rows of a zone's name. Table `dnspanel_attached` of the main file has a
row for every name to which we attached anything:

    key     the common prefix of the name's index keys (`Schema.index_prefix`)
    value   32 bytes: the digest of the name's metadata with their index rows, then the digest of its DNSSEC keys with
            theirs; both are sums as in `operations`, computed with the fingerprints of keys

A row of this table changes in the same transaction as the rows that it covers, and the digest of the main file includes
these sums. If another program adds, alters or deletes attached rows, this table does not change. An unreadable object
is assigned to the name FF.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from replication.codec import dnssec
from replication.codec.schema import ATTACHED, Dbi, Schema
from replication.errors import BadBytes, BadName
from replication.store.file_row import Database
from replication.wire.operations import DIGEST_MODULUS, DIGEST_SIZE, digest_bytes

ATTACHED_DBI = b"dnspanel_attached"
UNREADABLE_NAME = b"\xff"

# Of a name: the digests of its metadata and of its keys.
Digests = tuple[int, int]
NOTHING: Digests = (0, 0)


class IndexRow(NamedTuple):
    """A row that maps a name to an object: its stored key and value, and the object's id."""

    key: bytes
    value: bytes
    row_id: int


def index_rows(txn: Any, main: Database, schema: Schema, index: Dbi, prefix: bytes) -> Iterator[IndexRow]:
    """Yield a name's index rows, whose keys begin with `prefix`."""
    with txn.cursor(db=main.tables[index]) as cursor:
        if not schema.has_header:
            found = cursor.set_key(prefix)
            while found:
                value = cursor.value()
                yield IndexRow(prefix, value, int.from_bytes(value, "little"))
                found = cursor.next_dup()
            return
        found = cursor.set_range(prefix)
        while found and (key := cursor.key()).startswith(prefix):
            if len(key) == len(prefix) + 4:
                yield IndexRow(key, cursor.value(), int.from_bytes(key[-4:], "big"))
            found = cursor.next()


def leads(txn: Any, main: Database, schema: Schema, index: Dbi, name: str, row_id: int) -> bool:
    """Return True if an index row maps this name to the object with this id."""
    key, body = schema.index_row(name, row_id)
    if schema.has_header:
        return txn.get(key, db=main.tables[index]) is not None
    with txn.cursor(db=main.tables[index]) as cursor:
        return bool(cursor.set_key_dup(key, body))


def attached_rows(txn: Any, main: Database, schema: Schema, name: str) -> Iterator[tuple[Dbi, bytes, bytes]]:
    """Yield the rows of a name's metadata and DNSSEC keys (table, key, body). Each object precedes its index row."""
    prefix = schema.index_prefix(name)
    for dbi in ATTACHED:
        for row in list(index_rows(txn, main, schema, Dbi(dbi + 1), prefix)):
            key = schema.row_id_key(row.row_id)
            value = txn.get(key, db=main.tables[dbi])
            if value is not None:
                yield dbi, key, schema.unwrap(value)
                yield Dbi(dbi + 1), row.key, b"" if schema.has_header else row.value


def digests_of(txn: Any, main: Database, prefix: bytes) -> Digests:
    """Return the expected digests of a name's rows. Raise BadBytes if their stored value is invalid."""
    return decode_digests(txn.get(prefix, db=main.attached))


def decode_digests(value: bytes | None) -> Digests:
    """Decode the output of `encode_digests`. Return NOTHING for None. Raise BadBytes if the value is invalid."""
    if value is None:
        return NOTHING
    if len(value) != 2 * DIGEST_SIZE:
        raise BadBytes(what="digests of what is attached to a name", reason=f"{value.hex()} are none")
    return int.from_bytes(value[:DIGEST_SIZE], "big"), int.from_bytes(value[DIGEST_SIZE:], "big")


def encode_digests(digests: Digests) -> bytes:
    """Encode digests for storage in a row."""
    return b"".join(map(digest_bytes, digests))


def put_digests(txn: Any, main: Database, prefix: bytes, digests: Digests) -> None:
    """Store the expected digests of a name's rows, or delete the row if they are NOTHING."""
    if digests == NOTHING:
        txn.delete(prefix, db=main.attached)
    else:
        txn.put(prefix, encode_digests(digests), db=main.attached)


class AttachedChanges:
    """A write transaction's changes to the digests of names in the main file."""

    def __init__(self, main: Database, schema: Schema) -> None:
        self._main, self._schema = main, schema
        self._added: dict[bytes, list[int]] = {}

    def add(self, dbi: Dbi, key: bytes, body: bytes, digest: int) -> None:
        """Record that a row with this key and body was added or deleted, by adding `digest` to the name's sum."""
        self._added.setdefault(self._prefix(dbi, key, body), [0, 0])[column_of(dbi)] += digest

    def rows(self, txn: Any) -> list[tuple[bytes, bytes | None, bytes]]:
        """Return the rows to put, or to delete (value None), based on the data that `txn` can read."""
        found: list[tuple[bytes, bytes | None, bytes]] = []
        for prefix, (metadata, keys_) in self._added.items():
            before = digests_of(txn, self._main, prefix)
            after = (before[0] + metadata) % DIGEST_MODULUS, (before[1] + keys_) % DIGEST_MODULUS
            found.append((prefix, None if after == NOTHING else encode_digests(after), b""))
        return found

    def _prefix(self, dbi: Dbi, key: bytes, body: bytes) -> bytes:
        if dbi not in ATTACHED:
            return self._schema.index_prefix_of(key) or UNREADABLE_NAME
        try:
            return self._schema.index_prefix(dnssec.zone_of(body))
        except (BadBytes, BadName):
            return UNREADABLE_NAME


def column_of(dbi: Dbi) -> int:
    """Return the index (0 or 1) of the digest that covers this table's rows."""
    return 0 if dbi in (Dbi.METADATA, Dbi.METADATA_INDEX) else 1
