"""What the files hold, zone by zone, for a panel that wants to compare."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from replication.errors import TooMuch
from replication.store.store import Store
from replication.wire.protocol import MAX_ROWS_AT_ONCE, ZONES_PAGE, ZONES_PATH, ServedZone

_ROWS_PATH = re.compile(re.escape(ZONES_PATH) + r"/(\d{1,10})/rows")


def zones_answer(store: Store, path: str, query: Mapping[str, Sequence[str]]) -> Any | None:
    """The answer to a GET of this path, None if it is not one of ours. Raises TooMuch or ValueError."""
    if path == ZONES_PATH:
        return zones_after(store, int(query.get("after", ["0"])[0]))
    if found := _ROWS_PATH.fullmatch(path):
        if "after" in query:
            return zone_rows_page(store, int(found[1]), bytes.fromhex(query["after"][0]))
        return zone_rows(store, int(found[1]))
    return None


def zones_after(store: Store, after: int) -> list[ServedZone]:
    """The next zones by id, at most ZONES_PAGE."""
    return [
        ServedZone(zone.zone_id, zone.name, zone.serial, zone.digest.hex())
        for zone in store.zones_from(after + 1, limit=ZONES_PAGE)
    ]


def zone_rows(store: Store, zone_id: int) -> list[tuple[str, str]]:
    """Keys and bodies of a zone's records, hex. Raises TooMuch."""
    rows: list[tuple[str, str]] = []
    for key, body in store.rows(zone_id).raw():
        if len(rows) == MAX_ROWS_AT_ONCE:
            raise TooMuch(what=f"zone {zone_id}", limit=MAX_ROWS_AT_ONCE)
        rows.append((key.hex(), body.hex()))
    return rows


def zone_rows_page(store: Store, zone_id: int, after: bytes) -> list[tuple[str, str]]:
    """Keys and bodies of a zone's next records, hex: those beyond this key, at most MAX_ROWS_AT_ONCE."""
    return [(key.hex(), body.hex()) for key, body in islice(store.rows(zone_id).raw(after=after), MAX_ROWS_AT_ONCE)]
