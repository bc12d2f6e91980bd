"""Read the DNSSEC state of exported zones, with one query for any number of zones.

Zones and signings are both ordered by name, so only the signing of the current zone is in memory.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import psycopg
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.transfer.exports.exported_rows import fetch_rows
from dnspanel.transfer.sealed_keys import Sealer
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState, nsec3param_text
from dnspanel.zones.models import Zone


class _Key(NamedTuple):
    """A stored key. `private_encrypted` is None if the private key was deleted or must not be exported."""

    public: bytes
    private_encrypted: bytes | None


class _Signing(NamedTuple):
    """The signing state of a zone. `keys` maps ids to keys."""

    zone_id: int
    zone: str
    state: SigningState
    keys: dict[int, _Key]


class Signings:
    """The `dnssec` members of exported zones, as of a single moment. The connection must be in a transaction.

    Private keys are included only if a sealer seals them. `keys` counts the private keys so far, and `keyed` contains
    the ids of their zones.
    """

    def __init__(self, conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]", sealer: Sealer | None = None) -> None:
        self.keys = 0
        self.keyed: list[int] = []
        self._sealer = sealer
        self._found = _read(conn, zones, with_private=sealer is not None)
        self._next = next(self._found, None)

    def of(self, zone: str) -> dict[str, Any] | None:
        """Return this zone's `dnssec` member, or None if it isn't signed. Call this in the order of zone names."""
        while self._next is not None and self._next.zone < zone:  # skip signings of zones without RRsets
            self._next = next(self._found, None)
        signing = self._next
        if signing is None or signing.zone != zone:
            return None
        nsec3, keys = signing.state.nsec3, self.keys
        member: dict[str, Any] = {
            "nsec3param": None if nsec3 is None else nsec3param_text(nsec3),
            "narrow": nsec3 is not None and nsec3.narrow,
            "cds": signing.state.cds,
            "cdnskey": signing.state.cdnskey,
            "keys": [self._key(zone, key, signing.keys[key.id]) for key in signing.state.keys],
        }
        if signing.state.presigned:
            member["presigned"] = True
        if nsec3 is not None and signing.state.other_nsec3:
            member["other_nsec3params"] = [nsec3param_text(each) for each in signing.state.other_nsec3]
        if self.keys > keys:
            self.keyed.append(signing.zone_id)
        return member

    def _key(self, zone: str, key: KeyState, stored: _Key) -> dict[str, Any]:
        dnskey = key_material.dnskey_text(key.flags, key.algorithm, stored.public)
        member = {
            "flags": key.flags,
            "algorithm": key.algorithm,
            "active": key.active,
            "published": key.published,
            "dnskey": dnskey,
        }
        if self._sealer is None or stored.private_encrypted is None:
            return member
        private_text = decrypt_secret(stored.private_encrypted).decode()
        self.keys += 1
        return member | {"sealed": self._sealer.seal(private_text, zone=zone, dnskey=dnskey)}


def _read(conn: "psycopg.Connection[Any]", zones: "QuerySet[Zone]", *, with_private: bool) -> Iterator[_Signing]:
    with suppress(EmptyResultSet):
        chosen, parameters = zones.order_by().values_list("id", "name").query.sql_with_params()
        private = "k.private_encrypted" if with_private else "NULL::bytea"
        sql = f"""
            SELECT z.id, z.name, s.state::text, k.id, k.public, {private}
            FROM ({chosen}) AS z (id, name) JOIN zones_signing s ON s.zone_id = z.id
                LEFT JOIN zones_zonekey k ON k.zone_id = z.id AND k.deleted_at IS NULL
            ORDER BY z.name, k.id"""
        for (zone_id, zone, state), rows in groupby(fetch_rows(conn, sql, parameters), key=itemgetter(0, 1, 2)):
            signing = SigningState.from_json(json.loads(state))
            if signing.has_chain:
                keys = {row[3]: _Key(*row[4:]) for row in rows if row[3] is not None}
                yield _Signing(zone_id, zone, signing, keys)
