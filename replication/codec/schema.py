"""Define the tables of each PowerDNS schema, with their flags and row formats. Pure.

    schema  PowerDNS   names       integers    value            index
    4       4.7        domains …   u32 LE      body             name key → id, several ids per name
    5       4.8, 4.9   domains_v5  u32 BE      header, body     length, name key, id → header
    6       5.0, 5.1   domains_v5  u32 BE      header, body     as 5; objects in newer class versions

The files have one shard (`lmdb-shards=1`): a main file, and next to it a shard file with the records.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from uuid import UUID

from replication.codec import dnssec, domains, header, keys
from replication.errors import UnknownSchema


class Dbi(IntEnum):
    """The tables, named after their contents. The numbers never change, because segments contain them."""

    RECORDS = 0
    DOMAINS = 1
    DOMAINS_INDEX = 2
    METADATA = 3
    METADATA_INDEX = 4
    KEYDATA = 5
    KEYDATA_INDEX = 6
    TSIG = 7
    TSIG_INDEX = 8


# The tables of objects that belong to a zone by its name. The index of each has the next number.
ATTACHED = (Dbi.METADATA, Dbi.KEYDATA)
ATTACHED_TABLES = frozenset((Dbi.METADATA, Dbi.METADATA_INDEX, Dbi.KEYDATA, Dbi.KEYDATA_INDEX))


class File(Enum):
    """The LMDB file that contains a table."""

    MAIN = "main"
    SHARD = "shard"


@dataclass(frozen=True, slots=True)
class DbiSpec:
    """The name and flags for creating a table. With wrong flags, PowerDNS sorts the table wrongly without an error."""

    name: bytes
    file: File
    integerkey: bool = False
    dupsort: bool = False
    dupfixed: bool = False


# The table of PowerDNS's settings; our rows must be committed before the shard file is created.
SETTINGS_DBI = b"pdns"

_TABLES = {
    Dbi.DOMAINS: b"domains",
    Dbi.METADATA: b"metadata",
    Dbi.KEYDATA: b"keydata",
    Dbi.TSIG: b"tsig",
}


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one PowerDNS schema, and their row formats."""

    number: int
    specs: Mapping[Dbi, DbiSpec] = field(repr=False, compare=False)

    @property
    def has_header(self) -> bool:
        """True if values start with the Lightning Stream header."""
        return self.number >= 5

    @property
    def all_dbis(self) -> tuple[Dbi, ...]:
        """Every table that PowerDNS expects, ordered by number."""
        return tuple(self.specs)

    def dbi(self, dbi: Dbi) -> DbiSpec:
        """Return the name and flags of a table."""
        return self.specs[dbi]

    def wrap(self, body: bytes, time_ns: int, txn_id: int) -> bytes:
        """Return the value to store for a body, with a header if the schema has one."""
        return header.encode_header(time_ns, txn_id) + body if self.has_header else body

    def unwrap(self, value: bytes) -> bytes:
        """Return a stored value's body. Raise BadBytes if its header is bad. Callers must skip `is_deleted` rows."""
        return header.decode_header(value)[1] if self.has_header else value

    def is_deleted(self, value: bytes) -> bool:
        """Return True if the row only marks a deletion (Lightning Stream). PowerDNS ignores such a row."""
        return self.has_header and header.decode_header(value)[0].deleted

    def pdns_rows(self, uuid: UUID, shards: int = 1) -> list[tuple[bytes, bytes]]:
        """Return keys and bodies of the settings table. Commit them before creating the shard file.

        Without these rows, PowerDNS assumes that the file is an older one and rebuilds it.
        """
        number = struct.Struct(">I" if self.has_header else "<I")
        return [(b"schemaversion", number.pack(self.number)), (b"shards", number.pack(shards)), (b"uuid", uuid.bytes)]

    def row_id_key(self, row_id: int) -> bytes:
        """Encode the key of an object row."""
        return keys.encode_row_id(row_id, big_endian=self.has_header)

    def row_id(self, key: bytes) -> int:
        """Decode a row id, the inverse of `row_id_key`. Raise BadBytes if the key is invalid."""
        return keys.decode_row_id(key, big_endian=self.has_header)

    def index_row(self, name: str, row_id: int) -> tuple[bytes, bytes]:
        """Return key and body of the index row that maps a name to an object row."""
        if self.has_header:
            return keys.encode_index_key(name, row_id), b""
        return keys.name_key(name), keys.encode_row_id(row_id, big_endian=False)

    def index_prefix(self, name: str) -> bytes:
        """Return the prefix of all index keys of exactly this name. In schema 4 this is the whole key."""
        return self.index_prefix_of(self.index_row(name, 0)[0])

    def index_prefix_of(self, key: bytes) -> bytes:
        """Return the part of an index key that is the same for all index rows of its name."""
        return key[:-4] if self.has_header else key

    def key_rows(self, row_id: int, obj: dnssec.KeyObject) -> list[tuple[Dbi, bytes, bytes]]:
        """Return a DNSSEC key's rows: its object, and the index row that maps the zone's name to it."""
        key, value = self.index_row(obj.zone, row_id)
        return [
            (Dbi.KEYDATA, self.row_id_key(row_id), dnssec.encode_key(obj, self.number)),
            (Dbi.KEYDATA_INDEX, key, value),
        ]

    def metadata_rows(self, row_id: int, obj: dnssec.MetadataObject) -> list[tuple[Dbi, bytes, bytes]]:
        """Return a metadata value's rows: its object, and the index row that maps the zone's name to it."""
        key, value = self.index_row(obj.zone, row_id)
        return [
            (Dbi.METADATA, self.row_id_key(row_id), dnssec.encode_metadata(obj, self.number)),
            (Dbi.METADATA_INDEX, key, value),
        ]

    def zone_rows(self, zone_id: int, name: str) -> list[tuple[Dbi, bytes, bytes]]:
        """Return the rows that create a zone: its object with kind native, and its index row."""
        key, value = self.index_row(name, zone_id)
        return [
            (Dbi.DOMAINS, self.row_id_key(zone_id), domains.encode_native(name, zone_id, self.number)),
            (Dbi.DOMAINS_INDEX, key, value),
        ]


def _specs(number: int) -> dict[Dbi, DbiSpec]:
    plain = number >= 5
    suffix = b"_v5" if plain else b""
    specs = {Dbi.RECORDS: DbiSpec(b"records" + suffix, File.SHARD)}
    for table, name in _TABLES.items():
        specs[table] = DbiSpec(name + suffix, File.MAIN, integerkey=not plain)
        index = Dbi(table + 1)
        specs[index] = DbiSpec(name + suffix + b"_0", File.MAIN, dupsort=not plain, dupfixed=not plain)
    return specs


_SCHEMAS = {number: Schema(number, _specs(number)) for number in (4, 5, 6)}


def schema_for(number: int) -> Schema:
    """Return the schema with this number. Raise UnknownSchema if the number is unknown."""
    try:
        return _SCHEMAS[number]
    except KeyError as exc:
        raise UnknownSchema(schema=number) from exc
