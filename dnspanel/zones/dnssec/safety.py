"""What would make a zone bogus: answers that do not validate for whoever follows the chain of trust to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnspanel.zones import nesting, store_rrsets
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import DnssecRefused
from dnspanel.zones.models import Zone, ZoneKey
from replication.dns import rdtypes

DsByZone = Mapping[str, tuple[str, ...]]


def ds_in_our_parents(zone_names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The DS records that zones of this panel hold for these zones, in two queries; names without any are not in it."""
    above = nesting.zones_above(zone_names)
    names: dict[int, tuple[str, list[str]]] = {}
    for name, parent in above.items():
        names.setdefault(parent.id, (parent.name, []))[1].append(name)
    found = store_rrsets.rrsets_at_names(names) if names else {}
    ds = {rrset.name: rrset.served for rrsets in found.values() for rrset in rrsets.values() if _is_ds(rrset.type)}
    return {name: ds[name] for name in zone_names if ds.get(name)}


@dataclass(frozen=True, slots=True)
class ParentHere:
    """The zone of this panel that delegates another one, and the DS records that it holds for it."""

    zone_id: int
    name: str
    ds: tuple[str, ...]


def parent_here(zone_name: str) -> ParentHere | None:
    """The parent of this zone, if it is a zone of this panel; of a name that it does not delegate nothing is known."""
    above = nesting.zones_above([zone_name]).get(zone_name)
    if above is None:
        return None
    at_name = store_rrsets.rrsets_at_names({above.id: (above.name, [zone_name])})[above.id]
    ds, ns = at_name.get((zone_name, rdtypes.DS)), at_name.get((zone_name, rdtypes.NS))
    if not (ds and ds.served) and not (ns and ns.served):
        return None
    return ParentHere(above.id, above.name, ds.served if ds else ())


def _is_ds(type: int) -> bool:
    return type == rdtypes.DS


def refuse_bogus(zone: Zone, before: SigningState, after: SigningState, ds: Sequence[str]) -> None:
    """Raise DnssecRefused if the zone, signed so, would not validate; `ds` is what the parent holds, as far as known.

    A zone that is signed needs a key that signs and can be seen. With a DS, at least one DS must lead to a key that
    signs the DNSKEY RRset and can be seen, and every algorithm that the DS name has to sign (RFC 6840 section 5.11).
    """
    seen = [key for key in after.keys if key.active and key.published]
    if after.is_signed and not seen:
        raise DnssecRefused(f"{zone.name} would be signed by keys that nobody can see: publish one that is active.")
    if not ds:
        return
    if not after.is_signed:
        raise DnssecRefused(
            f"The zone above holds a DS for {zone.name}: remove it there, wait until it has expired from caches, then "
            "unsign. Resolvers that validate would answer nothing of the zone."
        )
    public = {key.pk: bytes(key.public) for key in ZoneKey.objects.filter(pk__in=[key.id for key in seen])}
    good = {
        text.lower()
        for key in seen
        if key.id in public
        for digest in key_material.EVERY_DIGEST
        for text in [key_material.ds_text(zone.name, key.flags, key.algorithm, public[key.id], digest)]
    }
    if not any(text.lower() in good for text in ds) and (before.is_signed or before.keys):
        raise DnssecRefused(
            f"No key of {zone.name} that signs would be one that the DS in the zone above names: resolvers that "
            "validate would answer nothing of the zone."
        )
