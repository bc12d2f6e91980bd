"""Publish signalling names (RFC 9615): copies of CDS records below name servers' names, for DNSSEC bootstrap. Verbs.

    _dsboot.<zone>._signal.<name server>   CDS and CDNSKEY, as at the apex of the zone

The panel adds them to the zone that contains the name server's name, if this is a signed zone of the panel and a person
has enabled signalling for it. A zone is signalled while it has CDS records and its parent has no DS.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.database.sql import fetch_all
from dnspanel.fleet.models import ParentState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.other_keys import in_one_piece
from dnspanel.zones.dnssec.signing_state import DELETE, KeyRole, SigningState
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import Channel, Signing, Zone, ZoneKey
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.codec.keys import APEX
from replication.dns import names, rdtypes
from replication.dns.rrset import Key, RRset, make
from replication.errors import BadName

# The number of zones to signal within one zone. Further zones have to wait.
MOST_NAMES = 20_000
PIECE = 250  # names in one publication
TTL = 3600
_SIGNAL, _BOOT = "_signal.", "_dsboot."
_TYPES = (rdtypes.CDS, rdtypes.CDNSKEY)

logger = logging.getLogger(__name__)

# Signed zones with CDS records whose parent has no DS, and with a name server at or below this name.
_WITHOUT_DS = """
SELECT z.id, z.name, coalesce(r.folded, r.rdata) FROM fleet_parentcheck c
JOIN zones_signing s ON s.zone_id = c.zone_id AND s.is_signed
    AND coalesce(s.state ->> 'cds', '') NOT IN ('', %(delete)s)
JOIN zones_zone z ON z.id = c.zone_id AND z.deleted_at IS NULL
JOIN zones_rrset r ON r.zone_id = z.id AND r.owner_key = %(apex)s AND r.type = %(ns)s
    AND EXISTS (SELECT FROM unnest(coalesce(r.folded, r.rdata)) AS host
        WHERE host = %(top)s OR right(host, length(%(below)s)) = %(below)s)
WHERE c.state = %(no_ds)s ORDER BY z.id LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class _Signalled:
    """A zone to signal, its CDS and CDNSKEY records, and the name servers with signalling names for the zone."""

    name: str
    hosts: tuple[str, ...]
    texts: Mapping[int, tuple[str, ...]]  # by type


def reconcile(*, now: datetime) -> int:
    """Update the signalling names in every zone where signalling is or was on. Return the number of changed RRsets.

    If a zone can't be published, the next run tries again.
    """
    changed = 0
    for row in Signing.objects.exclude(signalling=None).filter(zone__deleted_at=None).select_related("zone"):
        try:
            changed += _reconcile_zone(row.zone, now, signals=bool(row.signalling) and row.is_signed)
        except ZoneError as exc:
            logger.warning("signalling names of %s are not published: %s", row.zone.name, exc)
        else:
            if row.signalling is False:
                Signing.objects.filter(pk=row.pk, signalling=False).update(signalling=None)
    return changed


def _reconcile_zone(zone: Zone, now: datetime, *, signals: bool) -> int:
    existing: dict[str, dict[int, RRset]] = {}
    for row in zone.rrsets.filter(type__in=_TYPES, name__startswith=_BOOT):
        existing.setdefault(row.name, {})[row.type] = rrset_of(row)
    expected: dict[str, Mapping[int, tuple[str, ...]]] = {}
    if signals:
        expected = dict(_names(_signalled_zones(zone)))
    steps = list(_steps(existing, expected))
    for at in range(0, len(steps), PIECE):
        zone_patches.publish_patches(
            patches=[zone_patches.patch_of_steps(zone, steps[at : at + PIECE])],
            acting=Acting(None, Channel.SYSTEM, now, panel_reasons.SIGNALLING_NAMES),
            under=SystemRight.SIGNALLING,
        )
    return len(steps)


def _signalled_zones(zone: Zone) -> list[_Signalled]:
    """Return the zones whose signalling names belong to this zone, at most MOST_NAMES."""
    # A zone `_signal.<name server>` is for that server.
    top = zone.name.removeprefix(_SIGNAL)
    parameters: dict[str, str | int | bytes] = {
        "delete": DELETE,
        "apex": APEX,
        "ns": rdtypes.NS,
        "top": top,
        "below": f".{top}",
        "no_ds": str(ParentState.NO_DS.value),
        "most": MOST_NAMES,
    }
    rows = fetch_all(_WITHOUT_DS, parameters)
    hosts = _hosts_of(zone, {host for _, _, servers in rows for host in servers if names.is_within(host, top)})
    zone_ids = [zone_id for zone_id, _, _ in rows]
    states = queries.signing_of_zones(zone_ids)
    public = ZoneKey.objects.in_bulk([key.id for state in states.values() for key in state.keys])
    stored: dict[int, list[RRset]] = {}
    for row in StoredRRset.objects.filter(zone__in=zone_ids, owner_key=APEX, type__in=_TYPES):
        stored.setdefault(row.zone_id, []).append(rrset_of(row))
    return [
        _Signalled(
            name,
            tuple(host for host in servers if host in hosts and not names.is_within(host, name)),
            _texts(name, states[zone_id], public, stored.get(zone_id, [])),
        )
        for zone_id, name, servers in rows
    ]


def _hosts_of(zone: Zone, candidates: Collection[str]) -> set[str]:
    """Return the candidate name servers whose signalling names are in this zone, and not in a zone below it."""
    signals = {host: names.parse(_SIGNAL + host) for host in candidates}
    inside = {host: name for host, name in signals.items() if names.is_within(name, zone.name)}
    above = nesting.zones_above([f"{_BOOT}{name}" for name in inside.values()])
    return {host for host, name in inside.items() if (at := above.get(_BOOT + name)) is not None and at.id == zone.pk}


def _texts(
    name: str, state: SigningState, public: Mapping[int, ZoneKey], stored: Sequence[RRset]
) -> dict[int, tuple[str, ...]]:
    """Return the CDS and CDNSKEY records at the apex, keyed by type: of published KSKs and CSKs, and in `stored`."""
    entries = [key for key in state.keys if key.published and state.role(key) is not KeyRole.ZSK]
    keys = [(key.flags, key.algorithm, bytes(public[key.id].public)) for key in entries]
    cds = [key_material.ds_text(name, *key, int(digest)) for key in keys for digest in state.cds.split(",")]
    cdnskey = [key_material.dnskey_text(*key) for key in keys] if state.cdnskey else []
    more = {rrset.type: [in_one_piece(text) for text in rrset.served] for rrset in stored}
    return {
        rdtypes.CDS: tuple(sorted({*cds, *more.get(rdtypes.CDS, ())})),
        rdtypes.CDNSKEY: tuple(sorted({*cdnskey, *more.get(rdtypes.CDNSKEY, ())})),
    }


def _names(signalled: Iterable[_Signalled]) -> Iterator[tuple[str, Mapping[int, tuple[str, ...]]]]:
    for each in signalled:
        for host in each.hosts:
            try:
                yield names.parse(f"{_BOOT}{each.name}{_SIGNAL}{host}"), each.texts
            except BadName:  # too long a name: RFC 9615 has no way for such zones
                logger.info("%s has no signalling name at %s: it would be too long", each.name, host)


def _steps(
    existing: Mapping[str, Mapping[int, RRset]], expected: Mapping[str, Mapping[int, tuple[str, ...]]]
) -> Iterator[tuple[Key, zone_patches.Step]]:
    for name in sorted({*existing, *expected}):
        for type in _TYPES:
            current = existing.get(name, {}).get(type)
            texts = expected.get(name, {}).get(type, ())
            if set(texts) == ({in_one_piece(text) for text in current.served} if current else set()):
                continue
            yield (
                (name, type),
                zone_patches.replace_with(make(name, type, TTL, texts)) if texts else zone_patches.remove_rrset,
            )
