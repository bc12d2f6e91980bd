"""Find the zones in the main file that have DNSSEC keys, and the zones that PowerDNS has to sign."""

import contextlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from replication.codec.dnssec import decode_key, zone_of
from replication.codec.schema import Dbi, Schema
from replication.errors import BadBytes, BadName
from replication.store.attached import IndexRow, index_rows
from replication.store.file_row import Database

# Enough for the KSK and ZSK of several zones.
_KEYS_IN_A_ROW = 4


def has_keys(main: Database, schema: Schema, zone: str) -> bool:
    """Return True if this zone has DNSSEC keys, active or not."""
    with main.env.begin() as txn:
        return any(_key_rows(txn, main, schema, zone))


def signed_zones(main: Database, schema: Schema, zones: Iterable[str]) -> set[str]:
    """Return the given zones that have an active key or an unreadable key."""
    found = set()
    with main.env.begin() as txn:
        for zone in zones:
            for row in _key_rows(txn, main, schema, zone):
                value = txn.get(schema.row_id_key(row.row_id), db=main.tables[Dbi.KEYDATA])
                if value is not None and _is_active(value, schema):
                    found.add(zone)
                    break
    return found


def zones_with_keys(main: Database, schema: Schema) -> list[str]:
    """Return some zones with keys, from the whole range of the key table. If only a few exist, return all."""
    found: dict[str, None] = {}
    with main.env.begin() as txn, txn.cursor(db=main.tables[Dbi.KEYDATA]) as cursor:
        for first in (1 << power for power in range(31)):
            if not cursor.set_range(schema.row_id_key(first)):
                break
            for value in islice(cursor.iternext(keys=False), _KEYS_IN_A_ROW):
                with contextlib.suppress(BadBytes, BadName):
                    found[zone_of(schema.unwrap(value))] = None
    return list(found)


def _is_active(value: bytes, schema: Schema) -> bool:
    try:
        return decode_key(schema.unwrap(value), schema.number).active
    except (BadBytes, BadName):
        return True


def _key_rows(txn: Any, main: Database, schema: Schema, zone: str) -> Iterator[IndexRow]:
    return index_rows(txn, main, schema, Dbi.KEYDATA_INDEX, schema.index_prefix(zone))
