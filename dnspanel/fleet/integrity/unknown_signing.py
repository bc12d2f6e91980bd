"""Recover from nodes the signing of zones whose keys a restored database has lost. Verbs.

Nodes store the private parts of keys next to PowerDNS and return them sealed. If the panel has also lost the sealing
key, it can't decrypt the keys. The zone's error then explains this, and the panel's own data is kept.
"""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.publish.keys.sealing_keys import all_sealing_keys
from dnspanel.texts import gettext
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.signing_state import (
    NSEC3NARROW,
    NSEC3PARAM,
    PRESIGNED,
    PUBLISH_CDNSKEY,
    PUBLISH_CDS,
    UNSIGNED,
    KeyState,
    SigningState,
    read_nsec3param,
)
from dnspanel.zones.errors import BadKey
from dnspanel.zones.publishing.lost_keys import LostKey, LostSigning
from replication.codec.dnssec import decode_key, decode_metadata
from replication.codec.schema import Dbi
from replication.codec.sealed import open_content
from replication.errors import BadBytes

Objects = Iterable[tuple[int, int, bytes]]  # table, row id, body


def unknown_signing(zone_name: str, zone_id: int | None, objects: Objects, schema: int) -> LostSigning | None:
    """Return the zone's signing on the node, or None if the panel signs the zone in the same way.

    `zone_id` is the zone's id in the panel, or None. Raise BadBytes if the panel can't continue this signing, and
    UnknownSealingKey if it can't decrypt the node's keys.
    """
    found = read_signing(zone_name, objects, schema)
    known = queries.signing_of_zones([zone_id]).get(zone_id, UNSIGNED) if zone_id else UNSIGNED
    return None if _without_rows(found.state) == _without_rows(known) else found


def read_signing(zone_name: str, objects: Objects, schema: int) -> LostSigning:
    """Decode a zone's signing on a node. Raise BadBytes for damaged data, or UnknownSealingKey for unreadable keys."""
    secrets = {key.id: key.secret for key in all_sealing_keys()}
    metadata: dict[str, str] = {}
    rows: dict[str, int] = {}
    states: list[KeyState] = []
    keys: list[LostKey] = []
    for table, row_id, body in objects:
        if table == Dbi.METADATA:
            value = decode_metadata(body, schema)
            metadata[value.kind], rows[value.kind] = value.value, row_id
        elif table == Dbi.KEYDATA:
            key = decode_key(body, schema)
            try:
                pair = key_material.read(open_content(key.content, secrets.get, zone=zone_name, row_id=row_id))
            except BadKey as exc:
                raise BadBytes(
                    what=gettext("key {row_id} for {zone_name}").format(row_id=row_id, zone_name=zone_name),
                    reason=str(exc),
                ) from exc
            states.append(KeyState(row_id, pair.algorithm, key.flags, key.active, key.published))
            private = base64.b64encode(encrypt_secret(pair.private_text.encode())).decode("ascii")
            keys.append(LostKey(row_id, pair.algorithm, pair.bits, key.flags, pair.public.hex(), private))
    state = _state(zone_name, metadata, rows, sorted(states, key=lambda each: each.id))
    return LostSigning(state, tuple(sorted(keys, key=lambda each: each.id)))


def _state(
    zone_name: str, metadata: Mapping[str, str], rows: Mapping[str, int], keys: Iterable[KeyState]
) -> SigningState:
    nsec3 = None
    if NSEC3PARAM in metadata:
        try:
            nsec3 = read_nsec3param(metadata[NSEC3PARAM], narrow=metadata.get(NSEC3NARROW) == "1")
        except ValueError as exc:
            raise BadBytes(
                what=gettext("{nsec3param} for {zone_name}").format(nsec3param=NSEC3PARAM, zone_name=zone_name),
                reason=gettext("unsupported hash algorithm"),
            ) from exc
    cds, cdnskey = metadata.get(PUBLISH_CDS, ""), PUBLISH_CDNSKEY in metadata
    return SigningState(tuple(keys), nsec3, cds, cdnskey, rows, metadata.get(PRESIGNED) == "1")


def _without_rows(state: SigningState) -> SigningState:
    """Return the state without its row ids, or UNSIGNED for a zone without an NSEC or NSEC3 chain."""
    return replace(state, row_ids={}) if state.has_chain else UNSIGNED
