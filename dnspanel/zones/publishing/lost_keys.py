"""Recover the zones' signing state from nodes, after the database lost that part of the change log. Verbs."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.texts import gettext
from dnspanel.zones.dnssec.key_material import key_tag
from dnspanel.zones.dnssec.queries import signing_of_zones
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.log.signing_log import record_states
from dnspanel.zones.models import Rollover, ZoneKey

_ABOVE = (
    "SELECT setval(ids, greatest(%s, nextval(ids)))"
    " FROM (SELECT pg_get_serial_sequence('zones_zonekey', 'id')::regclass AS ids) AS of_keys",
    "SELECT setval('zones_signing_row_id', greatest(%s, nextval('zones_signing_row_id')))",
)


@dataclass(frozen=True, slots=True)
class LostKey:
    """A key that nodes use for signing: its row id, its properties, and its private part (encrypted, in Base64)."""

    id: int
    algorithm: int
    bits: int
    flags: int
    public: str  # hex
    private_encrypted: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LostSigning:
    """A zone's signing state on nodes, and its keys."""

    state: SigningState
    keys: tuple[LostKey, ...]

    def to_json(self) -> dict[str, Any]:
        keys = [[k.id, k.algorithm, k.bits, k.flags, k.public, k.private_encrypted] for k in self.keys]
        return {"state": self.state.to_json(), "keys": keys}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "LostSigning":
        return cls(SigningState.from_json(stored["state"]), tuple(LostKey(*each) for each in stored["keys"]))


def take_over_signings(signings: Sequence[tuple[int, str, int, LostSigning]], *, by: Author, now: datetime) -> None:
    """Replace the zones' signing states in the panel with those of the nodes, in the caller's transaction.

    Each entry of `signings` is the zone's id, its name, the number of its new revision, and the signing. A key keeps
    the row id that it has on nodes, unless another key has that id here. Keys that nodes don't have are deleted, and
    rollovers are cancelled, because the panel's record is older than the nodes' state.
    """
    if not signings:
        return
    before = signing_of_zones([zone_id for zone_id, _, _, _ in signings])
    states = []
    for zone_id, name, number, signing in signings:
        ids = {key.id: _keep(zone_id, key, by, now) for key in signing.keys}
        keys = tuple(replace(key, id=ids[key.id]) for key in signing.state.keys)
        known = before.get(zone_id)
        gone = {key.id for key in known.keys} - {key.id for key in keys} if known else set()
        ZoneKey.objects.filter(zone=zone_id, pk__in=gone, deleted_at=None).update(deleted_at=now)
        states.append((zone_id, number, known, replace(signing.state, keys=keys)))
        audit.record(action="dnssec.take_over", by=by, now=now, target=name, keys=[key.id for key in keys])
    record_states(states, now=now)
    ended = Rollover.objects.filter(zone__in=[zone_id for zone_id, _, _, _ in signings], ended_at=None)
    ended.update(
        ended_at=now,
        is_cancelled=True,
        waits_for=gettext("The panel was restored from a backup and uses the nodes’ keys."),
    )
    highest = max((key.id for _, _, _, signing in signings for key in signing.keys), default=0)
    rows = max((row for _, _, _, signing in signings for row in signing.state.row_ids.values()), default=0)
    with connection.cursor() as cursor:
        for statement, least in zip(_ABOVE, (highest, rows), strict=True):
            cursor.execute(statement, [max(least, 1)])


def _keep(zone_id: int, key: LostKey, by: Author, now: datetime) -> int:
    """Store the key. Return its row id: the id on nodes, or a new id if another key here has that id."""
    public, private = bytes.fromhex(key.public), base64.b64decode(key.private_encrypted)
    known = ZoneKey.objects.filter(pk=key.id).first()
    if known is not None and (known.zone_id, known.algorithm, bytes(known.public)) == (zone_id, key.algorithm, public):
        ZoneKey.objects.filter(pk=known.pk).update(deleted_at=None, private_encrypted=private)
        return known.pk
    row = ZoneKey(
        pk=None if known else key.id,
        zone_id=zone_id,
        algorithm=key.algorithm,
        bits=key.bits,
        flags=key.flags,
        tag=key_tag(key.flags, key.algorithm, public),
        public=public,
        private_encrypted=private,
        created_at=now,
    )
    row.save(force_insert=True)
    return row.pk
