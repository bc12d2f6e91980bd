"""Check, like a resolver, that zones in this panel validate with the parent's DS records."""

from collections.abc import Iterable, Mapping, Sequence

from dnspanel.texts import gettext
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.queries import other_keys_of_zones
from dnspanel.zones.dnssec.signing_state import UNSIGNED, KeyRole, KeyState, SigningState
from dnspanel.zones.models import Signing, Zone, ZoneKey


def broken_by(ds: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return {name: reason} for this panel's zones that don't validate with the given DS records.

    A zone needs a key that signs its DNSKEY RRset, is in that RRset, and matches a DS. Other signers' keys count. A
    zone without any DS is insecure, never broken. Makes one query if no name is a zone here, otherwise up to four.
    """
    wanted = [name for name, texts in ds.items() if texts]
    zones = {zone.pk: zone for zone in Zone.objects.filter(name__in=wanted, deleted_at=None)} if wanted else {}
    if not zones:
        return {}
    rows = Signing.objects.filter(pk__in=list(zones)).values_list("zone_id", "state")
    states = {zone_id: SigningState.from_json(state) for zone_id, state in rows}
    ids = [key.id for state in states.values() for key in state.keys]
    public = {pk: bytes(key) for pk, key in ZoneKey.objects.filter(pk__in=ids).values_list("pk", "public")}
    others = other_keys_of_zones([zone for pk, zone in zones.items() if pk in states])
    broken = {}
    for pk, zone in sorted(zones.items(), key=lambda each: each[1].name):
        reason = reason_against(zone.name, states.get(pk, UNSIGNED), ds[zone.name], public, others.get(pk, ()))
        if reason:
            broken[zone.name] = reason
    return broken


def ds_into(zones: Iterable[Zone]) -> dict[int, tuple[str, ...]]:
    """Return the SHA-256 DS of signed zones' own active, published non-ZSK keys, keyed by zone id."""
    by_id = {zone.pk: zone for zone in zones}
    rows = Signing.objects.filter(pk__in=list(by_id), is_signed=True).values_list("zone_id", "state")
    states = {zone_id: SigningState.from_json(state) for zone_id, state in rows} if by_id else {}
    entries = {zone_id: [key for key in state.keys if _is_entry(state, key)] for zone_id, state in states.items()}
    ids = [key.id for keys in entries.values() for key in keys]
    public = dict(ZoneKey.objects.filter(pk__in=ids).values_list("pk", "public")) if ids else {}
    return {
        zone_id: tuple(
            key_material.ds_text(by_id[zone_id].name, key.flags, key.algorithm, bytes(public[key.id]))
            for key in keys
            if key.id in public
        )
        for zone_id, keys in entries.items()
    }


def reason_against(
    zone_name: str, state: SigningState, ds: Sequence[str], public: Mapping[int, bytes], others: Iterable[OtherKey]
) -> str:
    """Return why a zone in this signing state doesn't validate with the DS records, or "" if it does.

    The reason is a relative clause ("which is …"). `public` maps the ids of the zone's keys to their public parts.
    `others` are keys of other signers, or of a presigned zone.
    """
    if not ds:
        return ""
    if not state.is_signed:
        return gettext("which the panel serves without signatures")
    entries = [key for key in state.keys if _is_entry(state, key)]
    keys = [(key.flags, key.algorithm, public[key.id]) for key in entries if key.id in public]
    keys += [(key.flags, key.algorithm, key.public) for key in others]
    if any(key_material.is_named_by(zone_name, *key, ds) for key in keys):
        return ""
    return gettext("which is signed with keys that don’t match the DS")


def newly_broken(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return {name: reason} for the zones that are broken by the DS records `after` but not by `before`."""
    broken = broken_by(after)
    already = broken_by({name: before.get(name, ()) for name in broken}) if broken else {}
    return {name: reason for name, reason in broken.items() if name not in already}


def _is_entry(state: SigningState, key: KeyState) -> bool:
    """Return True if a resolver can validate the zone through this key: it is active, published, and not a ZSK."""
    return key.active and key.published and state.role(key) is not KeyRole.ZSK
