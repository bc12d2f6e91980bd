"""Find the PTR records for addresses, and draft changes that make PTRs match A and AAAA records. Verbs.

Functions read published content and the author's draft, or only published content for immediate changes. A PTR changes
only if a person requests it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from dnspanel.accounts.actors.actors import Actor
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.draft import Drafter, edit_of, person
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.publishing.zone_patches import Patch
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import ancestors_within, targets_of
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.values.reverse_names import classless_names, reverse_name
from replication.dns import names, rdtypes
from replication.dns.rrset import Key, RRset, make

ADDRESS_TYPES = frozenset((rdtypes.A, rdtypes.AAAA))
_MAKE_ADDRESSES = (rdtypes.ALIAS, rdtypes.LUA)
MOST_PAIRS = 2_000  # examined in one call
_MOST_TARGETS = 4  # of one PTR, to check if they have the address


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """An owner name, and an address that it has, had or will have."""

    name: str
    address: str


class State(StrEnum):
    """The state of a pair: the PTR matches, or the reason why it is wrong or can't be fixed here."""

    AGREES = "agrees"
    MISSING = "missing"  # the name has the address, and there is no PTR
    OTHER = "other"  # the PTR has another name, which isn't known to have the address
    SHARED = "shared"  # the PTR has another name that has the address too: one name is enough
    LEFT = "left"  # the PTR has a name without the address
    ELSEWHERE = "elsewhere"  # the panel doesn't know the addresses of the name
    NO_ZONE = "no-zone"
    NO_RIGHT = "no-right"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an address's PTR: its owner name, its zone, and the current RRset.

    `zone` is None if the author sees no zone for the PTR, or if the owner name is delegated to other servers.
    """

    owner: str
    zone: Zone | None = None
    may_change: bool = False
    now: RRset | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(sorted(targets_of(self.now))) if self.now is not None else ()


@dataclass(frozen=True, slots=True)
class Step:
    """A pair, the place of its address's PTR, and the state of the pair."""

    pair: Pair
    place: Place
    state: State
    ttl: int | None = None  # TTL of the name's address; None without an address or if it is unknown

    @property
    def is_open(self) -> bool:
        """True if the PTR doesn't match and the author can fix it."""
        return self.state in (State.MISSING, State.OTHER, State.LEFT)


@dataclass(frozen=True, slots=True)
class Drafted:
    """The result of drafting PTRs: the number of RRsets, their zones, and the number of rejected RRsets."""

    count: int = 0
    zones: tuple[str, ...] = ()
    refused: int = 0


def pairs_of(*rrsets: RRset | None) -> list[Pair]:
    """Return a (name, address) pair for each served A or AAAA record. Skip wildcards, which don't name a host."""
    return sorted(
        {
            Pair(rrset.name, address)
            for rrset in rrsets
            if rrset is not None and rrset.type in ADDRESS_TYPES and not rrset.name.startswith("*.")
            for address in rrset.served
        }
    )


def steps_of(
    *,
    author: Drafter,
    pairs: Collection[Pair],
    afters: Mapping[Key, RRset | None] | None = None,
    with_draft: bool = True,
) -> list[Step]:
    """Return the state of each pair, in order. Omit pairs beyond `MOST_PAIRS`.

    `afters` has further changes that the author is about to write. More pairs don't need more queries.
    """
    looked_at = list(dict.fromkeys(pairs))[:MOST_PAIRS]
    if not looked_at:
        return []
    ttls = _ttls_of(author, looked_at, afters or {}, with_draft=with_draft)
    places = places_of(author, {pair.address for pair in looked_at}, with_draft=with_draft)
    steps = [_step(pair, places[pair.address], ttls) for pair in looked_at]
    others = [
        Pair(name, step.pair.address)
        for step in steps
        if step.state == State.OTHER
        for name in step.place.targets[:_MOST_TARGETS]
    ]
    if not others:
        return steps
    found = _ttls_of(author, others, afters or {}, with_draft=with_draft)
    confirmed = {pair.address for pair, ttl in found.items() if ttl is not None}
    is_shared = {step.pair for step in steps if step.state == State.OTHER and step.pair.address in confirmed}
    return [replace(step, state=State.SHARED) if step.pair in is_shared else step for step in steps]


def bring_in_step(*, author: Drafter, pairs: Collection[Pair], now: datetime, take_over: bool = False) -> Drafted:
    """Draft changes to PTRs that make them match the existing addresses, where possible. Return a summary.

    A name that has the address is added as the PTR. It replaces names that aren't known to have the address or, with
    `take_over`, any other name. If several names in one call have the address, the first one is used. Names without the
    address are removed from the PTR. Raise QuotaExceeded if the draft becomes too large.
    """
    steps = steps_of(author=author, pairs=pairs)
    return _draft(_changes_of(steps, take_over=take_over), author, now)


def with_pointers(*, author: Actor, patches: Sequence[Patch]) -> list[Patch]:
    """Return the patches, with matching changes to PTRs for their addresses, if the author has the right to make them.

    Other reverse zones get patches at the end. Patches of whole zones are not examined. The PTRs are based on the
    current state: if someone changes them before the patches are published, that change is overwritten. A patch's own
    change to a PTR has precedence. If a patch is invalid, nothing is added, because publishing it will show the reason.
    """
    owners = {patch.zone.pk: (patch.zone.name, patch.names) for patch in patches if patch.names}
    at = store_rrsets.rrsets_at_names(owners)
    afters: dict[Key, RRset | None] = {}
    befores = []
    for patch in patches:
        if patch.names:
            of_zone = at[patch.zone.pk]
            try:
                changes = patch.decide(of_zone)
            except Exception:  # publishing raises it too, except for a form that was sent twice
                return list(patches)
            decided = {key: rrset for key, rrset in changes.items() if key[1] in ADDRESS_TYPES}
            befores += [of_zone.get(key) for key in decided]
            afters |= decided
    pairs = pairs_of(*befores, *afters.values())
    steps = [
        step
        for at_pair in range(0, len(pairs), MOST_PAIRS)
        for step in steps_of(
            author=author, pairs=pairs[at_pair : at_pair + MOST_PAIRS], afters=afters, with_draft=False
        )
    ]
    by_zone: dict[int, dict[Key, RRset | None]] = {}
    zones = {}
    for (zone_id, owner), (place, rrset) in _changes_of(steps, take_over=True).items():
        assert place.zone is not None
        zones[zone_id] = place.zone
        by_zone.setdefault(zone_id, {})[owner, rdtypes.PTR] = rrset
    found = [_and_also(patch, by_zone.pop(patch.zone.pk, {})) for patch in patches]
    return [*found, *(_and_also(Patch(zones[pk], lambda _: {}, set()), changes) for pk, changes in by_zone.items())]


def _and_also(patch: Patch, changes: Mapping[Key, RRset | None]) -> Patch:
    """Add changes to the patch, except for RRsets that it already changes."""
    if not changes:
        return patch
    names_read = None if patch.names is None else {*patch.names, *(name for name, _ in changes)}
    return replace(patch, decide=lambda current: {**changes, **patch.decide(current)}, names=names_read)


def _changes_of(steps: Iterable[Step], *, take_over: bool) -> dict[tuple[int, str], tuple[Place, RRset | None]]:
    """Return the places and new PTR RRsets that fix the steps, keyed by zone id and owner name."""
    found: dict[tuple[int, str], tuple[Place, RRset | None]] = {}
    claimed = set()
    chosen = [step for step in steps if step.is_open or (take_over and step.state == State.SHARED)]
    # Remove names first, because a PTR can lose one name and get another.
    for step in sorted(chosen, key=lambda step: step.ttl is not None):
        assert step.place.zone is not None
        key = step.place.zone.pk, step.place.owner
        current = found[key][1] if key in found else step.place.now
        if step.ttl is None:
            found[key] = step.place, _without(current, step.pair.name)
        elif key not in claimed:
            claimed.add(key)
            found[key] = step.place, _naming(current, step, step.ttl)
    return found


def places_of(author: Drafter, addresses: Collection[str], *, with_draft: bool = True) -> dict[str, Place]:
    """Return the place of each address's PTR, keyed by address: its reverse name, or a CNAME's target there (RFC 2317).

    A classless zone in the panel is used even if its parent zone isn't in the panel, or has no CNAME yet.
    """
    straight = {address: reverse_name(address) for address in addresses}
    classless = {address: classless_names(address) for address in addresses}
    first = {*straight.values(), *(owner for owners in classless.values() for owner in owners)}
    zones = access.closest_zones_visible_to(author, first)
    seen = _seen_in(author, zones, with_draft=with_draft)
    found: dict[str, Place] = {}
    led: dict[str, str] = {}
    for address, owner in straight.items():
        # A classless name only counts if its parent is a zone.
        inside = [each for each in classless[address] if each in zones and zones[each].name == names.parent(each)]
        alias = _alias_at(owner, zones, seen)
        if alias is not None and alias not in inside:
            led[address] = alias
        elif alias is not None or (inside and not _has_pointer(owner, zones, seen)):
            found[address] = _place(author, alias or inside[0], zones, seen)
        else:
            found[address] = _place(author, owner, zones, seen)
    if led:
        zones = access.closest_zones_visible_to(author, set(led.values()))
        seen = _seen_in(author, zones, with_draft=with_draft)
        found |= {address: _place(author, owner, zones, seen) for address, owner in led.items()}
    return found


def seen_at(author: Drafter, owners: Mapping[int, tuple[str, Collection[str]]]) -> dict[int, dict[Key, RRset]]:
    """Return all RRsets at the owner names, including the author's draft changes. Needs two queries.

    `owners` is {zone id: (zone name, owner names)}.
    """
    found = store_rrsets.rrsets_at_names(owners)
    everywhere = {name for _, owned in owners.values() for name in owned}
    mine = Operation.objects.filter(draft__author=person(author), zone__in=list(owners), name__in=everywhere)
    for operation in mine:
        change = edit_of(operation).change
        if change.after is None:
            found[operation.zone_id].pop(change.key, None)
        else:
            found[operation.zone_id][change.key] = change.after
    return found


def _ttls_of(
    author: Drafter, pairs: Collection[Pair], afters: Mapping[Key, RRset | None], *, with_draft: bool
) -> dict[Pair, int | None]:
    """Return the TTL of each pair's address record, or None if the name doesn't have this address.

    Omit pairs that the panel can't check: names on other servers, and names with computed addresses.
    """
    zones = access.closest_zones_visible_to(author, {pair.name for pair in pairs})
    seen = _seen_in(author, zones, with_draft=with_draft, wildcards=True)
    found: dict[Pair, int | None] = {}
    for pair in pairs:
        zone = zones.get(pair.name)
        if zone is None or _is_cut(pair.name, zone, seen):
            continue
        types = {*ADDRESS_TYPES, *_MAKE_ADDRESSES}
        here = {type: seen[zone.pk].get((pair.name, type)) for type in types}
        here |= {type: afters[pair.name, type] for type in types if (pair.name, type) in afters}
        if not any(here.values()) and pair.name != zone.name:
            here = {type: seen[zone.pk].get((_wildcard_of(pair.name), type)) for type in types}
        if any(here[type] for type in _MAKE_ADDRESSES):
            continue
        ttls = (rrset.ttl for rrset in here.values() if rrset is not None and pair.address in rrset.served)
        found[pair] = next(ttls, None)
    return found


def _step(pair: Pair, place: Place, ttls: Mapping[Pair, int | None]) -> Step:
    ttl = ttls.get(pair)
    if pair not in ttls:
        state = State.ELSEWHERE
    elif (pair.name in place.targets) == (ttl is not None):
        state = State.AGREES
    elif place.zone is None:
        state = State.NO_ZONE
    elif not place.may_change:
        state = State.NO_RIGHT
    elif ttl is None:
        state = State.LEFT
    else:
        state = State.OTHER if place.targets else State.MISSING
    return Step(pair, place, state, ttl)


def _naming(current: RRset | None, step: Step, ttl: int) -> RRset:
    values = [step.pair.name]
    if current is None:
        return make(step.place.owner, rdtypes.PTR, ttl, values)
    return make(step.place.owner, rdtypes.PTR, current.ttl, values, (), current.comment, notes=current.notes)


def _without(current: RRset | None, name: str) -> RRset | None:
    """Return the RRset without the records that point to `name`, or None if no record is left."""
    if current is None:
        return None
    return current.without([name])


def _draft(placed: Mapping[tuple[int, str], tuple[Place, RRset | None]], author: Drafter, now: datetime) -> Drafted:
    by_zone: dict[int, dict[Key, RRset | None]] = {}
    zones: dict[int, Zone] = {}
    for (zone_id, owner), (place, rrset) in placed.items():
        assert place.zone is not None
        zones[zone_id] = place.zone
        by_zone.setdefault(zone_id, {})[owner, rdtypes.PTR] = rrset
    count, refused, changed = 0, 0, []
    for zone_id, afters in by_zone.items():
        try:
            draft.change_rrsets(author=author, zone=zones[zone_id], afters=afters, now=now)
        except RightMissing:  # the author can change some of the zone's records, but not all of these
            refused += len(afters)
        else:
            count += len(afters)
            changed.append(zones[zone_id].name)
    return Drafted(count, tuple(sorted(changed)), refused)


def _seen_in(
    author: Drafter, zones: Mapping[str, Zone], *, with_draft: bool, wildcards: bool = False
) -> dict[int, dict[Key, RRset]]:
    """Return the RRsets at these names, above them (possible delegations), and optionally at matching wildcards."""
    looked_at: dict[int, tuple[str, set[str]]] = {}
    for owner, zone in zones.items():
        of_zone = looked_at.setdefault(zone.pk, (zone.name, set()))[1]
        of_zone.update((owner, *_between(owner, zone)))
        if wildcards and owner != zone.name:
            of_zone.add(_wildcard_of(owner))
    if not with_draft:
        return store_rrsets.rrsets_at_names(looked_at) if looked_at else {}
    return seen_at(author, looked_at) if looked_at else {}


def _wildcard_of(owner: str) -> str:
    """Return the wildcard next to an owner name: `*.` and the parent name. The name must not be the root."""
    return f"*.{names.parent(owner)}".replace("..", ".")


def _is_cut(owner: str, zone: Zone, seen: Mapping[int, Mapping[Key, RRset]]) -> bool:
    """Return True if the zone delegates the name, or a name above it, to other servers."""
    return any((at, rdtypes.NS) in seen[zone.pk] for at in (owner, *_between(owner, zone)) if at != zone.name)


def _between(owner: str, zone: Zone) -> Iterator[str]:
    """Yield the names above an owner name, up to but excluding the zone's apex."""
    return (at for at in ancestors_within(owner, zone.name) if at != zone.name)


def _alias_at(owner: str, zones: Mapping[str, Zone], seen: Mapping[int, Mapping[Key, RRset]]) -> str | None:
    """Return the target of a CNAME at the owner name, or None if there is no CNAME."""
    alias = seen[zones[owner].pk].get((owner, rdtypes.CNAME)) if owner in zones else None
    return next(iter(targets_of(alias)), None) if alias is not None else None


def _has_pointer(owner: str, zones: Mapping[str, Zone], seen: Mapping[int, Mapping[Key, RRset]]) -> bool:
    return owner in zones and (owner, rdtypes.PTR) in seen[zones[owner].pk]


def _place(author: Drafter, owner: str, zones: Mapping[str, Zone], seen: Mapping[int, Mapping[Key, RRset]]) -> Place:
    zone = zones.get(owner)
    if zone is None or _is_cut(owner, zone, seen):
        return Place(owner)
    return Place(owner, zone, access.may_edit_zone(author, zone), seen[zone.pk].get((owner, rdtypes.PTR)))
