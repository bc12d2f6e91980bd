"""Find and change the DS records of a zone whose parent is a zone of this panel. Verbs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from dnspanel.accounts.actors.actors import Author
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.served_ttls import LONGEST_CACHED
from dnspanel.zones.models import Change, Channel, Publication, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.signing.safety import parent_here
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.stored_changes import rrset_after, rrset_before
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from replication.dns.rrset import RRset, make

_FIRST_DIGEST = "2"


@dataclass(frozen=True, slots=True)
class AnsweredDs:
    """The DS RRsets that nodes can return for a zone whose parent is in this panel, and the longest TTL in caches.

    `sets` has each possible DS RRset; () means no DS. `ttl` covers answers without a DS too. `nameservers` maps the
    targets of the parent's NS records to their addresses in zones of this panel, or to ().
    """

    parent_id: int
    parent: str
    nameservers: Mapping[str, tuple[str, ...]]
    sets: tuple[tuple[str, ...], ...]
    ttl: int


def answered_ds(zone_name: str, *, acked: int, now: datetime) -> AnsweredDs | None:
    """Return the zone's DS RRsets that nodes can serve if they have acknowledged at least the sequence `acked`.

    Return None if the parent isn't in this panel.
    """
    parent = parent_here(zone_name)
    if parent is None:
        return None
    found = store_rrsets.rrsets_at_names({parent.zone_id: (parent.name, [zone_name, parent.name])})[parent.zone_id]
    current, soa = found.get((zone_name, rdtypes.DS)), found.get((parent.name, rdtypes.SOA))
    ns = found.get((parent.name, rdtypes.NS))
    changes = Change.objects.filter(
        revision__zone=parent.zone_id, owner_key=relative_key(zone_name, parent.name), type=rdtypes.DS
    ).select_related("revision__publication")
    lately = changes.filter(Q(revision__publication__gt=acked) | Q(revision__publication__at__gt=now - LONGEST_CACHED))
    sets = [current.served if current else ()]
    ttls = [current.ttl if current else 0, _negative_ttl(soa)]
    for change in lately:
        before, after = rrset_before(change), rrset_after(change)
        ttls += [rrset.ttl for rrset in (before, after) if rrset is not None]
        if change.revision.publication_id > acked:
            sets.append(before.served if before else ())
    nameservers = _with_addresses(ns.folded.served if ns else ())
    return AnsweredDs(parent.zone_id, parent.name, nameservers, tuple(dict.fromkeys(sets)), max(ttls))


def replace_ds(  # noqa: PLR0913  # a change of a DS, and who makes it
    *,
    zone_name: str,
    add: Collection[str],
    remove: Collection[str],
    author: Author,
    reason: str,
    now: datetime,
    first: bool = False,
) -> Publication | None:
    """Add and remove the zone's DS records in its parent zone. Return None if nothing changes.

    Only digest types that the parent's DS RRset already has are added. If the parent isn't in this panel or has no DS
    for the zone, nothing changes, because only a person decides to add a first DS. With `first`, a first SHA-256 DS is
    added instead, with the TTL of the NS. Raise the errors of `zone_patches.publish_patches`.
    """
    parent = parent_here(zone_name)
    if parent is None:
        return None
    zone = Zone.objects.get(pk=parent.zone_id)
    key = zone_name, rdtypes.DS

    ns = store_rrsets.rrsets_at_names({zone.pk: (zone.name, [zone_name])})[zone.pk].get((zone_name, rdtypes.NS))

    def step(current: RRset | None) -> RRset | None:
        if current is None or not current.served:
            texts = [text for text in add if text.split()[2] == _FIRST_DIGEST]
            return make(zone_name, rdtypes.DS, ns.ttl, texts) if first and ns is not None and texts else current
        gone = {text.lower() for text in remove}
        digests = {text.split()[2] for text in current.served}
        wanted = [text for text in add if text.split()[2] in digests]
        texts = [text for text in current.rdata if text.lower() not in gone and text not in wanted]
        if not texts and not wanted:
            return None
        disabled = tuple(text for text in current.disabled if text in texts)
        values, notes = (*texts, *wanted), current.notes
        return make(zone_name, rdtypes.DS, current.ttl, values, disabled, current.comment, notes=notes)

    outcome = zone_patches.publish_patches(
        patches=[zone_patches.patch_of_steps(zone, [(key, step)])], acting=Acting(author, Channel.SYSTEM, now, reason)
    )
    return outcome.publication


def _with_addresses(hosts: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return each host's addresses in the closest zone of this panel at or above its name, or ()."""
    above = nesting.zones_above(hosts)
    apexes = dict(Zone.objects.filter(name__in=list(hosts), deleted_at=None).values_list("name", "pk"))
    owners: dict[int, tuple[str, set[str]]] = {pk: (name, {name}) for name, pk in apexes.items()}
    for host, zone in above.items():
        if host not in apexes:
            owners.setdefault(zone.id, (zone.name, set()))[1].add(host)
    found = store_rrsets.rrsets_at_names(owners) if owners else {}
    addresses: dict[str, tuple[str, ...]] = dict.fromkeys(hosts, ())
    for (name, type), rrset in (each for of_zone in found.values() for each in of_zone.items()):
        if name in addresses and type in (rdtypes.A, rdtypes.AAAA):
            addresses[name] += rrset.served
    return addresses


def _negative_ttl(soa: RRset | None) -> int:
    return 0 if soa is None else min(soa.ttl, int(soa.rdata[0].split()[6]))
