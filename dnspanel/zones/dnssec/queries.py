"""Queries about zone signing for pages and APIs: states, keys, DNSKEY and DS records."""

from collections.abc import Collection

from dnspanel.accounts.actors.actors import Person, Right
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.database.field_copies import copy_fields
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.other_keys import OtherKey, keys_in
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState, KeyView, SigningState
from dnspanel.zones.dnssec.signing_texts import describe_change
from dnspanel.zones.errors import KeyUnknown
from dnspanel.zones.models import Revision, Signing, SigningChange, Zone, ZoneKey
from dnspanel.zones.rights import access
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes


def signing_of(zone: Zone) -> SigningState:
    """Return the zone's current signing state."""
    return signing_of_zones([zone.pk]).get(zone.pk, SigningState())


def loaded_signing_of(zone: Zone) -> SigningState:
    """Return the zone's signing state from `zone.signing`. Makes no query if that row was loaded with the zone."""
    try:
        return SigningState.from_json(zone.signing.state)
    except Signing.DoesNotExist:
        return SigningState()


def signing_of_zones(zone_ids: Collection[int]) -> dict[int, SigningState]:
    """Return these zones' signing states, keyed by zone id, in one query. Zones that were never signed are omitted."""
    rows = Signing.objects.filter(pk__in=zone_ids).values_list("zone_id", "state")
    return {zone_id: SigningState.from_json(state) for zone_id, state in rows}


def presigned_zones(zone_ids: Collection[int]) -> set[int]:
    """Return the ids in `zone_ids` that belong to presigned zones, in one query."""
    rows = Signing.objects.filter(pk__in=zone_ids, is_signed=True, state__presigned=True)
    return set(rows.values_list("pk", flat=True))


def keys_of(zone: Zone, state: SigningState | None = None) -> list[KeyView]:
    """Return the zone's keys, ordered by id."""
    found = signing_of(zone) if state is None else state
    if not found.keys:
        return []
    rows = ZoneKey.objects.defer("private_encrypted").select_related("created_by")
    stored = rows.in_bulk([key.id for key in found.keys])
    return [_view(zone.name, found, key, stored[key.id]) for key in found.keys]


def other_keys_of(zone: Zone) -> list[OtherKey]:
    """Return other signers' keys whose DNSKEY records nodes serve, keys with the SEP flag first."""
    return other_keys_of_zones([zone]).get(zone.pk, [])


def other_keys_of_zones(zones: Collection[Zone]) -> dict[int, list[OtherKey]]:
    """Return zones' other signers' keys, keyed by zone id, in one query. Zones without other signers are omitted."""
    found = rrsets_at_names({zone.pk: (zone.name, [zone.name]) for zone in zones}) if zones else {}
    keys = {zone.pk: keys_in(found[zone.pk].get((zone.name, rdtypes.DNSKEY))) for zone in zones}
    return {zone_id: of_zone for zone_id, of_zone in keys.items() if of_zone}


def descriptions_of_changes(zone: Zone, numbers: Collection[int]) -> dict[int, list[str]]:
    """Describe these revisions' signing changes, keyed by revision number, with two queries."""
    rows = SigningChange.objects.filter(zone=zone, revision_number__in=numbers)
    changes = {
        row.revision_number: (SigningState.from_json(row.before), SigningState.from_json(row.after)) for row in rows
    }
    ids = {key.id for sides in changes.values() for side in sides for key in side.keys}
    tags = dict(ZoneKey.objects.filter(pk__in=ids).values_list("pk", "tag")) if ids else {}
    return {number: describe_change(before, after, tags) for number, (before, after) in changes.items()}


def last_change_of(zone: Zone) -> Revision | None:
    """Return the last revision that changed the zone's signing, with its publication, or None if none did."""
    newest = SigningChange.objects.filter(zone=zone).order_by("-revision_number").values("revision_number")[:1]
    return (
        Revision.objects.select_related("publication__author", "publication__token")
        .filter(zone=zone, number__in=newest)
        .first()
    )


def private_text(*, zone: Zone, key_id: int, person: Person) -> str:
    """Return the private-key text of one of the zone's keys.

    Raise RightMissing if the person lacks the right EXPORT_KEYS, and KeyUnknown if the key doesn't exist or has no
    private part. The caller must record the export in the audit log, like `sign.export_key`.
    """
    access.require_right(person, zone, Right.EXPORT_KEYS)
    key = ZoneKey.objects.filter(pk=key_id, zone=zone).exclude(private_encrypted=None).first()
    if key is None or key.private_encrypted is None:
        raise KeyUnknown(zone.name, key_id)
    return decrypt_secret(key.private_encrypted).decode()


def _view(zone_name: str, state: SigningState, key: KeyState, stored: ZoneKey) -> KeyView:
    role, public = state.role(key), bytes(stored.public)
    of_key = (key.flags, key.algorithm, public)
    digests = () if role is KeyRole.ZSK else key_material.DIGESTS
    return copy_fields(
        KeyView,
        key,
        zone_name=zone_name,
        role=role,
        bits=stored.bits,
        tag=stored.tag,
        dnskey=key_material.dnskey_text(*of_key),
        ds=tuple(key_material.ds_text(zone_name, *of_key, digest_type=digest) for digest in digests),
        public=public,
        created_at=stored.created_at,
        created_by=stored.created_by.username if stored.created_by else "",
    )
