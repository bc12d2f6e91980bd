"""Find the names and RRsets that a change in a zone affects: names above and below, aliases, and targets. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dnspanel.zones.rules import name_rules
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset

Key = tuple[str, int]
_NOWHERE = "x--nothing-is-here"  # a label for an arbitrary name below a DNAME
MAX_CHAIN = 16
AT_A_CUT = frozenset((rdtypes.NS, rdtypes.DS))


@dataclass(frozen=True)
class Neighbourhood:
    """The RRsets related to a change, before or after it. `below` maps a delegation or DNAME to names below it.

    `answered_by` maps names to the child zones that answer for them.
    """

    zone: str
    rrsets: Mapping[Key, RRset]
    below: Mapping[str, tuple[str, ...]]
    answered_by: Mapping[str, str] = field(default_factory=dict)
    unanswered: Mapping[int, str] = field(default_factory=dict)  # types and kinds that some node does not answer

    @cached_property
    def by_name(self) -> dict[str, dict[int, RRset]]:
        found: dict[str, dict[int, RRset]] = {}
        for (name, type_), rrset in self.rrsets.items():
            found.setdefault(name, {})[type_] = rrset
        return found

    def at(self, name: str) -> dict[int, RRset]:
        return self.by_name.get(name, {})

    @cached_property
    def aliases(self) -> dict[str, list[str]]:
        """The owners of CNAMEs, keyed by the CNAMEs' target."""
        found: dict[str, list[str]] = {}
        for (name, type_), rrset in self.rrsets.items():
            if type_ == rdtypes.CNAME:
                for target in targets_of(rrset):
                    found.setdefault(target, []).append(name)
        return found

    def names_leading_to(self, name: str) -> Iterator[str]:
        """Yield the names that lead to `name` through up to MAX_CHAIN CNAMEs and DNAMEs in the zone, nearest first."""
        dnames = [(owner, targets_of(rrset)) for (owner, type_), rrset in self.rrsets.items() if type_ == rdtypes.DNAME]
        known, here = {name}, [name]
        for _ in range(MAX_CHAIN):
            before = [owner for target in here for owner in self.aliases.get(target, ())]
            for owner, targets in dnames:
                before += [
                    below.removesuffix(target) + owner
                    for target in targets
                    for below in here
                    if below != target and names.is_within(below, target)
                ]
            here = [each for each in dict.fromkeys(before) if each not in known]
            known.update(here)
            yield from here

    @cached_property
    def has_cuts(self) -> bool:
        """True if the RRsets include a delegation or DNAME, which affects the names below it."""
        return any(type_ == rdtypes.DNAME or (type_ == rdtypes.NS and name != self.zone) for name, type_ in self.rrsets)

    @cached_property
    def doubled_ending(self) -> str:
        """The ending of names with a forgotten trailing dot: the zone's name twice (for the root, no name has it)."""
        return f".{self.zone}{self.zone}" if self.zone != names.ROOT else "\0"

    def display(self, name: str) -> str:
        return displayed_owner(name, self.zone)

    def ancestors(self, name: str) -> Iterator[str]:
        """Yield the names above a name, from the nearest to the apex."""
        yield from ancestors_within(name, self.zone)

    def cut_above(self, name: str) -> str | None:
        """Return the highest delegation above `name`, or None if the name isn't below a delegation."""
        if not self.has_cuts:
            return None
        cuts = [a for a in self.ancestors(name) if a != self.zone and rdtypes.NS in self.at(a)]
        return cuts[-1] if cuts else None

    def answers_at(self, name: str) -> dict[int, RRset] | None:
        """Return the zone's RRsets that answer for a name, at the name itself or at a wildcard ({} if there are none).

        Return None if the name is at or below a delegation, is below a DNAME, or is answered by a child zone.
        """
        if name in self.answered_by:
            return None
        if self.at(name):
            return None if name != self.zone and rdtypes.NS in self.at(name) else self.at(name)
        if self.cut_above(name) or any(rdtypes.DNAME in self.at(a) for a in self.ancestors(name)):
            return None
        for ancestor in self.ancestors(name):
            if wildcard := self.at("*." + ancestor):
                return wildcard
            if self.at(ancestor):
                break
        return {}


def ancestors_within(name: str, zone: str) -> Iterator[str]:
    """Yield the names above `name`, up to and including the apex `zone`."""
    while name != zone:
        above = names.parent(name)
        if above is None:
            return
        name = above
        yield name


def names_to_know(zone: str, rrsets: Iterable[RRset]) -> set[str]:
    """Return the names of further RRsets that `check_zone` needs in order to check `rrsets`."""
    content = list(rrsets)
    parents = (names.parent(rrset.name) for rrset in content if rrset.name != zone)
    found = with_ancestors((parent for parent in parents if parent is not None), zone)
    for rrset in content:
        known = targets_of(rrset)
        if rrset.type == rdtypes.SOA:
            known = known | name_rules.soa_names_within(rrset, zone)
        for target in known:
            if names.is_within(target, zone):
                above = list(ancestors_within(target, zone))
                found.update((target, *above, *("*." + a for a in above)))
    return found


def with_ancestors(owner_names: Iterable[str], zone: str) -> set[str]:
    """Return these names of the zone and all names above them, including the apex."""
    found = {zone}
    for name in owner_names:
        at: str | None = name
        while at is not None and at not in found:  # the ancestors of a known name are known too
            found.add(at)
            at = names.parent(at)
    return found


def names_below(zone: str, rrsets: Iterable[RRset]) -> dict[str, tuple[str, ...]]:
    """Return the first three names below each DNAME of a zone. `rrsets` must be all RRsets of the zone."""
    content = list(rrsets)
    found: dict[str, tuple[str, ...]] = {}
    for dname in content:
        if dname.type == rdtypes.DNAME:
            below = (r.name for r in content if r.name != dname.name and names.is_within(r.name, dname.name))
            found[dname.name] = tuple(dict.fromkeys(below))[:3]
    return found


def targets_of(rrset: RRset) -> set[str]:
    """Return the names that the RRset's served records point to, except the root."""
    if rrset.type not in rdata.POINTING:
        return set()
    found = {target for text in rrset.served for target in rdata.targets(rrset.type, text)}
    return found - {names.ROOT}


def is_shadowed(rrset: RRset, answering: str, delegation: RRset | None) -> bool:
    """Return True if name servers never return an RRset, because the zone `answering` answers for its name.

    The parent zone still answers with the NS and DS at the delegation and with the glue: the addresses of the name
    servers in the NS. See RFC 1034 4.2.1 and RFC 4035 3.1.4.1. `delegation` is the parent's NS RRset.
    """
    if rrset.name == answering and rrset.type in AT_A_CUT:
        return False
    is_address = rrset.type in (rdtypes.A, rdtypes.AAAA)
    return not (is_address and delegation is not None and rrset.name in targets_of(delegation))


def name_below(name: str) -> str:
    """Return a name below `name` that certainly doesn't exist."""
    return f"{_NOWHERE}.{name}" if name != names.ROOT else f"{_NOWHERE}."


def alias_target(zone: str, rrsets: Mapping[Key, RRset], name: str) -> str | None:
    """Return the name that `name` leads to through its CNAME or through a DNAME above it.

    Return None if `name` is outside the zone or below a delegation, or if the zone has no such alias. Also return None
    if the DNAME's result is too long.
    """
    if not names.is_within(name, zone):
        return None
    for above in reversed(list(ancestors_within(name, zone))):
        dname = rrsets.get((above, rdtypes.DNAME))
        for target in targets_of(dname) if dname else ():
            following = (name.removesuffix(above) if above != names.ROOT else name) + target
            return following if len(following) < names.MAX_WIRE else None
        if above != zone and (above, rdtypes.NS) in rrsets:
            return None
    alias = rrsets.get((name, rdtypes.CNAME))
    return next(iter(targets_of(alias)), None) if alias else None


def displayed_owner(name: str, zone: str) -> str:
    return names.owner_text(name, zone) if name != zone else zone


def what(zone: str, rrset: RRset) -> str:
    return f"{rdata.type_to_text(rrset.type)} {displayed_owner(rrset.name, zone)}"
