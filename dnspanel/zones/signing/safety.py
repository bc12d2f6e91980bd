"""Reject signing states that make a zone bogus: its answers would not validate along the chain of trust."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnspanel.texts import gettext
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.queries import other_keys_of
from dnspanel.zones.dnssec.signing_state import KeyState, SigningState
from dnspanel.zones.dnssec.wildcard_cuts import refuse_to_sign
from dnspanel.zones.errors import DnssecRefused, producer_reason, transferred_reason
from dnspanel.zones.models import Zone, ZoneKey
from dnspanel.zones.names import nesting
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes


@dataclass(frozen=True, slots=True)
class ParentHere:
    """A zone of this panel that delegates another zone, with the DS records for the delegated zone."""

    zone_id: int
    name: str
    ds: tuple[str, ...]


def parent_here(zone_name: str) -> ParentHere | None:
    """Return the parent zone if it is in this panel and delegates the name, or None."""
    above = nesting.zones_above([zone_name]).get(zone_name)
    if above is None:
        return None
    at_name = store_rrsets.rrsets_at_names({above.id: (above.name, [zone_name])})[above.id]
    ds, ns = at_name.get((zone_name, rdtypes.DS)), at_name.get((zone_name, rdtypes.NS))
    if not (ds and ds.served) and not (ns and ns.served):
        return None
    return ParentHere(above.id, above.name, ds.served if ds else ())


def refuse_bogus(
    zone: Zone, before: SigningState, after: SigningState, ds: Sequence[str], wildcards: Mapping[int, str] | None = None
) -> None:
    """Raise DnssecRefused if the zone would no longer validate. `ds` has the known DS records at the parent.

    A signed zone needs an active and published key, unless it is presigned. A zone with a DS must be signed, and at
    least one DS must match such a key. The zone also needs a key for every algorithm in the DS (RFC 6840 section 5.11).
    Matches and algorithms that the zone already lacked before don't count. A newly signed zone must not delegate a
    wildcard; pass `wildcards` (from `wildcard_cuts`) if they are known.
    """
    if _is_signed_here(after) and not _is_signed_here(before):
        refuse_to_sign(zone, wildcards)
    seen = _published_signers(after)
    if after.is_signed and not seen and not after.presigned:
        raise DnssecRefused(
            gettext("{name} would only be signed with keys that aren’t published. Publish an active key.").format(
                name=zone.name
            )
        )
    if not ds:
        return
    if not after.is_signed:
        raise DnssecRefused(
            gettext(
                "The parent zone has a DS for {name}, so validating resolvers would reject all answers. Delete "
                "the DS there, wait until it has expired from caches, then unsign the zone."
            ).format(name=zone.name)
        )
    public = {
        key.pk: bytes(key.public)
        for key in ZoneKey.objects.filter(pk__in=[k.id for k in (*seen, *_published_signers(before))])
    }
    if _is_named(zone.name, before, ds, public) and not _is_named(zone.name, after, ds, public):
        raise DnssecRefused(
            gettext(
                "No signing key for {name} would match the DS in the parent zone, so validating resolvers would "
                "reject all answers."
            ).format(name=zone.name)
        )
    named = {int(text.split()[1]) for text in ds}
    lost = sorted(named & {key.algorithm for key in _published_signers(before)} - {key.algorithm for key in seen})
    if lost:
        names = " and ".join(key_material.ALGORITHMS.get(number, str(number)) for number in lost)
        raise DnssecRefused(
            gettext(
                "The DS in the parent zone requires {names}, but {name} would not have signatures with this "
                "algorithm. Some validating resolvers would reject all answers."
            ).format(names=names, name=zone.name)
        )


def refuse_presigned(zone: Zone, state: SigningState) -> None:
    """Raise DnssecRefused if the panel doesn't control how the zone is signed.

    This applies to presigned zones, zones with their primary elsewhere, and producer catalog zones.
    """
    if zone.transferred_from:
        raise DnssecRefused(transferred_reason(zone.name, zone.transferred_from))
    if zone.is_catalog:
        raise DnssecRefused(producer_reason(zone.name))
    if state.presigned:
        raise DnssecRefused(
            gettext(
                "{name} is served with imported signatures. Import the zone again, or delete the imported "
                "signatures first."
            ).format(name=zone.name)
        )


def refuse_leaving(zone: Zone, act: str) -> None:
    """Raise DnssecRefused if the zone has other signers. `act` names the rejected action in the message."""
    if other_keys_of(zone):
        raise DnssecRefused(
            gettext("{name} also has other signers. Remove their keys before {act}.").format(name=zone.name, act=act)
        )


def _is_signed_here(state: SigningState) -> bool:
    """Return True if nodes sign the answers. Return False for an unsigned or presigned zone."""
    return state.is_signed and not state.presigned


def _published_signers(state: SigningState) -> list[KeyState]:
    return [key for key in state.keys if key.active and key.published]


def _is_named(zone_name: str, state: SigningState, ds: Sequence[str], public: Mapping[int, bytes]) -> bool:
    """Return True if a DS matches an active and published key."""
    keys = [(key.flags, key.algorithm, public[key.id]) for key in _published_signers(state) if key.id in public]
    return any(key_material.is_named_by(zone_name, *key, ds) for key in keys)
