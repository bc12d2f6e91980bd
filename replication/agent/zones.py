"""Return the contents of the node's files, zone by zone. The panel compares them with its own data."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from replication.codec.dnssec import decode_key, encode_key
from replication.codec.schema import ATTACHED, Dbi
from replication.codec.sealed import SealingKey, is_sealed_body, seal_key
from replication.errors import TooMuch, UnknownSealingKey
from replication.store.store import Store
from replication.wire.protocol import MAX_ROWS_AT_ONCE, ZONES_PAGE, ZONES_PATH, ServedZone

_ROWS_PATH = re.compile(re.escape(ZONES_PATH) + r"/(\d{1,10})/rows")
_ATTACHED_PATH = re.compile(re.escape(ZONES_PATH) + r"/(\d{1,10})/attached")


def zones_answer(
    store: Store, path: str, query: Mapping[str, Sequence[str]], sealing_key: SealingKey | None
) -> Any | None:
    """Return the answer to a GET request for zones or their contents, or None for any other path.

    Private keys are sealed with `sealing_key`. Raise UnknownSealingKey if `sealing_key` is None and a key isn't sealed
    yet, TooMuch if the zone is large and the query has no `after`, or ValueError if a number is invalid.
    """
    if path == ZONES_PATH:
        return zones_after(store, int(query.get("after", ["0"])[0]))
    if found := _ROWS_PATH.fullmatch(path):
        if "after" in query:
            return zone_rows_page(store, int(found[1]), bytes.fromhex(query["after"][0]))
        return zone_rows(store, int(found[1]))
    if found := _ATTACHED_PATH.fullmatch(path):
        return attached_objects(store, int(found[1]), sealing_key)
    return None


def zones_after(store: Store, after: int) -> list[ServedZone]:
    """Return at most ZONES_PAGE zones with ids above `after`, in the order of their ids."""
    return [
        ServedZone(zone.zone_id, zone.name, zone.serial, zone.digest.hex())
        for zone in store.zones_from(after + 1, limit=ZONES_PAGE)
    ]


def zone_rows(store: Store, zone_id: int) -> list[tuple[str, str]]:
    """Return the keys and bodies of a zone's records, in hex. Raise TooMuch if more than MAX_ROWS_AT_ONCE exist."""
    rows: list[tuple[str, str]] = []
    for key, body in store.rows(zone_id).raw():
        if len(rows) == MAX_ROWS_AT_ONCE:
            raise TooMuch(what=f"zone {zone_id}", limit=MAX_ROWS_AT_ONCE)
        rows.append((key.hex(), body.hex()))
    return rows


def attached_objects(store: Store, zone_id: int, sealing_key: SealingKey | None) -> list[tuple[int, int, str]]:
    """Return table, row id and body (hex) of a zone's metadata and DNSSEC keys, with private parts sealed.

    Return an empty list if the zone is missing. Raise UnknownSealingKey if a key isn't sealed and no sealing key is
    given.
    """
    zone = next((zone for zone in store.zones_from(zone_id, limit=1) if zone.zone_id == zone_id), None)
    found = []
    for dbi, key, body in store.attached_rows(zone.name) if zone else ():
        if dbi not in ATTACHED:  # the index row of the previous row
            continue
        row_id = store.schema.row_id(key)
        if dbi is Dbi.KEYDATA and not is_sealed_body(body):
            if sealing_key is None:
                raise UnknownSealingKey(sealing_key=0)
            sealed = seal_key(decode_key(body, store.schema.number), sealing_key, row_id=row_id)
            body = encode_key(sealed, store.schema.number)
        found.append((int(dbi), row_id, body.hex()))
    return found


def zone_rows_page(store: Store, zone_id: int, after: bytes) -> list[tuple[str, str]]:
    """Return the keys and bodies (hex) of a zone's records after this key, at most MAX_ROWS_AT_ONCE records."""
    return [(key.hex(), body.hex()) for key, body in islice(store.rows(zone_id).raw(after=after), MAX_ROWS_AT_ONCE)]
